"""Small packages, one case each."""

import tempfile

import torch
from torch import nn

from ._shared import losses_of


def einops():
    from einops import rearrange, reduce, repeat
    from einops.layers.torch import Rearrange

    x = torch.randn(2, 3, 4, 6)
    return (
        rearrange(x, "b c (h p) (w q) -> b (h w) (c p q)", p=2, q=2),
        reduce(x, "b c h w -> b c", "max"),
        repeat(x[0, 0], "h w -> h (w k)", k=2),
        nn.Sequential(Rearrange("b c h w -> b (c h w)"), nn.Linear(72, 2))(x),
    )


def safetensors():
    from safetensors.torch import load_file, load_model, save_file, save_model
    from safetensors import safe_open

    net = nn.Linear(3, 2)
    with tempfile.TemporaryDirectory() as folder:
        save_file({"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2, dtype=torch.bfloat16)}, folder + "/a")
        got = load_file(folder + "/a")
        with safe_open(folder + "/a", framework="pt") as file:
            part = file.get_slice("a")[:, 1:]
        save_model(net, folder + "/b")
        other = nn.Linear(3, 2)
        load_model(other, folder + "/b")
    return got["a"], str(got["b"].dtype), part, torch.equal(net.weight, other.weight)


def captum():
    from captum.attr import DeepLift, GradientShap, IntegratedGradients, LayerGradCam, Occlusion, Saliency

    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3)).eval()
    x = torch.randn(2, 1, 8, 8)
    given, delta = IntegratedGradients(net).attribute(x, target=1, n_steps=8, return_convergence_delta=True)
    return (
        given, delta, Saliency(net).attribute(x, target=0), DeepLift(net).attribute(x, target=2),
        Occlusion(net).attribute(x, (1, 3, 3), target=1), LayerGradCam(net, net[0]).attribute(x, target=1),
        GradientShap(net).attribute(x, baselines=x * 0, target=1).shape,
    )  # fmt: skip


def kornia():
    import kornia

    x = torch.rand(1, 3, 16, 16, requires_grad=True)
    turned = kornia.geometry.transform.rotate(x, torch.tensor([30.0]))
    turned.sum().backward()
    return (
        kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)), kornia.filters.sobel(x), turned, x.grad,
        kornia.color.rgb_to_hsv(x), kornia.enhance.equalize(x.detach()), kornia.losses.ssim_loss(x, x * 0.9, 3),
        kornia.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])),
    )  # fmt: skip


def torch_geometric():
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool

    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    graphs = [Data(x=torch.randn(4, 5), edge_index=edges, y=torch.tensor([i % 2])) for i in range(4)]
    batch = next(iter(DataLoader(graphs, batch_size=3)))
    out = []
    for layer in (GCNConv(5, 6), GATConv(5, 3, heads=2), SAGEConv(5, 6), GINConv(nn.Linear(5, 6))):
        h = layer(batch.x, batch.edge_index)
        loss = global_mean_pool(h, batch.batch).square().sum()
        loss.backward()
        out += [h, loss, next(layer.parameters()).grad]
    return out


def gpytorch():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 12)
    y = torch.sin(x * 6)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = losses_of(optimizer, lambda: -objective(model(x), y), 5)
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.linspace(0, 1, 5)))
    return losses, found.mean, found.variance


def botorch():
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.rand(8, 2, dtype=torch.float64)
    y = -(x - 0.5).norm(dim=-1, keepdim=True)
    gp = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    score = LogExpectedImprovement(gp, best_f=y.max())
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
    point, _ = optimize_acqf(score, bounds=bounds, q=1, num_restarts=2, raw_samples=8)
    return [round(v, 2) for v in point.flatten().tolist()]


def pyro():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, Trace_ELBO

    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    data = torch.tensor([1.0, 1.2, 0.8, 1.1])

    def model():
        mu = pyro.sample("mu", dist.Normal(0.0, 1.0))
        with pyro.plate("data", 4):
            pyro.sample("x", dist.Normal(mu, 0.5), obs=data)

    def guide():
        loc = pyro.param("loc", torch.tensor(0.0))
        scale = pyro.param("scale", torch.tensor(1.0), constraint=dist.constraints.positive)
        pyro.sample("mu", dist.Normal(loc, scale))

    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), Trace_ELBO())
    return [svi.step() for _ in range(5)], pyro.param("loc"), pyro.param("scale")


def pyro_mcmc():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import MCMC, NUTS

    pyro.set_rng_seed(0)

    def model():
        p = pyro.sample("p", dist.Beta(2.0, 2.0))
        pyro.sample("x", dist.Bernoulli(p).expand([6]).to_event(1), obs=torch.tensor([1.0, 1, 0, 1, 1, 1]))

    run = MCMC(NUTS(model), num_samples=10, warmup_steps=10, disable_progbar=True)
    run.run()
    return run.get_samples()["p"].shape


def segmentation_models_pytorch():
    import segmentation_models_pytorch as smp

    net = smp.Unet("resnet18", encoder_weights=None, in_channels=3, classes=2).eval()
    out = net(torch.randn(1, 3, 64, 64))
    target = torch.randint(0, 2, (1, 64, 64))
    return out, smp.losses.DiceLoss("multiclass")(out, target), smp.losses.FocalLoss("multiclass")(out, target)


def fastai():
    from fastai.callback.schedule import fine_tune  # noqa: F401
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.losses import MSELossFlat

    x = torch.randn(32, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    learner = Learner(DataLoaders(loader, loader), nn.Linear(4, 1), loss_func=MSELossFlat())
    with learner.no_bar(), learner.no_logging():
        learner.fit(2, lr=0.05)
    return learner.model.weight, learner.recorder.losses[-1]


def vit_pytorch():
    from vit_pytorch import SimpleViT, ViT

    net = ViT(image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=32)
    simple = SimpleViT(image_size=32, patch_size=8, num_classes=5, dim=16, depth=1, heads=2, mlp_dim=32)
    x = torch.randn(1, 3, 32, 32)
    return net(x), simple(x)


def denoising_diffusion_pytorch():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    net = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    process = GaussianDiffusion(net, image_size=8, timesteps=10, sampling_timesteps=3)
    loss = process(torch.rand(2, 3, 8, 8))
    loss.backward()
    return loss, process.sample(batch_size=1)


def vector_quantize_pytorch():
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    x = torch.randn(1, 20, 8)
    out = []
    for net in (VectorQuantize(8, 16), ResidualVQ(dim=8, num_quantizers=2, codebook_size=8), FSQ([4, 4], dim=8)):
        got = net(x)
        out += [got[0], got[1]]
    return out, LFQ(codebook_size=16, dim=8).eval()(x)[0]


def lpips():
    import lpips

    net = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False).eval()
    return net(torch.rand(1, 3, 64, 64), torch.rand(1, 3, 64, 64))


def opacus():
    from opacus import PrivacyEngine

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    engine = PrivacyEngine()
    net, optimizer, loader = engine.make_private(
        module=net,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        norms = [p.grad_sample.norm() for p in net.parameters()]
        optimizer.step()
    return norms, [p.shape for p in net.parameters()], engine.get_epsilon(1e-5)


def tensordict():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule

    data = TensorDict({"a": torch.randn(3, 4), "b": {"c": torch.ones(3, 2)}}, batch_size=[3])
    net = TensorDictModule(nn.Linear(4, 2), in_keys=["a"], out_keys=["out"])
    out = net(data)
    both = torch.stack([data, data], 0)
    return out["out"], both.shape, both[:, 1]["b", "c"], (data + 1)["a"], data.reshape(-1).batch_size


def torchrl():
    from torchrl.data import LazyTensorStorage, ReplayBuffer
    from torchrl.modules import MLP, ProbabilisticActor, TanhNormal  # noqa: F401
    from torchrl.objectives.value.functional import generalized_advantage_estimate

    buffer = ReplayBuffer(storage=LazyTensorStorage(20), batch_size=4)
    buffer.extend(torch.arange(10.0))
    found = generalized_advantage_estimate(
        0.9, 0.95, torch.rand(1, 5, 1), torch.rand(1, 5, 1), torch.rand(1, 5, 1), torch.zeros(1, 5, 1, dtype=torch.bool)
    )
    return len(buffer), buffer.sample().shape, MLP(3, 2, num_cells=[8])(torch.ones(1, 3)), found


def e3nn():
    from e3nn import o3

    points = torch.randn(5, 3)
    harmonics = o3.spherical_harmonics([0, 1, 2], points, True)
    product = o3.FullyConnectedTensorProduct("4x0e + 2x1o", "1x0e + 1x1o", "3x0e + 2x1o")
    return harmonics, product(torch.randn(5, 10), torch.randn(5, 4)), o3.Linear("4x0e", "2x0e")(torch.ones(1, 4))


def fvcore():
    from fvcore.nn import parameter_count, sigmoid_focal_loss

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return dict(parameter_count(net)), sigmoid_focal_loss(torch.ones(2, 2), torch.eye(2), reduction="sum")


def fvcore_flops():
    from fvcore.nn import FlopCountAnalysis

    return FlopCountAnalysis(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), torch.ones(1, 4)).total()


def pytorch_metric_learning():
    from pytorch_metric_learning import losses, miners

    x, y = torch.randn(12, 8, requires_grad=True), torch.arange(12) % 3
    pairs = miners.MultiSimilarityMiner()(x, y)
    found = [losses.TripletMarginLoss()(x, y, pairs), losses.NTXentLoss()(x, y), losses.ArcFaceLoss(3, 8)(x, y)]
    sum(found).backward()
    return found, x.grad


def torchdiffeq():
    from torchdiffeq import odeint, odeint_adjoint

    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, t, y):
            return self.net(y)

    t = torch.linspace(0, 1, 4)
    out = odeint(Field(), torch.ones(1, 2), t), odeint_adjoint(Field(), torch.ones(1, 2), t, method="rk4")
    out[1].sum().backward()
    return out, net[0].weight.grad


def jaxtyping():
    from jaxtyping import Float, Int
    import jaxtyping

    with jaxtyping.jaxtyped("context"):
        return (
            isinstance(torch.ones(2, 3), Float[torch.Tensor, "a b"]),
            isinstance(torch.ones(2, 4), Float[torch.Tensor, "a a"]),
            isinstance(torch.ones(2), Int[torch.Tensor, "n"]),
        )


def torchinfo():
    from torchinfo import summary

    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    return str(summary(net, (1, 3, 8, 8), verbose=0))


def higher():
    import higher

    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with higher.innerloop_ctx(net, optimizer) as (inner, steps):
        for _ in range(2):
            steps.step(inner(torch.ones(2, 3)).square().mean())
        inner(torch.ones(2, 3)).square().mean().backward()
    return net.weight.grad


def x_transformers():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    net = TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2))
    return AutoregressiveWrapper(net)(torch.randint(0, 20, (1, 12)))


def performer_pytorch():
    from performer_pytorch import SelfAttention

    return SelfAttention(dim=16, heads=2, causal=False)(torch.randn(1, 12, 16))


def tensorboard():
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from torch.utils.tensorboard import SummaryWriter

    import pathlib

    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as w:
            for i in range(3):
                w.add_scalar("loss", torch.tensor(1 / (i + 1)), i)
            w.add_histogram("weights", torch.arange(100.0).sub(30).div(7), 1)
            w.add_histogram("few", torch.arange(100.0).sub(30).div(7), 1, max_bins=50)
            w.add_text("note", "**bold**", 2)
            w.add_hparams({"opt": "sgd"}, {"accuracy": 0.5}, run_name="run")  # of several, their order is open
            w.add_custom_scalars({"c": {"m": ["Multiline", ["a", "b"]], "g": ["Margin", ["a", "b", "c"]]}})
        files = sorted(pathlib.Path(folder).rglob("events*"), key=lambda f: len(f.parts))
        shown = [(e.step, str(e.summary)) for f in files for e in EventFileLoader(str(f)).Load()]
    return [(step, "\n".join(t for t in text.split("\n") if "_time_secs" not in t)) for step, text in shown]
