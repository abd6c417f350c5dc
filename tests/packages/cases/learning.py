"""tensordict, torchrl, opacus, pytorch_metric_learning, e3nn, torchdiffeq, fvcore, lightning: more of each."""

import tempfile

import torch
from torch import nn

from ._shared import quiet_trainer


def tensordict_operations():
    from tensordict import LazyStackedTensorDict, TensorDict, tensorclass

    data = TensorDict({"a": torch.randn(4, 3), "n": {"b": torch.arange(8.0).view(4, 2)}}, [4])
    data["n", "c"] = torch.ones(4, 1, dtype=torch.int64)
    flat = data.flatten_keys(".")
    parts = data.split(2, 0)
    joined = torch.cat(list(parts), 0)
    lazy = LazyStackedTensorDict(parts[0], parts[1], stack_dim=0)

    @tensorclass
    class Sample:
        image: torch.Tensor
        label: torch.Tensor

    made = Sample(torch.randn(4, 2), torch.arange(4), batch_size=[4])
    with tempfile.TemporaryDirectory() as folder:
        data.memmap_(folder)
        back = TensorDict.load_memmap(folder)
        again = back["n", "b"].clone()
    return (
        sorted(map(str, data.keys(True, True))),
        sorted(flat.keys()),
        (joined == data).all(),
        lazy[1, 0]["a"].shape,
        made[1:3].label,
        torch.stack([made, made])[0].image,
        again,
        data.select("a").keys(),
        data.exclude(("n", "b")).to_dict(),
        data.apply(lambda t: t * 2)["n", "b"],
        data.unsqueeze(0).shape,
        data[data["a"][:, 0] > 0].batch_size,
        data.permute(0).shape,
        data.gather(0, torch.tensor([1, 0]))["a"],
        data.float().norm()["a"],
        data.numel(),
        data.named_apply(lambda k, v: v.sum(), nested_keys=True, batch_size=[])["n", "b"],
        data.float().mean(0)["a"],
    )


def tensordict_modules():
    from tensordict import TensorDict
    from tensordict.nn import (
        CompositeDistribution,
        NormalParamExtractor,
        ProbabilisticTensorDictModule,
        ProbabilisticTensorDictSequential,
        TensorDictModule,
        TensorDictSequential,
        dispatch,
    )
    from tensordict import TensorDictParams

    first = TensorDictModule(nn.Linear(3, 4), ["x"], ["h"])
    second = TensorDictModule(nn.Sequential(nn.Linear(4, 4), NormalParamExtractor()), ["h"], ["loc", "scale"])
    chain = TensorDictSequential(first, second)
    net = ProbabilisticTensorDictSequential(
        first,
        second,
        ProbabilisticTensorDictModule(
            ["loc", "scale"], ["action"], distribution_class=torch.distributions.Normal, return_log_prob=True
        ),
    )
    data = TensorDict({"x": torch.ones(2, 3)}, [2])
    torch.manual_seed(0)
    sample = net(data.clone())
    params = TensorDict.from_module(first.module)
    with params.apply(lambda p: p * 0).to_module(first.module):
        zero = first(data.clone())["h"]
    held = TensorDictParams(TensorDict({"w": torch.ones(2)}, []))
    return (
        chain(data.clone())["loc"],
        sample["action"].shape,
        chain.out_keys,
        chain.in_keys,
        zero,
        first(x=torch.ones(3)),
        [n for n, _ in held.named_parameters()],
        CompositeDistribution.__name__,
        dispatch.__name__,
        torch.vmap(lambda p: first.module.weight.sum() + p.sum())(torch.ones(2, 3)),
    )


def tensordict_ensembles_and_pools():
    from tensordict import TensorDict
    from tensordict.nn import NormalParamExtractor, ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential
    from tensordict.nn import TensorDictModule
    from torch.distributions import Independent, Normal

    net = ProbabilisticTensorDictSequential(
        TensorDictModule(nn.Linear(3, 4), ["x"], ["params"]),
        TensorDictModule(NormalParamExtractor(), ["params"], ["loc", "scale"]),
        ProbabilisticTensorDictModule(
            ["loc", "scale"], ["y"], distribution_class=lambda loc, scale: Independent(Normal(loc, scale), 1),
            return_log_prob=True,
        ),
    )  # fmt: skip

    def call(data, params):
        with params.to_module(net):
            return net(data)

    data, params = TensorDict({"x": torch.randn(2, 3)}, [2]), TensorDict.from_module(net).expand(4)
    found = torch.vmap(call, (None, 0))(data, params)
    doubled = data.map(_doubled, dim=0, num_workers=2)
    return found["loc"], found["y"].shape, found["y_log_prob"], doubled["x"]


def _doubled(data):
    return data.apply(lambda x: x * 2)


def torchrl_own_environments():
    from torchrl.envs import Compose, PendulumEnv, RewardSum, StepCounter, TransformedEnv, check_env_specs

    env = TransformedEnv(PendulumEnv(), Compose(StepCounter(4), RewardSum()))
    check_env_specs(env)
    env.set_seed(0)
    steps = env.rollout(6, break_when_any_done=False)
    return steps["th"], steps["next", "episode_reward"], steps["step_count"]


def torchrl_modules_and_losses():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl.data import Bounded, Composite, OneHot, Unbounded
    from torchrl.modules import (
        ActorValueOperator,
        ConvNet,
        DuelingCnnDQNet,
        NoisyLinear,
        NormalParamExtractor,
        ProbabilisticActor,
        QValueActor,
        TanhNormal,
        TruncatedNormal,
        ValueOperator,
    )
    from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
    from torchrl.objectives.value import GAE

    spec = Composite(action=Bounded(-1.0, 1.0, (2,)), obs=Unbounded((3,)))
    torch.manual_seed(0)
    actor = ProbabilisticActor(
        TensorDictModule(nn.Sequential(nn.Linear(3, 4), NormalParamExtractor()), ["obs"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    critic = ValueOperator(nn.Linear(3, 1), in_keys=["obs"])
    steps = TensorDict(
        {
            "obs": torch.randn(5, 3),
            "next": {
                "obs": torch.randn(5, 3),
                "reward": torch.randn(5, 1),
                "done": torch.zeros(5, 1, dtype=torch.bool),
                "terminated": torch.zeros(5, 1, dtype=torch.bool),
            },
        },
        [5],
    )
    steps = actor(steps)
    steps = GAE(gamma=0.9, lmbda=0.9, value_network=critic)(steps.detach())
    loss = ClipPPOLoss(actor, critic)(steps.detach())
    total = loss["loss_objective"] + loss["loss_critic"]
    total.backward()
    q = QValueActor(nn.Linear(3, 4), in_keys=["obs"], spec=Composite(action=OneHot(4)))
    dqn = DQNLoss(q, action_space="one-hot", delay_value=True)
    dqn.make_value_estimator(gamma=0.9)
    move = q(TensorDict({"obs": torch.randn(5, 3), "next": steps["next"].clone()}, [5]))
    found = dqn(move.detach())
    found["loss"].backward()
    SoftUpdate(dqn, eps=0.9).step()
    return (
        spec.rand().keys(),
        spec.project(TensorDict({"action": torch.full((2,), 3.0), "obs": torch.ones(3)}, []))["action"],
        steps["advantage"],
        loss["loss_objective"].shape,
        total,
        [p.grad.norm() for p in critic.parameters()],
        found["loss"],
        TanhNormal(torch.zeros(2), torch.ones(2)).log_prob(torch.full((2,), 0.3)),
        NoisyLinear(2, 2)(torch.ones(2)).shape,
        TruncatedNormal(torch.zeros(2), torch.ones(2)).log_prob(torch.full((2,), 0.3)),
        ActorValueOperator.__name__,
        ConvNet(in_features=3, num_cells=[4, 4], kernel_sizes=3)(torch.ones(1, 3, 12, 12)).shape,
        DuelingCnnDQNet.__name__,
    )


def torchrl_buffers_and_environment():
    from torchrl.data import LazyTensorStorage, ListStorage, ReplayBuffer, TensorDictReplayBuffer
    from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
    from torchrl.envs import Compose, DoubleToFloat, GymEnv, RewardSum, StepCounter, TransformedEnv

    env = TransformedEnv(GymEnv("CartPole-v1"), Compose(StepCounter(), RewardSum(), DoubleToFloat()))
    env.set_seed(0)
    torch.manual_seed(0)
    steps = env.rollout(8, policy=lambda td: td.set("action", torch.tensor([1, 0])))
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(20), sampler=SamplerWithoutReplacement(), batch_size=4)
    buffer.extend(steps)
    torch.manual_seed(1)
    sample = buffer.sample()
    lists = ReplayBuffer(storage=ListStorage(10), batch_size=3, collate_fn=torch.stack)
    lists.extend([torch.tensor(i) for i in range(6)])
    return (
        steps["observation"],
        steps["next", "episode_reward"],
        sample["observation"].shape,
        len(lists),
        lists.sample(),
    )


def opacus_layers():
    from opacus import GradSampleModule
    from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
    from opacus.layers import DPLSTM, DPMultiheadAttention
    from opacus.validators import ModuleValidator

    out = []
    for net, x in (
        (nn.Conv2d(2, 3, 3, padding=1, groups=1), torch.randn(4, 2, 5, 5)),
        (nn.Conv1d(2, 3, 3, stride=2), torch.randn(4, 2, 9)),
        (nn.Conv3d(1, 2, 2), torch.randn(2, 1, 3, 4, 4)),
        (nn.Embedding(7, 3), torch.arange(8).view(4, 2) % 7),
        (nn.LayerNorm(5), torch.randn(4, 5)),
        (nn.GroupNorm(2, 4), torch.randn(3, 4, 5)),
        (DPLSTM(3, 4), torch.randn(5, 2, 3)),
        (nn.InstanceNorm1d(3, affine=True), torch.randn(2, 3, 6)),
        (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(6, 3)),
    ):
        made = GradSampleModule(net, batch_first=not isinstance(net, DPLSTM))
        got = made(x)
        (got[0] if isinstance(got, tuple) else got).square().sum().backward()
        out.append([p.grad_sample for p in made.parameters()])
    attention = DPMultiheadAttention(4, 2)
    q = torch.randn(3, 2, 4)
    fixed = ModuleValidator.fix(nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)))
    spent = []
    for kind in (RDPAccountant, GaussianAccountant, PRVAccountant):
        accountant = kind()
        for _ in range(5):
            accountant.step(noise_multiplier=1.1, sample_rate=0.05)
        spent.append(accountant.get_epsilon(1e-5))
    return (
        out,
        attention(q, q, q)[0],
        str(fixed),
        ModuleValidator.validate(nn.BatchNorm1d(2), strict=False) != [],
        spent,
    )


def opacus_functorch_and_ghost():
    from opacus import PrivacyEngine

    out = []
    for mode in ("functorch", "ew", "ghost"):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.arange(12) % 2)
        loader = torch.utils.data.DataLoader(data, batch_size=4)
        criterion = nn.CrossEntropyLoss(reduction="mean")
        made = PrivacyEngine().make_private(
            module=net,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=0.0,
            max_grad_norm=0.5,
            poisson_sampling=False,
            grad_sample_mode=mode,
            criterion=criterion,
        )
        (net, optimizer, criterion, loader) = made if mode == "ghost" else (*made[:2], criterion, made[2])
        for x, y in loader:
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
        out.append([p.detach() for p in net.parameters()])
    return out


def metric_losses():
    from pytorch_metric_learning import distances, losses, miners, reducers, regularizers
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    x, y = torch.randn(12, 8, requires_grad=True), torch.arange(12) % 3
    made = [
        losses.ContrastiveLoss(),
        losses.MultiSimilarityLoss(),
        losses.CircleLoss(),
        losses.SupConLoss(),
        losses.LiftedStructureLoss(),
        losses.NCALoss(),
        losses.AngularLoss(),
        losses.FastAPLoss(),
        losses.TupletMarginLoss(),
        losses.SignalToNoiseRatioContrastiveLoss(),
        losses.GeneralizedLiftedStructureLoss(),
        losses.IntraPairVarianceLoss(),
        losses.MarginLoss(),
        losses.NPairsLoss(),
        losses.ProxyNCALoss(3, 8),
        losses.ProxyAnchorLoss(3, 8),
        losses.CosFaceLoss(3, 8),
        losses.NormalizedSoftmaxLoss(3, 8),
        losses.SoftTripleLoss(3, 8),
        losses.SubCenterArcFaceLoss(num_classes=3, embedding_size=8),
        losses.PNPLoss(),
        losses.TripletMarginLoss(
            distance=distances.CosineSimilarity(),
            reducer=reducers.AvgNonZeroReducer(),
            embedding_regularizer=regularizers.LpRegularizer(),
        ),
        losses.CrossBatchMemory(losses.NTXentLoss(), 8, 16),
        losses.VICRegLoss(),
        losses.LargeMarginSoftmaxLoss(num_classes=3, embedding_size=8),
        losses.HistogramLoss(n_bins=20),
    ]
    found = []
    for loss in made:
        value = loss(x, ref_emb=x.flip(0)) if isinstance(loss, losses.VICRegLoss) else loss(x, y)
        found.append((value, torch.autograd.grad(value, x, allow_unused=True)[0]))
    pairs = [
        m(x, y)
        for m in (
            miners.BatchHardMiner(),
            miners.TripletMarginMiner(0.2),
            miners.PairMarginMiner(),
            miners.BatchEasyHardMiner(),
        )
    ]
    scores = AccuracyCalculator(
        include=("precision_at_1", "r_precision", "mean_average_precision_at_r"), k=3, knn_func=_nearest
    ).get_accuracy(x.detach(), y, x.detach(), y, True)
    return found, pairs, scores


def _nearest(query, k, reference, self_in):
    d = torch.cdist(query, reference)
    if self_in:
        d.fill_diagonal_(float("inf"))
    values, at = d.topk(k, largest=False)
    return values, at


def e3nn_layers():
    from e3nn import io, nn as en, o3

    irreps = o3.Irreps("4x0e + 2x1o + 1x2e")
    x = irreps.randn(5, -1)
    rot = o3.rand_matrix()
    gate = en.Gate("2x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    tp = o3.TensorSquare("2x0e + 1x1o")
    return (
        irreps.D_from_matrix(rot),
        o3.wigner_3j(1, 1, 2),
        o3.wigner_D(2, *torch.tensor([0.1, 0.2, 0.3])),
        gate(gate.irreps_in.randn(3, -1)),
        o3.Norm(irreps)(x),
        en.BatchNorm(irreps)(x),
        en.NormActivation(irreps, torch.sigmoid)(x),
        tp(tp.irreps_in.randn(2, -1)),
        en.FullyConnectedNet([4, 8, 2], torch.relu)(torch.randn(3, 4)),
        o3.ElementwiseTensorProduct("2x0e + 1x1o", "2x0e + 1x1o")(torch.randn(2, 5), torch.randn(2, 5)),
        en.S2Activation("1x0e + 1x1o", torch.relu, 10)(torch.randn(2, 4)),
        en.Dropout(irreps, 0.5).eval()(x),
        io.SphericalTensor(2, 1, 1).randn(2, -1).shape,
        o3.ReducedTensorProducts("ij=-ji", i="1o").change_of_basis,
        o3.matrix_to_angles(rot),
        o3.matrix_to_quaternion(rot).abs(),
        irreps.sort()[0].dim,
        o3.SphericalHarmonics([0, 1, 2, 3], True, normalization="component")(torch.randn(3, 3)),
        o3.FromS2Grid((6, 7), 2)(torch.randn(6, 7)),
    )


def solvers():
    from torchdiffeq import odeint, odeint_adjoint, odeint_event

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]))

        def forward(self, t, y):
            return (y**3) @ self.a

    t, y = torch.linspace(0, 1, 4, dtype=torch.float64), torch.tensor([[0.7, 0.2]], dtype=torch.float64)
    out = []
    for method in (
        "dopri8",
        "bosh3",
        "fehlberg2",
        "adaptive_heun",
        "euler",
        "midpoint",
        "heun3",
        "explicit_adams",
        "implicit_adams",
    ):
        field = Field().double()
        got = odeint(field, y, t, method=method)
        got[-1].sum().backward()
        out.append((got, field.a.grad))
    field = Field().double()
    both = odeint_adjoint(field, y, t)
    both[-1].sum().backward()
    fall = lambda t, s: (s[1], torch.full_like(s[1], -9.8))
    when, state = odeint_event(
        fall,
        (torch.tensor([10.0]), torch.tensor([0.0])),
        torch.tensor(0.0),
        event_fn=lambda t, s: s[0].min(),
        method="dopri5",
        atol=1e-8,
        rtol=1e-8,
    )
    return out, both, field.a.grad, when, state[1]


def fvcore_tools():
    from fvcore.common.param_scheduler import CompositeParamScheduler, CosineParamScheduler, LinearParamScheduler
    from fvcore.common.checkpoint import Checkpointer
    from fvcore.nn import giou_loss, parameter_count_table, smooth_l1_loss
    from fvcore.nn.precise_bn import update_bn_stats
    from fvcore.nn.weight_init import c2_msra_fill, c2_xavier_fill

    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten())
    c2_msra_fill(net[0])
    update_bn_stats(net, [torch.randn(4, 1, 5, 5) for _ in range(3)], num_iters=3)
    plan = CompositeParamScheduler(
        [LinearParamScheduler(0, 1), CosineParamScheduler(1, 0)], [0.3, 0.7], ["rescaled"] * 2
    )
    a, b = torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 1, 3, 4]])
    lin = nn.Linear(3, 2)
    c2_xavier_fill(lin)
    with tempfile.TemporaryDirectory() as folder:
        Checkpointer(net, folder).save("x", step=3)
        other = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten())
        extra = Checkpointer(other, folder).load(folder + "/x.pth")
    return (
        net[1].running_mean,
        net[1].running_var,
        [plan(i / 4) for i in range(4)],
        giou_loss(a, b),
        smooth_l1_loss(a, b, 0.5),
        parameter_count_table(net),
        extra["step"],
        torch.equal(net[0].weight, other[0].weight),
        lin.weight,
    )


def lightning_callbacks():
    import lightning as L
    from lightning.pytorch.callbacks import (
        EarlyStopping,
        GradientAccumulationScheduler,
        LearningRateMonitor,
        ModelCheckpoint,
        StochasticWeightAveraging,
        Timer,
    )
    from lightning.pytorch.loggers import CSVLogger

    class Net(L.LightningModule):
        def __init__(self, lr=0.05):
            super().__init__()
            self.save_hyperparameters()
            self.lin = nn.Linear(4, 1)

        def training_step(self, batch, i):
            loss = (self.lin(batch[0]) - batch[1]).square().mean()
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, i):
            self.log("val", (self.lin(batch[0]) - batch[1]).abs().mean())

        predict_step = lambda self, batch, i: self.lin(batch[0])

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
            plan = torch.optim.lr_scheduler.OneCycleLR(
                optimizer, 0.1, total_steps=self.trainer.estimated_stepping_batches
            )
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plan, "interval": "step"}}

    x = torch.randn(24, 4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), 6)
    with tempfile.TemporaryDirectory() as folder:
        keep = ModelCheckpoint(folder, monitor="val", save_top_k=2)
        trainer = quiet_trainer(
            L,
            default_root_dir=folder,
            max_epochs=4,
            callbacks=[
                keep,
                EarlyStopping("val", patience=2),
                LearningRateMonitor(),
                GradientAccumulationScheduler({0: 2, 2: 1}),
                StochasticWeightAveraging(0.01, 2),
                Timer(),
            ],
            logger=CSVLogger(folder),
            gradient_clip_val=0.5,
            log_every_n_steps=1,
            deterministic=True,
        )
        trainer.fit(Net(), loader, loader)
        best = Net.load_from_checkpoint(keep.best_model_path)
        metrics = {k: v for k, v in trainer.callback_metrics.items()}
        predicted = torch.cat(trainer.predict(best, loader))
        checked = trainer.validate(best, loader, verbose=False)
    return metrics, best.hparams.lr, predicted, checked, float(keep.best_model_score)
