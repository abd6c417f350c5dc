"""captum, e3nn and kornia: rarer parts of each."""

import tempfile

import torch
from torch import nn


def _net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 8), nn.ReLU(), nn.Linear(8, 3)
    ).eval()


def captum_rarer_attributions():
    from captum import attr, influence, robust
    from captum._utils.models import linear_model

    net = _net()
    x = torch.randn(2, 1, 8, 8)
    mask = torch.arange(64).view(1, 1, 8, 8) // 8
    found = {
        "lime": attr.Lime(net, interpretable_model=linear_model.SkLearnLinearRegression()).attribute(
            x[:1], target=1, feature_mask=mask, n_samples=40
        ),
        "kernel": attr.KernelShap(net).attribute(x[:1], target=1, feature_mask=mask, n_samples=40),
        "shapley": attr.ShapleyValueSampling(net).attribute(x[:1], target=1, feature_mask=mask, n_samples=4),
        "svs": attr.ShapleyValues(net).attribute(x[:1], target=1, feature_mask=mask // 2),
        "permutation": attr.FeaturePermutation(net).attribute(x, target=1, feature_mask=mask),
        "lrp": attr.LRP(net[4:]).attribute(torch.randn(2, 27), target=2),
        "layer lrp": attr.LayerLRP(net[4:], net[4]).attribute(torch.randn(2, 27), target=2),
        "deeplift shap": attr.DeepLiftShap(net).attribute(x, torch.zeros(3, 1, 8, 8), target=0),
        "gradcam": attr.GuidedGradCam(net, net[0]).attribute(x, target=0),
        "deconv": attr.Deconvolution(net).attribute(x, target=0),
        "occlusion": attr.Occlusion(net).attribute(x, (1, 3, 3), strides=(1, 2, 2), target=0),
        "noise": attr.NoiseTunnel(attr.Saliency(net)).attribute(
            x, nt_type="vargrad", nt_samples=3, stdevs=0.1, target=0
        ),
        "internal": attr.InternalInfluence(net, net[0]).attribute(x, target=0, n_steps=4),
        "neuron": attr.NeuronIntegratedGradients(net, net[0]).attribute(x, (1, 2, 2), n_steps=4),
        "neuron conductance": attr.NeuronConductance(net, net[4]).attribute(x, 2, target=1, n_steps=4),
        "ablation": attr.LayerFeatureAblation(net, net[4]).attribute(x, target=1),
        "delta": attr.IntegratedGradients(net).attribute(
            x, target=1, return_convergence_delta=True, method="riemann_trapezoid", internal_batch_size=2
        )[1],
        "fgsm": robust.FGSM(net, lower_bound=-1, upper_bound=1).perturb(x, 0.1, torch.tensor([0, 1])),
        "pgd": robust.PGD(net).perturb(x, 0.3, 0.1, 3, torch.tensor([0, 1])),
    }
    data = torch.utils.data.TensorDataset(torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,)))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(net.state_dict(), folder + "/one.pt")

        def load(model, path):
            model.load_state_dict(torch.load(path))
            return 1.0

        tracin = influence.TracInCPFast(
            net, net[6], data, [folder + "/one.pt"], load, nn.CrossEntropyLoss(reduction="sum"), batch_size=3
        )
        found["tracin"] = tracin.influence((x, torch.tensor([0, 1])))
    return found


def e3nn_networks():
    from e3nn import io, math, nn as enn, o3

    found = []
    irreps = o3.Irreps("3x0e + 2x1o + 1x2e")
    found.append(o3.FullyConnectedTensorProduct(irreps, "1x1o", "2x0e + 1x1o")(irreps.randn(4, -1), torch.randn(4, 3)))
    for kind, args in (
        (o3.ElementwiseTensorProduct, ("4x1o", "4x1o", ["0e", "1e"])),
        (o3.TensorSquare, ("2x1o",)),
        (o3.FullTensorProduct, ("2x1o", "1x1o")),
    ):
        torch.manual_seed(0)
        tp = kind(*args)
        inputs = [
            torch.randn(3, i.dim)
            for i in ((tp.irreps_in1, tp.irreps_in2) if kind is not o3.TensorSquare else (tp.irreps_in,))
        ]
        found.append(tp(*inputs))
    tp = o3.TensorProduct(
        "2x0e + 2x1o",
        "2x0e + 2x1o",
        "2x0e + 2x1o",
        [(0, 0, 0, "uuu", True), (1, 1, 0, "uuu", True), (0, 1, 1, "uvu", False)],
        shared_weights=False,
        internal_weights=False,
    )
    x = torch.randn(2, 8)
    found.append(tp(x, x, torch.randn(2, tp.weight_numel)))
    gate = enn.Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
    found.append(gate(torch.randn(3, gate.irreps_in.dim)))
    found.append(enn.NormActivation("2x1o", torch.sigmoid)(torch.randn(2, 6)))
    found.append(enn.BatchNorm("2x0e + 1x1o")(torch.randn(5, 5)))
    found.append(enn.FullyConnectedNet([3, 8, 2], torch.relu)(torch.randn(2, 3)))
    found.append(enn.Dropout("2x0e + 1x1o", 0.5).eval()(torch.ones(2, 5)))
    found.append(enn.S2Activation("1x0e + 1x1o", torch.tanh, 8)(torch.randn(2, 4)))
    found.append(o3.ToS2Grid(2, (6, 5))(torch.randn(9)))
    found.append(o3.FromS2Grid((6, 5), 2)(torch.randn(6, 5)))
    found.append(o3.spherical_harmonics([0, 1, 2, 3], torch.randn(4, 3), True, "component"))
    found.append(o3.wigner_3j(1, 1, 2))
    found.append(irreps.D_from_angles(torch.tensor(0.3), torch.tensor(0.2), torch.tensor(0.1)))
    found.append(math.soft_one_hot_linspace(torch.rand(5), 0.0, 1.0, 4, "smooth_finite", False))
    found.append(io.CartesianTensor("ij=ji").from_cartesian(torch.eye(3) + 0.1))
    found.append(o3.ReducedTensorProducts("ij=-ji", i="1o")(torch.randn(3), torch.randn(3)))
    found.append(o3.matrix_to_angles(o3.rand_matrix(3)))
    found.append(o3.Linear("2x0e + 1x1o", "1x0e + 2x1o", biases=True)(torch.randn(2, 5)))
    return found


def kornia_rarer():
    import kornia
    import kornia.augmentation as K

    x = torch.rand(2, 3, 16, 16)
    found = {}
    for aug in (
        K.RandomPerspective(0.4, p=1.0),
        K.RandomElasticTransform(p=1.0),
        K.RandomThinPlateSpline(p=1.0),
        K.RandomErasing(p=1.0),
        K.RandomMotionBlur(3, 35.0, 0.5, p=1.0),
        K.RandomPosterize(p=1.0),
        K.RandomEqualize(p=1.0),
        K.RandomFisheye(torch.tensor([-0.3, 0.3]), torch.tensor([-0.3, 0.3]), torch.tensor([0.9, 1.0]), p=1.0),
        K.RandomMixUpV2(p=1.0, data_keys=["input"]),
        K.RandomCutMixV2(p=1.0, data_keys=["input"]),
        K.RandomPlanckianJitter(p=1.0),
        K.RandomRain(p=1.0, drop_height=(1, 3), drop_width=(1, 2), number_of_drops=(3, 5)),
        K.RandomSaltAndPepperNoise(p=1.0),
        K.RandomClahe(p=1.0, grid_size=(2, 2)),
        K.RandomMedianBlur((3, 3), p=1.0),
        K.RandomJigsaw((2, 2), p=1.0),
        K.RandomChannelShuffle(p=1.0),
        K.RandomSnow(p=1.0),
        K.RandomJPEG(p=1.0),
        K.RandomResizedCrop((8, 8)),
        K.RandomGaussianIllumination(p=1.0),
        K.RandomInvert(p=1.0),
        K.RandomShear(20.0, p=1.0),
    ):
        torch.manual_seed(3)
        out = aug(x)
        found[type(aug).__name__] = out[0] if isinstance(out, (tuple, list)) else out
    torch.manual_seed(3)
    seq = K.AugmentationSequential(
        K.RandomAffine(20.0, p=1.0),
        K.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
        data_keys=["input", "mask", "bbox_xyxy", "keypoints"],
    )
    out = seq(x, x[:, :1], torch.tensor([[[1.0, 1.0, 5.0, 6.0]]] * 2), torch.tensor([[[2.0, 3.0]]] * 2))
    found["sequence"] = [*out, *seq.inverse(*out)]
    auto = K.auto.RandAugment(n=2, m=10)
    torch.manual_seed(1)
    found["auto"] = auto(x)
    gray = kornia.color.rgb_to_grayscale(x)
    found["more"] = [
        kornia.enhance.equalize_clahe(x),
        kornia.enhance.jpeg_codec_differentiable(x, torch.tensor([50.0, 60.0])),
        kornia.enhance.zca_whiten(torch.rand(6, 4)),
        kornia.filters.guided_blur(x, x, 3, 0.1),
        kornia.filters.canny(x)[1],
        kornia.filters.joint_bilateral_blur(x, x, 3, 0.1, (1.0, 1.0)),
        kornia.contrib.connected_components((gray > 0.5).float(), 20),
        kornia.contrib.distance_transform((gray > 0.9).float()),
        kornia.contrib.extract_tensor_patches(x, 4, 4),
        kornia.contrib.diamond_square((1, 1, 8, 8), random_scale=0.5),
        kornia.morphology.gradient(gray, torch.ones(3, 3)),
        kornia.metrics.ssim(x, x.flip(-1), 5),
        kornia.losses.lovasz_softmax_loss(torch.randn(1, 3, 4, 4), torch.randint(0, 3, (1, 4, 4))),
        kornia.geometry.transform.pyrdown(x),
        kornia.geometry.transform.get_tps_transform(torch.rand(1, 4, 2), torch.rand(1, 4, 2))[0],
        kornia.geometry.epipolar.find_fundamental(torch.rand(1, 8, 2), torch.rand(1, 8, 2), torch.ones(1, 8)).shape,
        kornia.geometry.liegroup.So3.exp(torch.tensor([[0.1, 0.2, 0.3]])).matrix(),
        kornia.geometry.conversions.rotation_matrix_to_quaternion(torch.eye(3)),
        kornia.feature.harris_response(gray),
        kornia.feature.HardNet(False).eval()(torch.rand(2, 1, 32, 32)),
        kornia.feature.SIFTDescriptor(32)(torch.rand(2, 1, 32, 32)),
        kornia.feature.match_snn(torch.rand(5, 8), torch.rand(6, 8), 0.95)[1].shape,
        kornia.feature.ScaleSpaceDetector(5)(gray.repeat(1, 1, 2, 2))[0].shape,
    ]
    return found
