"""torchvision's detection models: training steps in float64, and what they find.

In float32 a training step has no gradients to compare: over the few numbers of a small batch, batch norm makes rounding
to a tenth of a parameter's gradient, and PyTorch's differ as much from its own in float64.
"""

import torch


def _model(name, **more):
    from torchvision.models import detection

    build = getattr(detection, name)
    return build(weights=None, weights_backbone=None, num_classes=5, **more)


def _images(dtype):
    return [torch.rand(3, 120, 150).to(dtype), torch.rand(3, 100, 130).to(dtype)]


def _targets(dtype):
    boxes = [[[10.0, 10, 60, 70], [50, 40, 140, 110]], [[5.0, 20, 90, 95]]]
    points = torch.tensor([[20.0, 30, 1], [40, 50, 1], [55, 60, 0]])
    return [
        {
            "boxes": torch.tensor(b, dtype=dtype),
            "labels": torch.arange(len(b)) + 1,
            "masks": (torch.arange(len(b) * h * w).view(len(b), h, w) // 400 % 2).to(torch.uint8),
            "keypoints": points.expand(len(b), 3, 3),
        }
        for b, (h, w) in zip(boxes, ((120, 150), (100, 130)))
    ]


def _step(name, **more):
    model = _model(name, **more).double()
    images, targets = _images(torch.float64), _targets(torch.float64)
    torch.manual_seed(1)
    losses = model(images, targets)
    sum(losses.values()).backward()
    grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    kept = [n for n in grads if n.endswith("weight")]
    return losses, {n: grads[n] for n in kept[:: max(1, len(kept) // 12)]}, len(grads)


def _found(name, **more):
    model = _model(name, **more).eval()
    with torch.no_grad():
        found = model(_images(torch.float32))
    return [{k: (list(v.shape), v.flatten()[:40]) for k, v in one.items()} for one in found]


_SMALL = {"min_size": 96, "max_size": 128}


def faster_rcnn():
    return _step("fasterrcnn_mobilenet_v3_large_320_fpn", **_SMALL)


def faster_rcnn_v2():
    return _step("fasterrcnn_resnet50_fpn_v2", **_SMALL)


def mask_rcnn():
    return _step("maskrcnn_resnet50_fpn", **_SMALL)


def keypoint_rcnn():
    return _step("keypointrcnn_resnet50_fpn", num_keypoints=3, **_SMALL)


def fcos():
    return _step("fcos_resnet50_fpn", **_SMALL)


def retinanet():
    return _step("retinanet_resnet50_fpn", **_SMALL)


def ssdlite():
    return _step("ssdlite320_mobilenet_v3_large")


def ssd_vgg():
    return _found("ssd300_vgg16")


def found_by_faster_rcnn():
    return _found("fasterrcnn_resnet50_fpn", box_score_thresh=0.0, **_SMALL)


def found_by_mask_rcnn():
    return _found("maskrcnn_resnet50_fpn", box_score_thresh=0.0, box_detections_per_img=10, **_SMALL)


def found_by_retinanet():
    return _found("retinanet_resnet50_fpn", score_thresh=0.0, detections_per_img=10, **_SMALL)


def found_by_fcos():
    return _found("fcos_resnet50_fpn", score_thresh=0.0, detections_per_img=10, **_SMALL)
