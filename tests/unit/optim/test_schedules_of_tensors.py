"""Schedules copy the tensors that they are made of: changing one later changes no schedule. Compared with PyTorch."""

import pytest
from alike import alike

HEAD = (
    "import copy; lr, high, low, top = [torch.tensor(v) for v in (0.1, 0.2, 0.8, 0.9)]\n"
    "p = nn.Parameter(torch.ones(1)); o = torch.optim.SGD([p], lr=lr, momentum=0.5); S = torch.optim.lr_scheduler\n"
)
TAIL = (
    "\nseen = []\n"
    "for i in range(4):\n"
    "    for t in (lr, high, low, top): t.mul_(0.5)\n"
    "    (p * 2).sum().backward(); o.step(); s.step(); g = o.param_groups[0]\n"
    "    seen.append([float(g[k]) for k in sorted(g) if k.endswith(('lr', 'momentum'))])\n"
    "seen"
)


@pytest.mark.parametrize(
    "schedule",
    [
        "S.CyclicLR(o, lr, high, step_size_up=2, base_momentum=low, max_momentum=top)",
        "S.OneCycleLR(o, max_lr=high, total_steps=10, base_momentum=low, max_momentum=top)",
        "S.OneCycleLR(o, max_lr=[high], total_steps=10, anneal_strategy='linear')",
        "torch.optim.swa_utils.SWALR(o, swa_lr=high, anneal_epochs=3)",
        "S.StepLR(o, 2)",
        "S.SequentialLR(o, [S.ChainedScheduler([S.LinearLR(o, 0.1), S.ConstantLR(o, 0.1)]), S.ConstantLR(o)], [2])",
    ],
)
def test_numbers(schedule):
    alike(HEAD + "s = " + schedule + TAIL)


def test_states_of_older_versions():
    alike(
        HEAD + "s = S.OneCycleLR(o, max_lr=25, total_steps=10); del s._anneal_func_type; d = s.state_dict()\n"
        "d['anneal_func'] = S.OneCycleLR._annealing_cos; s.load_state_dict(d); s.step(); s.step(); s.get_last_lr()"
    )


def test_warning_by_name():
    alike("torch.optim.lr_scheduler.EPOCH_DEPRECATION_WARNING")
