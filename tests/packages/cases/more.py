"""More packages: a small use of each, as its documentation has it."""

import torch
from torch import nn

from ._shared import losses_of


def skorch():
    from skorch import NeuralNetClassifier
    from sklearn.datasets import make_classification
    from sklearn.model_selection import cross_val_score

    X, y = make_classification(120, 8, n_informative=5, random_state=0)
    X = X.astype("float32")
    net = NeuralNetClassifier(
        nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 2), nn.Softmax(dim=-1)),
        max_epochs=4, lr=0.1, iterator_train__shuffle=True, verbose=0,
    )  # fmt: skip
    net.fit(X, y)
    torch.manual_seed(1)
    scores = cross_val_score(net, X, y, cv=3, scoring="accuracy")
    return net.history[:, "train_loss"], net.predict_proba(X[:3]).tolist(), scores.tolist()


def stable_baselines3():
    import stable_baselines3

    found = []
    for name in ("A2C", "PPO", "DQN"):
        more = {"n_steps": 32, "batch_size": 16} if name == "PPO" else {}
        model = getattr(stable_baselines3, name)("MlpPolicy", "CartPole-v1", seed=0, device="cpu", **more)
        model.learn(total_timesteps=128)
        obs = model.get_env().reset()
        found.append([p.detach().sum().item() for p in model.policy.parameters()][:4])
        found.append(int(model.predict(obs, deterministic=True)[0][0]))
    return found


def torchsde():
    import torchsde

    class SDE(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.mu = nn.Linear(3, 3)
            self.sigma = nn.Parameter(torch.full((3,), 0.2))

        def f(self, t, y):
            return self.mu(y)

        def g(self, t, y):
            return self.sigma * y

    sde = SDE()
    bm = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7)
    ys = torchsde.sdeint(sde, torch.ones(4, 3), torch.linspace(0, 1, 5), bm=bm, method="milstein", dt=0.1)
    ys[-1].sum().backward()
    return ys[-1], sde.mu.weight.grad


def torchode():
    import torchode

    term = torchode.ODETerm(lambda t, y: -0.5 * y)
    step = torchode.Tsit5(term=term)
    solver = torchode.AutoDiffAdjoint(step, torchode.IntegralController(atol=1e-6, rtol=1e-3, term=term))
    y0 = torch.tensor([[1.2], [5.0]])
    problem = torchode.InitialValueProblem(y0=y0, t_eval=torch.linspace(0, 3, 5).expand(2, -1))
    sol = solver.solve(problem)
    return sol.ys, sol.stats["n_steps"]


def torchcde():
    import torchcde

    x = torch.randn(2, 7, 3).cumsum(1)
    spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    func = nn.Linear(4, 12)

    def vector(t, z):
        return func(z).view(2, 4, 3).tanh()

    z = torchcde.cdeint(
        X=spline, func=vector, z0=torch.ones(2, 4), t=spline.interval, method="rk4", options={"step_size": 0.5}
    )
    return z[:, -1], torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x)).evaluate(torch.tensor(2.3))


def geoopt():
    import geoopt

    ball = geoopt.PoincareBall(c=1.0)
    point = geoopt.ManifoldParameter(ball.expmap0(torch.tensor([[0.1, 0.2], [0.4, -0.3]])), manifold=ball)
    target = ball.expmap0(torch.tensor([[0.5, 0.5], [-0.2, 0.1]]))
    optimizer = geoopt.optim.RiemannianAdam([point], lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        loss = ball.dist2(point, target).sum()
        loss.backward()
        optimizer.step()
    stiefel = geoopt.Stiefel()
    frame = geoopt.ManifoldParameter(stiefel.random_naive(4, 2), manifold=stiefel)
    return loss, point, ball.mobius_add(point, target), (frame.T @ frame)


def pykan():
    from kan import KAN

    model = KAN(width=[2, 3, 1], grid=3, k=3, seed=1, auto_save=False)
    x = torch.rand(40, 2) * 2 - 1
    y = torch.sin(x[:, :1]) + x[:, 1:] ** 2
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return losses_of(optimizer, lambda: (model(x) - y).pow(2).mean(), 4)


def tensorly():
    import tensorly
    from tensorly import decomposition

    tensorly.set_backend("pytorch")
    X = torch.einsum("ir,jr,kr->ijk", torch.rand(4, 2), torch.rand(5, 2), torch.rand(3, 2))
    weights, factors = decomposition.parafac(X, rank=2, init="svd", n_iter_max=20)
    core, parts = decomposition.tucker(X, rank=[2, 2, 2])
    back = tensorly.cp_to_tensor((weights, factors))
    return (back - X).norm() < 1e-2, (tensorly.tucker_to_tensor((core, parts)) - X).norm() < 1e-3, tensorly.unfold(X, 1)


def entmax():
    import entmax

    x = torch.tensor([[0.2, -1.0, 2.0, 1.7], [1.0, 1.0, 0.0, -2.0]], requires_grad=True)
    a, b, c = entmax.sparsemax(x, dim=-1), entmax.entmax15(x, dim=-1), entmax.entmax_bisect(x, alpha=1.3)
    loss = entmax.Entmax15Loss()(x, torch.tensor([2, 0]))
    (loss + (a * b * c).sum()).backward()
    return a, b, c, loss, x.grad


def fastai_tabular():
    import pandas
    from fastai.tabular.all import (
        CategoryBlock,
        Categorify,
        FillMissing,
        Normalize,
        TabularDataLoaders,
        tabular_learner,
    )

    g = torch.Generator().manual_seed(0)
    frame = pandas.DataFrame({
        "size": torch.rand(60, generator=g).numpy(),
        "age": torch.rand(60, generator=g).numpy() * 30,
        "kind": ["abc"[i % 3] for i in range(60)],
    })  # fmt: skip
    frame["target"] = (frame["size"] + (frame["kind"] == "a") > 0.8).map({True: "yes", False: "no"})
    frame.loc[::7, "age"] = None
    loaders = TabularDataLoaders.from_df(
        frame, procs=[Categorify, FillMissing, Normalize], cat_names=["kind"], cont_names=["size", "age"],
        y_names="target", y_block=CategoryBlock(), bs=16, valid_idx=list(range(40, 60)),
    )  # fmt: skip
    torch.manual_seed(0)
    learner = tabular_learner(loaders, layers=[16, 8])
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 1e-2)
    return [list(map(float, row)) for row in learner.recorder.values], learner.get_preds()[0]


def fastai_vision():
    from fastai.vision.all import (
        DataBlock,
        CategoryBlock,
        ImageBlock,
        Learner,
        PILImage,
        RandomSplitter,
        Resize,
        accuracy,
    )
    import numpy

    def image(i):
        pixels = numpy.zeros((20, 20, 3), "uint8")
        pixels[:, :: 2 + i % 2] = 40 + 5 * i
        return PILImage.create(pixels)

    block = DataBlock(
        (ImageBlock, CategoryBlock), get_x=image, get_y=lambda i: "ab"[i % 2], splitter=RandomSplitter(0.25, seed=1),
        item_tfms=Resize(16),
    )  # fmt: skip
    loaders = block.dataloaders(list(range(24)), bs=6, num_workers=0, shuffle=False)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))
    learner = Learner(loaders, net, loss_func=nn.CrossEntropyLoss(), metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit(2, 1e-2)
    return [list(map(float, row)) for row in learner.recorder.values]
