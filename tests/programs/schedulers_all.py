"""Every scheduler of torch.optim.lr_scheduler for some epochs, chained, sequential, on a plateau, saved and resumed."""

import math
import warnings

import torch
from torch import nn
from torch.optim import lr_scheduler as S

warnings.simplefilter("ignore")


def optimizer(groups=1, **more):
    params = [{"params": [nn.Parameter(torch.zeros(2))], **({"lr": 0.01} if i else {})} for i in range(groups)]
    return torch.optim.SGD(params, lr=0.1, **{"momentum": 0.9, **more})


def trace(scheduler, opt, steps=10):
    lrs = []
    for _ in range(steps):
        opt.step()
        lrs.append([g["lr"] for g in opt.param_groups])
        scheduler.step()
    return [[round(v, 7) for v in column] for column in zip(*lrs)]


CASES = {
    "lambda": lambda o: S.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (e + 1)]),
    "multiplicative": lambda o: S.MultiplicativeLR(o, [lambda e: 0.9, lambda e: 1.1]),
    "step": lambda o: S.StepLR(o, 3, 0.5),
    "multistep": lambda o: S.MultiStepLR(o, milestones=[2, 4, 4, 7], gamma=0.1),
    "constant": lambda o: S.ConstantLR(o, factor=0.5, total_iters=4),
    "linear": lambda o: S.LinearLR(o, start_factor=0.25, end_factor=0.75, total_iters=5),
    "exponential": lambda o: S.ExponentialLR(o, gamma=0.8),
    "polynomial": lambda o: S.PolynomialLR(o, total_iters=6, power=2.0),
    "cosine": lambda o: S.CosineAnnealingLR(o, T_max=4, eta_min=0.001),
    "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.0005),
    "cyclic": lambda o: S.CyclicLR(o, base_lr=[0.01, 0.001], max_lr=[0.1, 0.05], step_size_up=3, mode="triangular2"),
    "exp_range": lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=2, step_size_down=3, mode="exp_range", gamma=0.9),
    "onecycle": lambda o: S.OneCycleLR(o, max_lr=[0.2, 0.1], total_steps=11, pct_start=0.4, three_phase=True),
    "linear onecycle": lambda o: S.OneCycleLR(o, max_lr=0.2, epochs=4, steps_per_epoch=3, anneal_strategy="linear"),
}
for name, make in CASES.items():
    opt = optimizer(2)
    print(name, trace(make(opt), opt), f"{opt.param_groups[0]['momentum']:.5f}")
opt = optimizer(2)
chained = S.ChainedScheduler([S.ConstantLR(opt, 0.1, total_iters=3), S.ExponentialLR(opt, 0.9)], optimizer=opt)
print("chained", trace(chained, opt, 5), [round(v, 6) for v in chained.get_last_lr()])
opt = optimizer()
warm = S.SequentialLR(
    opt, [S.LinearLR(opt, 0.1, total_iters=3), S.CosineAnnealingLR(opt, 5), S.ExponentialLR(opt, 0.5)], [3, 8]
)
print("sequential", trace(warm, opt, 12))

opt = optimizer()
plateau = S.ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=1, threshold=1e-2, cooldown=1, min_lr=0.01)
for metric in (1.0, 0.9, 0.899, 0.898, 0.897, 0.896, 0.5, 0.6, 0.61, 0.62, 0.63, 0.64):
    plateau.step(torch.tensor(metric) if metric > 0.8 else metric)
    print(metric, opt.param_groups[0]["lr"], plateau.num_bad_epochs, plateau.cooldown_counter, plateau.get_last_lr())
top = S.ReduceLROnPlateau(optimizer(), mode="max", threshold_mode="abs", patience=0)
print(top.threshold_mode, top.best, sorted(k for k in top.state_dict() if k[0] in "bmp"))

opt = optimizer()
first = S.CosineAnnealingWarmRestarts(opt, 4)
for batch in range(6):
    first.step(batch / 2.5)
print([f"{v:.6f}" for v in first.get_last_lr()], first.T_cur)
opt = optimizer()
cos = S.CosineAnnealingLR(opt, 10)
trace(cos, opt, 4)
state, opt_state = cos.state_dict(), opt.state_dict()
print({k: round(v, 6) if isinstance(v, float) else v for k, v in sorted(state.items()) if not k.startswith("_")})
other = optimizer()
again = S.CosineAnnealingLR(other, 10)
again.load_state_dict(state)
other.load_state_dict(opt_state)
print(trace(cos, opt, 4) == trace(again, other, 4), again.last_epoch)
resumed = optimizer()
for g in resumed.param_groups:
    g["initial_lr"] = 0.1
late = S.StepLR(resumed, 2, 0.1, last_epoch=3)
print(f"{late.get_last_lr()[0]:.6f}", late.last_epoch, late.base_lrs)


class Inverse(S.LRScheduler):
    def __init__(self, optimizer, warmup, last_epoch=-1):
        self.warmup = warmup
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        scale = min((self.last_epoch + 1) / self.warmup, math.sqrt(self.warmup / (self.last_epoch + 1)))
        return [base * scale for base in self.base_lrs]


opt = optimizer()
print("own", trace(Inverse(opt, 4), opt))
for wrong in (
    lambda: S.StepLR(nn.Linear(1, 1), 2),
    lambda: S.OneCycleLR(optimizer(), 0.1),
    lambda: S.LinearLR(optimizer(), 0),
):
    try:
        wrong()
    except (TypeError, ValueError) as e:
        print(type(e).__name__, str(e)[:60])
try:
    S.ExponentialLR(optimizer(2), 0.5, last_epoch=2)
except KeyError as e:
    print(str(e)[:60])
