"""torchvision in pure Python (its compiled operators are not there): models, transforms, boxes, data sets."""

import torch


def _model(name, size=64):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None, num_classes=5).eval()
    x = torch.randn(1, 3, size, size)
    out = model(x)
    return out


def resnet():
    return _model("resnet18")


def mobilenet():
    return _model("mobilenet_v3_small")


def vit_encoder():
    import torchvision

    return torchvision.models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5)(torch.randn(1, 3, 32, 32))


def shufflenet():
    return _model("shufflenet_v2_x0_5")


def segmentation():
    import torchvision

    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None).eval()
    return model(torch.randn(1, 3, 64, 64))["out"]


def features():
    from torchvision.models.feature_extraction import create_feature_extractor
    import torchvision

    model = torchvision.models.resnet18(weights=None).eval()
    found = create_feature_extractor(model, {"layer1": "a", "layer3": "b"})(torch.randn(1, 3, 64, 64))
    return {k: v.mean() for k, v in found.items()}


def transforms():
    from torchvision.transforms import v2

    torch.manual_seed(2)
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    chain = v2.Compose(
        [
            v2.RandomResizedCrop(24, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            v2.RandomRotation(20),
            v2.GaussianBlur(3),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.2] * 3),
            v2.RandomErasing(p=1.0),
        ]
    )
    return chain(image)


def boxes():
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    found = tv_tensors.BoundingBoxes([[1, 2, 10, 12], [3, 3, 9, 20]], format="XYXY", canvas_size=(32, 32))
    image = tv_tensors.Image(torch.zeros(3, 32, 32))
    image, found = v2.Resize((16, 64))(v2.RandomHorizontalFlip(1.0)(image, found))
    return list(image.shape), torch.as_tensor(found)


def box_functions():
    from torchvision import ops

    a = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 4]])
    return (
        ops.box_iou(a, a),
        ops.generalized_box_iou(a, a),
        ops.box_convert(a, "xyxy", "cxcywh"),
        ops.sigmoid_focal_loss(a, (a > 1).float()),
    )


def images():
    from PIL import Image
    from torchvision import transforms

    image = Image.linear_gradient("L").resize((30, 20)).convert("RGB")
    torch.manual_seed(1)
    chain = transforms.Compose([transforms.Resize(18), transforms.RandomCrop(16), transforms.ToTensor()])
    return chain(image)
