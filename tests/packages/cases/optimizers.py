"""Optimizers that are packages of their own: losses of the same training."""

import torch
from torch import nn

from ._shared import losses_of


def _losses(make, steps=5):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    optimizer = make(net.parameters())
    if hasattr(optimizer, "train"):  # those without a schedule have two states
        optimizer.train()
    return losses_of(optimizer, lambda: nn.functional.cross_entropy(net(x), y), steps)


def adam_atan2_pytorch():
    from adam_atan2_pytorch import AdamAtan2

    return _losses(lambda p: AdamAtan2(p, lr=0.01))


def heavyball():
    import heavyball

    heavyball.utils.compile_mode = None
    names = ("AdamW", "Muon", "SOAP", "SFAdamW", "PSGDKron")
    return {name: _losses(lambda p, name=name: getattr(heavyball, name)(p)) for name in names}


def lion_pytorch():
    from lion_pytorch import Lion

    return _losses(lambda p: Lion(p, lr=1e-2, weight_decay=0.1, decoupled_weight_decay=True))


def loralib():
    import loralib

    layer = loralib.Linear(4, 4, r=2)
    loralib.mark_only_lora_as_trainable(layer)
    merged = loralib.MergedLinear(4, 6, r=2, enable_lora=[True, False])
    x = torch.randn(2, 4)
    return (
        layer(x),
        list(loralib.lora_state_dict(layer)),
        merged(x),
        loralib.Conv2d(2, 2, 3, r=2)(torch.ones(1, 2, 5, 5)),
    )


def mup():
    import mup

    def make(width):
        return nn.Sequential(nn.Linear(4, width), nn.ReLU(), mup.MuReadout(width, 2))

    net = make(8)
    mup.set_base_shapes(net, make(2), delta=make(4))
    optimizer = mup.MuAdam(net.parameters(), lr=0.01)
    net(torch.randn(3, 4)).sum().backward()
    optimizer.step()
    return net(torch.ones(1, 4))


def pytorch_optimizer():
    import pytorch_optimizer

    names = """AdamP Lion Prodigy SOAP Adan ScheduleFreeAdamW Kate CAME StableAdamW ADOPT DAdaptAdam Tiger Lamb GaLore
        SGDP LARS PNM Amos MARS Grams FTRL QHAdam AdaBelief""".split()
    return {name: _losses(lambda p, name=name: getattr(pytorch_optimizer, name)(p)) for name in names}


def schedulefree():
    import schedulefree

    makers = (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree, schedulefree.RAdamScheduleFree)
    return [_losses(lambda p, make=make: make(p, lr=0.01)) for make in makers]


def torch_ema():
    from torch_ema import ExponentialMovingAverage

    net = nn.Linear(4, 3)
    average = ExponentialMovingAverage(net.parameters(), decay=0.9)
    for p in net.parameters():
        p.data += 1
    average.update()
    with average.average_parameters():
        out = net(torch.ones(1, 4))
    return out, net(torch.ones(1, 4)), average.state_dict()["num_updates"]


def ema_pytorch():
    from ema_pytorch import EMA

    net = nn.Linear(4, 3)
    average = EMA(net, beta=0.9, update_after_step=0, update_every=1)
    for _ in range(3):
        for p in net.parameters():
            p.data += 0.1
        average.update()
    return average(torch.ones(1, 4))


def torch_optimi():
    import optimi

    names = ("AdamW", "Adan", "Lion", "RAdam", "Ranger", "StableAdamW", "SGD")
    return {name: _losses(lambda p, name=name: getattr(optimi, name)(p, lr=0.01)) for name in names}


def torch_optimizer():
    import torch_optimizer

    names = """RAdam Yogi DiffGrad Lamb AdaBound NovoGrad QHAdam AdamP SWATS Ranger AccSGD AdaMod PID SGDW Apollo
        A2GradExp""".split()
    return {name: _losses(lambda p, name=name: getattr(torch_optimizer, name)(p)) for name in names}
