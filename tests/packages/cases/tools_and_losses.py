"""Training loops, losses, metrics and tools that look into models, of smaller packages."""

import contextlib
import io

import numpy as np
import torch
from torch import nn


def _small_net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def _images():
    layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    return nn.Sequential(*layers)


def auraloss():
    from auraloss import freq, time

    a, b = torch.randn(2, 1, 4096), torch.randn(2, 1, 4096)
    losses = freq.STFTLoss, freq.MultiResolutionSTFTLoss, time.SISDRLoss, time.ESRLoss, time.LogCoshLoss, time.SNRLoss
    return [loss()(a, b) for loss in losses]


def dctorch():
    from dctorch import functional

    x = torch.randn(4, 8)
    return functional.dct(x), functional.idct(x), functional.dct2(x), functional.idct2(x)


def fancy_einsum():
    from fancy_einsum import einsum

    return einsum("row hidden, hidden col -> row col", torch.randn(2, 3), torch.randn(3, 4))


def grad_cam():
    from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, XGradCAM

    net, x, out = _images(), torch.randn(1, 3, 8, 8), []
    for kind in (GradCAM, GradCAMPlusPlus, EigenCAM, LayerCAM, XGradCAM, HiResCAM):
        out.append(torch.tensor(kind(model=net, target_layers=[net[0]])(input_tensor=x, targets=None)))
    return out


def julius():
    import julius

    x = torch.randn(1, 2000)
    return (
        julius.resample_frac(x, 3, 2),
        julius.lowpass_filter(x, 0.1),
        julius.bandpass_filter(x, 0.1, 0.2),
        julius.split_bands(x, 100, 3),
    )


def laplace_torch():
    from laplace import Laplace

    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    net, out = _small_net(), []
    for weights, hessian in (("all", "diag"), ("last_layer", "kron"), ("last_layer", "full")):
        model = Laplace(net, "classification", subset_of_weights=weights, hessian_structure=hessian)
        model.fit(torch.utils.data.DataLoader(data, batch_size=4))
        model.optimize_prior_precision(method="marglik")
        out.append(model(torch.ones(1, 4)))
    return out


def lightly():
    from lightly import loss
    from lightly.models.modules import SimCLRProjectionHead

    a, b = torch.randn(6, 8), torch.randn(6, 8)
    kinds = loss.NTXentLoss, loss.BarlowTwinsLoss, loss.VICRegLoss, loss.NegativeCosineSimilarity
    return [kind()(a, b) for kind in kinds], SimCLRProjectionHead(8, 8, 4)(a).abs()


def piq():
    import piq

    a, b = torch.rand(1, 3, 96, 96), torch.rand(1, 3, 96, 96)
    scores = "psnr ssim vif_p fsim gmsd multi_scale_gmsd vsi haarpsi mdsi dss srsim".split()
    return [getattr(piq, score)(a, b) for score in scores], piq.total_variation(a)


def ptflops():
    from ptflops import get_model_complexity_info

    quiet = {"as_strings": False, "print_per_layer_stat": False, "verbose": False}
    return [get_model_complexity_info(_images(), (3, 8, 8), backend=b, **quiet) for b in ("pytorch", "aten")]


def pytorch_forecasting():
    import pandas
    from pytorch_forecasting import QuantileLoss, TemporalFusionTransformer, TimeSeriesDataSet

    wave = np.sin(np.arange(40.0)).astype("float32")
    frame = pandas.DataFrame({"t": list(range(20)) * 2, "g": ["a"] * 20 + ["b"] * 20, "y": wave})
    kinds = {"time_varying_unknown_reals": ["y"], "time_varying_known_reals": ["t"], "group_ids": ["g"]}
    data = TimeSeriesDataSet(frame, "t", "y", max_encoder_length=6, max_prediction_length=2, **kinds)
    sizes = {"hidden_size": 4, "attention_head_size": 1, "hidden_continuous_size": 4}
    model = TemporalFusionTransformer.from_dataset(data, loss=QuantileLoss(), **sizes).eval()
    return model(next(iter(data.to_dataloader(train=False, batch_size=4)))[0])["prediction"]


def pytorch_ignite():
    from ignite import metrics
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.handlers import EMAHandler, PiecewiseLinear

    net, criterion, found = _small_net(), nn.CrossEntropyLoss(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = [(torch.randn(4, 4), torch.randint(0, 3, (4,))) for _ in range(5)]
    trainer = create_supervised_trainer(net, optimizer, criterion)
    wanted = {"accuracy": metrics.Accuracy(), "loss": metrics.Loss(criterion), "f": metrics.Fbeta(1.0)}
    evaluator = create_supervised_evaluator(net, metrics={**wanted, "matrix": metrics.ConfusionMatrix(3)})
    schedule = PiecewiseLinear(optimizer, "lr", [(0, 0.1), (10, 0.01)])
    trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
    EMAHandler(net, momentum=0.1).attach(trainer, name="ema", event=Events.ITERATION_COMPLETED)

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(data)
        found.append(dict(evaluator.state.metrics))

    trainer.run(data, max_epochs=2)
    return found, trainer.state.output


def pytorch_msssim():
    from pytorch_msssim import SSIM, ms_ssim, ssim

    a, b = torch.rand(1, 3, 192, 192), torch.rand(1, 3, 192, 192)
    return ssim(a, b, data_range=1.0), ms_ssim(a, b, data_range=1.0), SSIM(data_range=1.0)(a, b)


def pytorch_toolbelt():
    from pytorch_toolbelt import losses

    logits, target = torch.randn(2, 1, 8, 8), (torch.rand(2, 1, 8, 8) > 0.5).float()
    overlaps = [kind("binary")(logits, target) for kind in (losses.DiceLoss, losses.JaccardLoss)]
    kinds = losses.BinaryFocalLoss, losses.SoftBCEWithLogitsLoss, losses.WingLoss, losses.BalancedBCEWithLogitsLoss
    return overlaps, [kind()(logits, target) for kind in kinds]


def roma():
    import roma

    q = roma.random_unitquat(3)
    r = roma.unitquat_to_rotmat(q)
    return (
        q, r, roma.rotmat_to_rotvec(r), roma.special_procrustes(torch.randn(2, 3, 3)), roma.rotmat_to_euler("xyz", r),
        roma.unitquat_slerp(q[0], q[1], torch.linspace(0, 1, 3)),
        roma.rigid_points_registration(torch.randn(5, 3), torch.randn(5, 3)),
    )  # fmt: skip


def thop():
    from thop import profile

    return profile(_images(), inputs=(torch.randn(1, 3, 8, 8),), verbose=False)


def torch_pruning():
    import torch_pruning
    import torchvision

    net, x = torchvision.models.resnet18().eval(), torch.randn(1, 3, 64, 64)
    importance = torch_pruning.importance.MagnitudeImportance(p=2)
    pruner = torch_pruning.pruner.MagnitudePruner(net, x, importance, pruning_ratio=0.5, ignored_layers=[net.fc])
    before = torch_pruning.utils.count_ops_and_params(net, x)
    pruner.step()
    return before, torch_pruning.utils.count_ops_and_params(net, x), net(x)


def torchdata():
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper
    from torchdata.stateful_dataloader import StatefulDataLoader

    loader = StatefulDataLoader(list(range(10)), batch_size=2, shuffle=True)
    batches = iter(loader)
    first, state = next(batches), loader.state_dict()
    other = StatefulDataLoader(list(range(10)), batch_size=2, shuffle=True)
    other.load_state_dict(state)
    doubled = Mapper(IterableWrapper(range(6)), lambda x: x * 2)
    return first, next(batches), next(iter(other)), list(Loader(Batcher(doubled, 2)))


def torchprofile():
    from torchprofile import profile_macs

    return profile_macs(_images().eval(), torch.randn(1, 3, 8, 8))


def torchquad():
    from torchquad import Boole, MonteCarlo, Simpson

    def f(x):
        return torch.sin(x[:, 0]) + torch.exp(x[:, 1])

    given = {"dim": 2, "integration_domain": [[0, 1], [-1, 1]], "backend": "torch"}
    return (
        Simpson().integrate(f, N=121, **given),
        Boole().integrate(f, N=625, **given),
        MonteCarlo().integrate(f, N=1000, seed=1, **given),
    )


def torchsummary():
    from torchsummary import summary

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        summary(_images(), (3, 8, 8), device="cpu")
    return out.getvalue()


def torchtnt():
    from torchtnt.framework.auto_unit import AutoUnit
    from torchtnt.framework.train import train

    class Unit(AutoUnit):
        def compute_loss(self, state, data):
            x, y = data
            out = self.module(x)
            return nn.functional.cross_entropy(out, y), out

        def configure_optimizers_and_lr_scheduler(self, module):
            return torch.optim.SGD(module.parameters(), lr=0.1), None

    net = _small_net()
    data = [(torch.randn(4, 4), torch.randint(0, 3, (4,))) for _ in range(3)]
    train(Unit(module=net), data, max_epochs=2)
    return net(torch.ones(1, 4))


def torchtyping():
    from torchtyping import TensorType

    return str(TensorType["batch", 3]), str(TensorType[float])
