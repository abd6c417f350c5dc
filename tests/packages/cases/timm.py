"""timm: models by name, features, optimizers, data transforms."""

import torch

from ._shared import losses_of


def _forward(name, size=64, dtype=torch.float32, **kwargs):
    import timm

    model = timm.create_model(name, num_classes=5, **kwargs)
    model.eval().to(dtype)
    x = torch.randn(2, 3, size, size).to(dtype).requires_grad_()
    out = model(x)
    out.square().mean().backward()
    return out, x.grad.abs().sum()


def resnet18():
    return _forward("resnet18")


def efficientnet():
    return _forward("efficientnet_b0")


def vit():
    return _forward("vit_tiny_patch16_224", 64, img_size=64)


def convnext():
    return _forward("convnext_atto")


def mobilenet():
    return _forward("mobilenetv3_small_050")


def swin():
    return _forward("swin_tiny_patch4_window7_224", 224)


def features():
    import timm

    model = timm.create_model("resnet18", features_only=True, out_indices=(1, 3)).eval()
    return [f.mean() for f in model(torch.randn(1, 3, 64, 64))]


def fx_features():
    from timm.models._features_fx import FeatureGraphNet
    import timm

    model = timm.create_model("resnet10t", num_classes=5).eval()
    net = FeatureGraphNet(model, out_indices=(0, 1), out_map={"layer1": "a", "layer2": "b"})
    return [f.mean() for f in net(torch.randn(1, 3, 64, 64))]


def optimizers():
    import timm.optim

    losses = []
    for name in ("adamw", "lamb", "adopt", "lion", "nadamw", "adafactor", "madgrad", "muon"):
        torch.manual_seed(0)
        net = torch.nn.Linear(6, 3)
        optimizer = timm.optim.create_optimizer_v2(net, opt=name, lr=1e-2, weight_decay=0.01)
        losses += losses_of(optimizer, lambda: net(torch.ones(2, 6)).square().sum(), 3)[-1:]
    return losses


def transforms():
    from PIL import Image
    import timm.data

    image = Image.new("RGB", (80, 60), (10, 200, 30))
    config = timm.data.resolve_data_config({"input_size": (3, 32, 32)})
    return timm.data.create_transform(**config)(image)


def ema_and_mixup():
    import timm.data
    import timm.utils

    net = torch.nn.Linear(3, 2)
    ema = timm.utils.ModelEmaV3(net, decay=0.9)
    with torch.no_grad():
        net.weight.add_(1)
    ema.update(net)
    return ema.module.weight, timm.utils.accuracy(torch.eye(4), torch.tensor([0, 1, 2, 0]), topk=(1,))
