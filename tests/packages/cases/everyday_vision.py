"""kornia, segmentation-models-pytorch, facenet-pytorch, fvcore, timm: more of what their guides show."""

import torch
from torch import nn

from ._shared import losses_of


def kornia_modules_and_pipelines():
    import kornia
    from kornia import augmentation as a, contrib, enhance, filters, geometry as g

    x = torch.rand(1, 3, 24, 28)
    net = nn.Sequential(filters.GaussianBlur2d((3, 3), (0.7, 0.7)), filters.Laplacian(3), enhance.AdjustContrast(0.5))
    canny, edges = filters.Canny()(x)
    patches = contrib.extract_tensor_patches(x, (8, 8), stride=(8, 8), allow_auto_padding=True)
    whole = contrib.combine_tensor_patches(patches, (24, 28), (8, 8), (8, 8), allow_auto_unpadding=True)
    chain = a.ImageSequential(
        kornia.color.BgrToRgb(), a.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0), filters.MedianBlur((3, 3)),
        a.RandomAffine(360, p=1.0), random_apply=2,
    )  # fmt: skip
    torch.manual_seed(1)
    auto = a.auto.TrivialAugment()(x)
    registrator = g.ImageRegistrator("similarity", num_iterations=3, pyramid_levels=2)
    small = kornia.geometry.rescale(x[:, :1], 0.5)
    model = registrator.register(small, g.translate(small, torch.tensor([[1.0, 0.5]])))
    return (
        net(x), canny, edges, whole, chain(x).shape, auto, model,
        filters.unsharp_mask(x, (3, 3), (1.0, 1.0)), filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
        filters.guided_blur(x, x, 3, 0.1), filters.spatial_gradient(x), filters.motion_blur(x, 3, 35.0, 0.5),
        filters.box_blur(x, (3, 3)), filters.joint_bilateral_blur(x, x, (3, 3), 0.1, (1.5, 1.5)),
        filters.max_blur_pool2d(x, 3), filters.filter2d_separable(x, torch.ones(1, 3), torch.ones(1, 3)),
    )  # fmt: skip


def kornia_boxes_and_cameras():
    import kornia
    from kornia.geometry import PinholeCamera, bbox, camera, linalg
    from kornia.geometry.boxes import Boxes
    from kornia.geometry.liegroup import Se2, Se3, So2, So3
    from kornia.geometry.quaternion import Quaternion

    boxes = Boxes.from_tensor(torch.tensor([[1.0, 2, 5, 7], [0, 0, 3, 4]]), mode="xyxy")
    moved = boxes.translate(torch.tensor([[1.0, 1.0]])) if hasattr(boxes, "translate") else boxes
    k = torch.eye(4)[None]
    k[:, 0, 0] = k[:, 1, 1] = 50.0
    e = torch.eye(4)[None]
    e[:, :3, 3] = torch.tensor([0.1, 0.2, 1.0])
    pinhole = PinholeCamera(k, e, torch.tensor([20.0]), torch.tensor([30.0]))
    points = torch.rand(1, 5, 3) + 1
    turned = So3.exp(torch.tensor([[0.1, 0.2, 0.3]]))
    pose = Se3.exp(torch.tensor([[0.1, 0.2, 0.3, 0.3, 0.2, 0.1]]))
    q = Quaternion.from_axis_angle(torch.tensor([[0.3, 0.1, 0.0]]))
    return (
        boxes.to_mask(8, 8), moved.to_tensor("xywh"), boxes.get_boxes_shape(), pinhole.project(points),
        pinhole.unproject(torch.rand(1, 5, 2), torch.ones(1, 5, 1)), pinhole.scale(torch.tensor([2.0])).camera_matrix,
        turned.matrix(), turned.log(), (turned * turned.inverse()).matrix(), pose.matrix(), pose.log(),
        Se2.exp(torch.tensor([[0.1, 0.2, 0.3]])).matrix(), So2.exp(torch.tensor([0.5])).matrix(),
        q.slerp(Quaternion.identity(1), 0.3).data, q.matrix(), (q * q).data,
        bbox.infer_bbox_shape(torch.tensor([[[1.0, 1], [4, 1], [4, 3], [1, 3]]])),
        linalg.relative_transformation(e, k), linalg.compose_transformations(e, e),
        camera.perspective.project_points(points[0], k[0, :3, :3]),
        kornia.geometry.conversions.normalize_pixel_coordinates(torch.rand(4, 2) * 9, 10, 10),
        kornia.geometry.conversions.cart2pol(torch.rand(3), torch.rand(3)),
        kornia.geometry.vector.Vector3.from_coords(1.0, 2.0, 3.0).normalized().data,
    )  # fmt: skip


def kornia_local_features_and_tracking():
    import kornia.feature as f
    from kornia.geometry import ransac, subpix

    x = torch.rand(1, 1, 48, 48, generator=torch.Generator().manual_seed(2))
    gftt = f.GFTTAffNetHardNet
    detector = f.CornerGFTT()
    blobs = f.BlobDoG()(torch.rand(1, 1, 5, 20, 20)) if hasattr(f, "BlobDoG") else 0
    a, b = torch.rand(20, 16), torch.rand(22, 16)
    p = torch.rand(40, 2) * 20
    h = torch.tensor([[1.0, 0.1, 1], [0.05, 0.9, -1], [0.0, 0.0, 1]])
    q = (torch.cat([p, torch.ones(40, 1)], 1) @ h.T)[:, :2]
    torch.manual_seed(4)
    found, inliers = ransac.RANSAC("homography", inl_th=0.5, max_iter=3, batch_size=64)(p, q)
    return (
        gftt.__name__, detector(x), blobs, f.match_snn(a, b, 0.9), f.match_smnn(a, b, 0.95), found, inliers.sum(),
        f.SOSNet(False).eval()(x[..., :32, :32]), f.TFeat(False).eval()(x[..., :32, :32]),
        f.LAFOrienter(19)(torch.eye(2, 3)[None, None] * 8 + 8, x),
        f.get_laf_scale(torch.eye(2, 3)[None, None] * 3), f.extract_patches_from_pyramid(
            x, torch.tensor([[[[6.0, 0, 20], [0, 6, 22]]]]), 8),
        subpix.nms2d(x, (3, 3)), subpix.conv_quad_interp3d(torch.rand(1, 1, 5, 6, 6))[1].shape,
        subpix.spatial_softmax2d(x), f.DISK.__name__,
    )  # fmt: skip


def smp_models_for_work():
    import tempfile

    import segmentation_models_pytorch as smp

    x, y = torch.rand(2, 3, 64, 64), (torch.rand(2, 1, 64, 64) > 0.5).float()
    aux = dict(pooling="avg", dropout=0.0, classes=4)
    net = smp.Unet("resnet18", encoder_weights=None, decoder_attention_type="scse", aux_params=aux, activation=None)
    masks, labels = net(x)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    dice = smp.losses.DiceLoss(smp.losses.BINARY_MODE, from_logits=True)
    losses = losses_of(optimizer, lambda: dice(net(x)[0], y), 2)
    stats = smp.metrics.get_stats((masks.sigmoid() > 0.5).long(), y.long(), mode="binary")
    torch.manual_seed(2)
    seg = smp.create_model("segformer", "mit_b0", encoder_weights=None, classes=3).eval()
    grey = smp.Unet("mobilenet_v2", encoder_weights=None, in_channels=1, encoder_depth=3,
                    decoder_channels=(32, 16, 8)).eval()  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        grey.save_pretrained(folder)
        again = smp.from_pretrained(folder).eval()
    return (
        masks, labels, losses, [smp.metrics.iou_score(*stats, reduction=r) for r in ("micro", "macro")],
        smp.metrics.accuracy(*stats, reduction="micro"), smp.metrics.recall(*stats, reduction="micro-imagewise"),
        smp.metrics.fbeta_score(*stats, beta=2.0, reduction="weighted", class_weights=[1.0]), seg(x[:1]),
        torch.equal(grey(x[:1, :1]), again(x[:1, :1])), smp.losses.FocalLoss("multilabel")(masks, y),
    )  # fmt: skip


def faces_in_training():
    from facenet_pytorch import InceptionResnetV1, fixed_image_standardization, training

    net = InceptionResnetV1(classify=True, num_classes=3, pretrained=None, dropout_prob=0.0).double()
    x = (torch.rand(4, 3, 96, 96) * 255).double()  # in float32 its norms of two values are chaotic
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2])
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(fixed_image_standardization(x), torch.tensor([0, 1, 2, 0])), 2
    )
    metrics = {"acc": training.accuracy}
    net.train()
    loss, found = training.pass_epoch(
        net,
        nn.CrossEntropyLoss(),
        loader,
        optimizer,
        scheduler,
        batch_metrics=metrics,
        show_running=False,
        device="cpu",
    )
    distances = [(a - b).norm() for a in net.eval()(x) for b in net(x[:1])]
    return loss, found["acc"].shape, [d.shape for d in distances], optimizer.param_groups[0]["lr"]


def fvcore_counts_and_schedules():
    from fvcore.common.config import CfgNode
    from fvcore.common.param_scheduler import MultiStepParamScheduler, PolynomialDecayParamScheduler
    from fvcore.common.timer import Timer
    from fvcore.nn import (
        ActivationCountAnalysis, FlopCountAnalysis, flop_count_str, flop_count_table, parameter_count_table,
        sigmoid_focal_loss_star,
    )  # fmt: skip
    from fvcore.nn.squeeze_excitation import SqueezeExcitation
    from fvcore.transforms import transform as t
    import numpy as np

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())
            self.b = nn.Linear(8, 4)
            self.norm = nn.LayerNorm(4)

        def forward(self, x):
            y = self.a(x).mean((2, 3))
            y = self.norm(self.b(y))
            return y @ y.T + torch.einsum("ij,kj->ik", y, y)

    net, x = Net(), torch.randn(2, 3, 10, 10)
    flops = FlopCountAnalysis(net, x).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    active = ActivationCountAnalysis(net, x)
    config = CfgNode({"a": {"b": 1}, "lr": 0.1})
    config.merge_from_list(["lr", 0.5])
    image = np.arange(48, dtype="float32").reshape(4, 4, 3)
    chain = t.TransformList([t.HFlipTransform(4), t.CropTransform(1, 1, 3, 2)])
    return (
        flops.total(), flops.by_operator(), flops.by_module(), active.total(), active.by_module_and_operator(),
        flop_count_table(flops, max_depth=2), flop_count_str(flops), parameter_count_table(net), config.dump(),
        [PolynomialDecayParamScheduler(0.1, 2)(w) for w in (0.0, 0.5)],
        [MultiStepParamScheduler([0.1, 0.01], milestones=[4, 8])(w) for w in (0.1, 0.7)], Timer().is_paused(),
        torch.from_numpy(chain.apply_image(image).copy()), chain.apply_coords(np.ones((1, 2))).tolist(),
        SqueezeExcitation(4, 2)(torch.randn(1, 4, 3, 3)), sigmoid_focal_loss_star(torch.ones(2, 2), torch.eye(2)),
    )  # fmt: skip


def timm_in_training():
    import tempfile

    import timm
    import timm.loss
    import timm.optim
    import timm.scheduler
    from timm.data import Mixup, RandAugment, create_dataset, create_loader, resolve_data_config
    from timm.layers import DropPath, SelectAdaptivePool2d, create_act_layer, create_norm_layer
    from timm.utils import AverageMeter, NativeScaler
    from PIL import Image

    torch.manual_seed(0)
    net = timm.create_model("resnet10t", num_classes=4, drop_path_rate=0.0)
    mixup = Mixup(mixup_alpha=0.8, num_classes=4, label_smoothing=0.1)
    import numpy

    numpy.random.seed(0)
    x, y = mixup(torch.rand(4, 3, 32, 32), torch.arange(4))
    criterion = timm.loss.SoftTargetCrossEntropy()
    optimizer = timm.optim.create_optimizer_v2(net, "adamw", lr=1e-3, layer_decay=0.7)
    schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=10, warmup_t=2, warmup_lr_init=1e-5)
    scaler, meter, losses = NativeScaler(), AverageMeter(), []
    for epoch in range(3):
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        scaler(loss, optimizer, clip_grad=1.0, parameters=net.parameters())
        schedule.step(epoch + 1)
        meter.update(loss.item(), 4)
        losses.append(loss.item())
    with tempfile.TemporaryDirectory() as folder:
        import pathlib

        for name in "ab":
            pathlib.Path(folder, name).mkdir()
            for i in range(3):
                Image.new("RGB", (40, 36), (30 * i, 90, ord(name))).save(f"{folder}/{name}/{i}.png")
        data = create_dataset("", folder)
        config = resolve_data_config({"input_size": (3, 32, 32)}, model=net)
        loader = create_loader(
            data, (3, 32, 32), 2, use_prefetcher=False, num_workers=0, mean=config["mean"], std=config["std"],
            device=torch.device("cpu"),
        )  # fmt: skip
        batches = [(a.mean(), b) for a, b in loader]
    net.reset_classifier(7)
    features = net.forward_features(x)
    other = [
        timm.loss.LabelSmoothingCrossEntropy(0.1)(torch.eye(4), torch.arange(4)),
        timm.loss.AsymmetricLossMultiLabel()(torch.eye(4), torch.eye(4)),
        timm.loss.BinaryCrossEntropy(smoothing=0.1)(torch.eye(4), torch.arange(4)),
        timm.loss.JsdCrossEntropy(num_splits=2)(torch.eye(4), torch.arange(4)),
    ]
    inter = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=0).eval()
    return (
        losses, meter.avg, batches, features, net.forward_head(features, pre_logits=True), net(x).shape, other,
        [g["lr_scale"] for g in optimizer.param_groups][:3], RandAugment.__name__, DropPath(0.2).eval()(x).shape,
        SelectAdaptivePool2d(pool_type="catavgmax", flatten=True)(features), create_act_layer("hard_swish")(x),
        create_norm_layer("batchnorm2d", 3)(x).square(), timm.list_models("resnet1*", exclude_filters="*d"),
        inter.get_intermediate_layers(x, n=2, norm=True), inter.forward_intermediates(x, indices=1)[1],
        [len(g["params"]) for g in timm.optim.param_groups_weight_decay(net, 0.05)],
    )  # fmt: skip
