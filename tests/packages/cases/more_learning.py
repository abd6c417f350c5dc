"""tensordict and torchrl: rarer parts of each."""

import tempfile

import torch
from torch import nn


def tensordict_rarer():
    from tensordict import TensorClass, TensorDict, pad_sequence
    from tensordict.nn import (
        InteractionType,
        EnsembleModule,
        TensorDictModule,
        TensorDictSequential,
        set_interaction_type,
    )

    data = TensorDict(
        {"a": torch.arange(12.0).view(4, 3), "s": "text", "n": {"b": torch.ones(4, 2, dtype=torch.int16)}}, [4]
    )
    found = [
        data.reshape(2, 2)["a"],
        data.view(2, 2).shape,
        data.repeat_interleave(2, 0)["a"],
        data.expand(2, 4).shape,
        data.to(torch.float64)["a"].dtype,
        data.numpy()["a"].tolist(),
        data.sum(0)["a"],
        data.exclude("n").std(0)["a"],
        data["s"],
        data.consolidate()["n", "b"],
        data.chunk(2)[1]["a"],
        data.masked_select(torch.tensor([True, False, True, False]))["a"],
        data.where(torch.tensor([True, False, True, False]), data * 0)["a"],
        (data.exclude("s") + 1)["n", "b"],
        (data.exclude("s") * 2.0)["a"],
        data.exclude("s").clamp(1, 4)["a"],
        data.rename_key_("a", "c").keys().__len__(),
        data.exclude("s").bytes(),
        data.unflatten_keys(".").keys().__len__(),
        data.unbind(0)[2]["c"],
        str(data.exclude("s").bool())[:200],
        data.exclude("s").isfinite().all(),
        data.from_dict({"q": 1, "z": {"t": [1.0, 2.0]}})["z", "t"],
        data.empty().batch_size,
        data.split_keys(["c"])[0].keys().__len__(),
        data.squeeze().shape,
        data.exclude("s").logsumexp(dim=0)["c"],
        data.exclude("s").addcmul(data.exclude("s"), data.exclude("s"), value=0.5)["c"],
        data.exclude("s").pow(2)["c"],
        pad_sequence([data[:2].exclude("s"), data[:3].exclude("s")])["c"],
    ]

    class Point(TensorClass["nocast"]):
        x: torch.Tensor
        name: str = "p"

    p = Point(x=torch.ones(3, 2), batch_size=[3])
    found += [
        p[0].x,
        p.name,
        (p + 1).x,
        torch.cat([p, p]).shape,
        p.to_dict()["x"],
        str(p)[:60],
        Point.from_tensordict(p.to_tensordict()).x,
        p.replace(x=torch.zeros(3, 2)).x,
    ]
    nets = EnsembleModule(TensorDictModule(nn.Linear(3, 2), ["c"], ["o"]), num_copies=3)
    found.append(nets(data.exclude("s"))["o"].shape)
    found.append(torch.func.vmap(lambda t: t["c"].sum())(data.exclude("s")))
    found.append(torch.func.vmap(lambda t: t.apply(lambda v: v * 2), 0, 0)(data.exclude("s"))["c"])
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    params = TensorDict.from_module(net)
    many = torch.stack([params.data.clone(), params.data.clone() * 2])

    def call(p, x):
        with p.to_module(net):
            return net(x)

    found.append(torch.vmap(call, (0, None))(many, torch.ones(3)))
    grads = torch.func.grad(lambda p: call(p, torch.ones(3)).sum())(params.data.clone())
    found.append(grads["0", "weight"])
    found.append(params.flatten_keys().keys().__len__())
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/d.pt"
        torch.save(data, file)
        found.append(torch.load(file, weights_only=False)["c"])
        data.exclude("s").memmap(folder + "/m")
        found.append(TensorDict.load(folder + "/m")["n", "b"])
    with set_interaction_type(InteractionType.DETERMINISTIC):
        found.append(nets(data.exclude("s"))["o"].shape)
    seq = TensorDictSequential(
        TensorDictModule(lambda a: a + 1, ["c"], ["d"]),
        TensorDictModule(lambda d, b: d.sum(-1) + b.sum(-1), ["d", ("n", "b")], ["e"]),
    )
    found += [seq(data.clone())["e"], seq.select_subsequence(out_keys=["d"]).out_keys]
    return found


def torchrl_rarer():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule as Mod, TensorDictSequential
    from torchrl import data as D, envs as E, modules as M, objectives as O
    from torchrl.collectors import Collector
    from torchrl.objectives.value import TDLambdaEstimator, functional as F

    torch.manual_seed(0)
    found = []

    def steps(action):
        return TensorDict(
            {
                "observation": torch.randn(6, 3),
                "action": action,
                "next": {
                    "observation": torch.randn(6, 3),
                    "reward": torch.randn(6, 1),
                    "done": torch.zeros(6, 1, dtype=torch.bool),
                    "terminated": torch.zeros(6, 1, dtype=torch.bool),
                },
            },
            [6],
        )

    spec = D.Bounded(-1.0, 1.0, (2,))
    policy = M.ProbabilisticActor(
        Mod(nn.Sequential(nn.Linear(3, 4), M.NormalParamExtractor()), ["observation"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=M.TanhNormal,
        spec=spec,
        return_log_prob=True,
    )
    deterministic = M.Actor(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), spec=spec)
    q = M.ValueOperator(M.MLP(in_features=5, out_features=1, num_cells=[8]), in_keys=["observation", "action"])
    v = M.ValueOperator(nn.Linear(3, 1), in_keys=["observation"])
    batch = steps(torch.rand(6, 2) * 2 - 1)
    for loss in (
        O.SACLoss(policy, q, num_qvalue_nets=2),
        O.DDPGLoss(deterministic, q),
        O.TD3Loss(deterministic, q, action_spec=spec),
        O.REDQLoss(policy, q, num_qvalue_nets=3, sub_sample_len=2),
        O.IQLLoss(policy, q, v),
        O.CQLLoss(policy, q, action_spec=spec),
        O.A2CLoss(policy, v),
        O.ReinforceLoss(policy, v),
        O.KLPENPPOLoss(policy, v),
        O.TD3BCLoss(deterministic, q, action_spec=spec),
        O.CrossQLoss(
            policy,
            M.ValueOperator(M.MLP(in_features=5, out_features=1, num_cells=[8]), in_keys=["observation", "action"]),
        ),
        O.BCLoss(deterministic),
    ):
        torch.manual_seed(1)
        td = batch.clone()
        if isinstance(loss, (O.A2CLoss, O.ReinforceLoss, O.KLPENPPOLoss)):
            td = policy(td).detach()
            TDLambdaEstimator(gamma=0.9, lmbda=0.8, value_network=v)(td)
            td = td.detach()
        out = loss(td)
        total = sum(value.sum() for key, value in out.items() if key.startswith("loss_"))
        total.backward()
        found.append(
            (
                type(loss).__name__,
                total,
                sum(p.grad.double().abs().sum() for p in loss.parameters() if p.grad is not None),
            )
        )
    r, d = torch.randn(2, 5, 1), torch.zeros(2, 5, 1, dtype=torch.bool)
    value, nxt = torch.randn(2, 5, 1), torch.randn(2, 5, 1)
    found += [
        F.generalized_advantage_estimate(0.9, 0.8, value, nxt, r, d, d)[0],
        F.vec_td_lambda_return_estimate(0.9, 0.8, nxt, r, d, d),
        F.vec_td1_return_estimate(0.9, nxt, r, d, d),
        F.reward2go(r, d, 0.9),
    ]
    env = E.TransformedEnv(
        E.GymEnv("Pendulum-v1"),
        E.Compose(
            E.ObservationNorm(0.1, 2.0, ["observation"]),
            E.RewardScaling(0, 0.1),
            E.FrameSkipTransform(2),
            E.CatTensors(["observation"], "obs2"),
            E.InitTracker(),
            E.StepCounter(20),
            E.RewardSum(),
        ),
    )
    env.set_seed(3)
    torch.manual_seed(3)
    collector = Collector(env, None, frames_per_batch=8, total_frames=16)
    for part in collector:
        found.append((part["next", "reward"].shape, part["collector", "traj_ids"]))
    collector.shutdown()
    E.check_env_specs(env)
    slices = D.ReplayBuffer(
        storage=D.LazyTensorStorage(16),
        sampler=D.replay_buffers.SliceSampler(num_slices=2, traj_key=("collector", "traj_ids"), strict_length=False),
        batch_size=8,
    )
    slices.extend(part.reshape(-1))
    found.append(slices.sample().shape)
    lstm = M.LSTMModule(input_size=3, hidden_size=4, in_key="observation", out_key="h")
    found.append(lstm.make_tensordict_primer().__class__.__name__)
    explore = TensorDictSequential(deterministic, M.AdditiveGaussianModule(spec, 1.0, 0.1, annealing_num_steps=10))
    found += [
        explore(batch.clone())["action"].shape,
        M.EGreedyModule(D.OneHot(4), 1.0, 0.1).eps,
        M.OneHotCategorical(torch.randn(3)).mode,
        M.IndependentNormal(torch.zeros(2), torch.ones(2)).log_prob(torch.ones(2)),
        M.MaskedCategorical(logits=torch.zeros(4), mask=torch.tensor([1, 0, 1, 1]).bool()).log_prob(torch.tensor(2)),
        M.distributions.TruncatedNormal(torch.zeros(2), torch.ones(2), low=-1, high=1).mean.shape,
    ]
    found += [
        M.SqueezeLayer()(torch.ones(2, 1)).shape,
        M.MultiAgentMLP(3, 2, 2, centralized=False, share_params=True)(torch.ones(2, 3)),
    ]
    return found
