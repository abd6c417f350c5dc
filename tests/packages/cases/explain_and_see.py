"""captum, kornia, segmentation_models_pytorch: more of each."""

import torch
from torch import nn


def _net():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 8), nn.Tanh(), nn.Linear(8, 3)
    ).eval()


def captum_attributions():
    from captum import attr

    net, x = _net(), torch.randn(2, 1, 8, 8)
    mask = torch.arange(64).view(1, 1, 8, 8) // 16
    return (
        attr.InputXGradient(net).attribute(x, target=0),
        attr.GuidedBackprop(net).attribute(x, target=1),
        attr.Deconvolution(net).attribute(x, target=1),
        attr.GuidedGradCam(net, net[0]).attribute(x, target=2),
        attr.FeatureAblation(net).attribute(x, target=0, feature_mask=mask),
        attr.ShapleyValueSampling(net).attribute(x, target=0, feature_mask=mask, n_samples=3),
        attr.ShapleyValues(net).attribute(x, target=0, feature_mask=mask),
        attr.DeepLiftShap(net).attribute(x, torch.randn(3, 1, 8, 8), target=1),
        attr.NoiseTunnel(attr.Saliency(net)).attribute(x, nt_samples=3, stdevs=0.1, target=1),
        attr.FeaturePermutation(net).attribute(x, target=0, feature_mask=mask),
        attr.KernelShap(net).attribute(x[:1], target=0, feature_mask=mask, n_samples=20),
        attr.LRP(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))).attribute(torch.randn(2, 4), target=1),
    )


def captum_layers_and_neurons():
    from captum import attr

    net, x = _net(), torch.randn(2, 1, 8, 8)
    return (
        attr.LayerActivation(net, net[0]).attribute(x),
        attr.LayerConductance(net, net[4]).attribute(x, target=1, n_steps=5),
        attr.InternalInfluence(net, net[4]).attribute(x, target=1, n_steps=5),
        attr.LayerIntegratedGradients(net, net[0]).attribute(x, target=1, n_steps=5),
        attr.LayerDeepLift(net, net[0]).attribute(x, target=1),
        attr.LayerGradientXActivation(net, net[0]).attribute(x, target=0),
        attr.NeuronGradient(net, net[4]).attribute(x, (2,)),
        attr.NeuronConductance(net, net[4]).attribute(x, (2,), target=1, n_steps=5),
        attr.NeuronIntegratedGradients(net, net[4]).attribute(x, (2,), n_steps=5),
        attr.LayerFeatureAblation(net, net[4]).attribute(x, target=1),
    )


def captum_embeddings_and_metrics():
    from captum.attr import LayerIntegratedGradients, Saliency, configure_interpretable_embedding_layer
    from captum.metrics import infidelity, sensitivity_max
    from captum.robust import FGSM, PGD

    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

        def forward(self, ids):
            return self.out(self.embedding(ids).mean(1))

    net, ids = Text().eval(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    found = LayerIntegratedGradients(net, net.embedding).attribute(ids, ids * 0, target=1, n_steps=6)
    layer = configure_interpretable_embedding_layer(net, "embedding")
    through = Saliency(net).attribute(layer.indices_to_embeddings(ids).requires_grad_(), target=0)
    image, x = _net(), torch.randn(2, 1, 8, 8)
    grads = Saliency(image).attribute(x.requires_grad_(), target=0, abs=False)
    noise = lambda t: (torch.full_like(t, 0.01), t - 0.01)
    return (
        found,
        through,
        infidelity(image, noise, x, grads, target=0),
        sensitivity_max(Saliency(image).attribute, x, target=0, n_perturb_samples=2).shape,
        FGSM(image).perturb(x, epsilon=0.1, target=torch.tensor([0, 1])),
        PGD(image).perturb(x, radius=0.1, step_size=0.05, step_num=2, target=torch.tensor([0, 1])),
    )


def kornia_filters_and_colour():
    from kornia import color as c, enhance as e, filters as f, morphology as m

    x = torch.rand(2, 3, 12, 14)
    k = torch.ones(3, 3)
    return (
        f.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
        f.box_blur(x, 3),
        f.median_blur(x, 3),
        f.laplacian(x, 3),
        f.canny(x)[0],
        f.unsharp_mask(x, (3, 3), (1.0, 1.0)),
        f.spatial_gradient(x),
        f.motion_blur(x, 3, 30.0, 0.5),
        f.guided_blur(x, x, 3, 0.1),
        c.rgb_to_lab(x),
        c.rgb_to_ycbcr(x),
        c.rgb_to_xyz(x),
        c.rgb_to_luv(x),
        c.hls_to_rgb(x),
        c.rgb_to_hls(x),
        c.linear_rgb_to_rgb(x),
        c.sepia(x),
        c.rgb_to_yuv420(x[..., :12, :14]),
        e.adjust_hue(x, 0.3),
        e.adjust_gamma(x, 0.7),
        e.equalize_clahe(x, grid_size=(2, 2)),
        e.posterize(x, 3),
        e.solarize(x),
        e.sharpness(x, 0.5),
        e.normalize_min_max(x),
        e.histogram(x.flatten(1), torch.linspace(0, 1, 5), torch.tensor(0.1)),
        e.jpeg_codec_differentiable(torch.rand(1, 3, 16, 16), torch.tensor([50.0])),
        e.zca_mean(torch.randn(20, 4))[0].abs(),
        m.dilation(x, k),
        m.erosion(x, k),
        m.opening(x, k),
        m.closing(x, k),
        m.gradient(x, k),
        m.top_hat(x, k),
    )


def kornia_geometry():
    from kornia import geometry as g

    x, p = torch.rand(1, 3, 12, 14), torch.rand(1, 8, 2)
    q = p * 0.9 + 0.05
    h = torch.tensor([[[1.0, 0.1, 1], [0.05, 0.9, -1], [0.001, 0.002, 1]]])
    rot = g.axis_angle_to_rotation_matrix(torch.tensor([[0.3, -0.2, 0.5]]))
    cam = torch.tensor([[[100.0, 0, 7], [0, 100, 6], [0, 0, 1]]])
    return (
        g.warp_perspective(x, h, (10, 11)),
        g.warp_affine(x, h[:, :2], (10, 11)),
        g.resize(x, (7, 9)),
        g.pyrdown(x),
        g.elastic_transform2d(x, torch.rand(1, 2, 12, 14)),
        g.find_homography_dlt(p, q),
        g.crop_and_resize(x, torch.tensor([[[1.0, 1], [8, 1], [8, 9], [1, 9]]]), (5, 6)),
        g.rotation_matrix_to_quaternion(rot),
        g.rotation_matrix_to_axis_angle(rot),
        g.euler_from_quaternion(*torch.tensor([0.9, 0.1, 0.2, 0.3])),
        g.transform_points(h, p),
        g.project_points(torch.rand(1, 4, 3) + 1, cam[:, None]),
        g.epipolar.find_fundamental(p.double(), q.double().square(), torch.ones(1, 8).double()).abs(),
        g.depth_to_3d(torch.rand(1, 1, 4, 5), cam),
        g.spatial_expectation2d(x),
        g.spatial_soft_argmax2d(x),
        g.conv_soft_argmax2d(x, (3, 3), (1, 1), (1, 1)),
        g.bbox.bbox_to_mask(torch.tensor([[[1.0, 1], [4, 1], [4, 3], [1, 3]]]), 6, 6),
        g.get_perspective_transform(
            torch.tensor([[[0.0, 0], [4, 0], [4, 4], [0, 4]]]), torch.tensor([[[0.0, 1], [4, 0], [5, 4], [0, 4]]])
        ),
        g.Quaternion.from_axis_angle(torch.tensor([[0.1, 0.2, 0.3]])).data,
        g.remap(x, torch.rand(1, 5, 5) * 9, torch.rand(1, 5, 5) * 9),
    )


def kornia_features_and_losses():
    from kornia import feature as f, losses as lo, metrics as me

    x = torch.rand(1, 1, 24, 24)
    a, b = torch.rand(1, 3, 16, 16, requires_grad=True), torch.rand(1, 3, 16, 16)
    labels = torch.arange(256).view(1, 16, 16) % 3
    found = [
        lo.psnr_loss(a, b, 1.0),
        lo.dice_loss(a, labels),
        lo.tversky_loss(a, labels, 0.4, 0.6),
        lo.focal_loss(a, labels, 0.5).mean(),
        lo.total_variation(a).sum(),
        lo.lovasz_softmax_loss(a, labels),
        lo.js_div_loss_2d(a.softmax(1), b.softmax(1)),
        lo.charbonnier_loss(a, b).mean(),
        lo.inverse_depth_smoothness_loss(a[:, :1], b),
    ]
    sum(found).backward()
    return (
        found,
        a.grad,
        f.harris_response(x),
        f.gftt_response(x),
        f.hessian_response(x),
        f.SIFTDescriptor(24)(x),
        f.HardNet(False).eval()(torch.rand(1, 1, 32, 32)),
        f.match_nn(torch.rand(4, 8), torch.rand(5, 8)),
        f.match_mnn(torch.rand(4, 8), torch.rand(5, 8)),
        me.mean_iou(labels, labels.flip(1), 3),
        me.psnr(a, b, 1.0),
        me.ssim(a, b, 3),
        me.aepe(a[:, :2].permute(0, 2, 3, 1), b[:, :2].permute(0, 2, 3, 1)),
    )


def kornia_augmentations():
    from kornia import augmentation as a

    x = torch.rand(2, 3, 16, 16)
    out = []
    for made in (
        a.RandomHorizontalFlip(p=0.5),
        a.RandomAffine(20.0, (0.1, 0.1), p=1.0),
        a.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0),
        a.RandomErasing(p=1.0),
        a.RandomPerspective(0.3, p=1.0),
        a.RandomGaussianNoise(p=1.0),
        a.RandomCrop((8, 8)),
        a.RandomResizedCrop((8, 8)),
        a.RandomGrayscale(p=0.5),
        a.RandomSharpness(p=1.0),
        a.RandomMixUpV2(p=1.0),
        a.RandomCutMixV2(p=1.0),
        a.RandomThinPlateSpline(p=1.0),
        a.Normalize(0.5, 0.2),
        a.CenterCrop(8),
        a.RandomBoxBlur(p=1.0),
        a.RandomElasticTransform(p=1.0),
        a.PadTo((18, 18)),
    ):
        torch.manual_seed(5)
        out.append(made(x))
    torch.manual_seed(5)
    chain = a.AugmentationSequential(
        a.RandomRotation(30.0, p=1.0),
        a.RandomHorizontalFlip(p=1.0),
        data_keys=["input", "mask", "bbox_xyxy", "keypoints"],
    )
    boxes = torch.tensor([[[2.0, 2, 8, 9]]]).repeat(2, 1, 1)
    out.append(chain(x, (x > 0.5).float(), boxes, torch.rand(2, 4, 2) * 15))
    return out


def segmentation_architectures():
    import segmentation_models_pytorch as smp

    out, x = [], torch.randn(1, 3, 128, 128)
    for name in ("UnetPlusPlus", "FPN", "Linknet", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus", "MAnet", "UPerNet"):
        torch.manual_seed(0)
        made = getattr(smp, name)("resnet18", encoder_weights=None, classes=2).eval()
        out.append(made(x))
    for encoder in ("efficientnet-b0", "mobilenet_v2", "mit_b0", "timm-regnetx_002", "densenet121", "dpn68"):
        torch.manual_seed(0)
        out.append(smp.Unet(encoder, encoder_weights=None, classes=1).eval()(x))
    return out


def segmentation_losses_and_metrics():
    import segmentation_models_pytorch as smp

    a, y = torch.randn(2, 3, 8, 8, requires_grad=True), torch.arange(128).view(2, 8, 8) % 3
    b, z = torch.randn(2, 1, 8, 8, requires_grad=True), (torch.arange(128).view(2, 1, 8, 8) % 2).float()
    lo = smp.losses
    found = [
        lo.JaccardLoss("multiclass")(a, y),
        lo.TverskyLoss("multiclass", alpha=0.3, beta=0.7)(a, y),
        lo.LovaszLoss("multiclass")(a, y),
        lo.SoftCrossEntropyLoss(smooth_factor=0.1)(a, y),
        lo.MCCLoss()(b.sigmoid(), z),
        lo.SoftBCEWithLogitsLoss()(b, z),
        lo.DiceLoss("binary")(b, z),
        lo.FocalLoss("binary")(b, z),
    ]
    sum(found).backward()
    stats = smp.metrics.get_stats(a.argmax(1), y, mode="multiclass", num_classes=3)
    return (
        found,
        a.grad,
        b.grad,
        stats,
        smp.metrics.iou_score(*stats, reduction="micro"),
        smp.metrics.f1_score(*stats, "macro"),
    )
