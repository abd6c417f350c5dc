"""FlopCounterMode and ModuleTracker beside PyTorch's."""

import pytest
from alike import alike

HEAD = """import warnings; from torch.utils.flop_counter import FlopCounterMode, register_flop_formula
def counted(f):
    with FlopCounterMode(display=False) as c: f()
    return {k: {str(op): n for op, n in v.items()} for k, v in c.get_flop_counts().items()}
def t(*shape): return torch.ones(*shape, requires_grad=True)
"""

PROGRAMS = """
counted(lambda: torch.mm(t(4, 5), t(5, 6)))
counted(lambda: torch.bmm(t(3, 4, 5), t(3, 5, 6)))
counted(lambda: torch.addmm(t(6), t(4, 5), t(5, 6)).sum().backward())
counted(lambda: torch.baddbmm(t(3, 4, 6), t(3, 4, 5), t(3, 5, 6)))
counted(lambda: t(4, 5) + t(4, 5))
counted(lambda: F.conv2d(t(2, 3, 6, 6), t(6, 3, 4, 4), padding=1).sum().backward())
counted(lambda: F.conv1d(t(2, 4, 6), t(6, 2, 3), groups=2).sum().backward())
counted(lambda: F.conv_transpose2d(t(2, 3, 6, 6), t(3, 5, 4, 4), stride=2).sum().backward())
counted(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))(t(5, 3)).sum().backward())
counted(lambda: torch.einsum('ab,bc->ac', t(6, 7), t(7, 8)))
counted(lambda: torch.ones(3, 4, device='meta') @ torch.ones(4, 5, device='meta'))
register_flop_formula('mm')(len)
register_flop_formula(torch.ops.aten.mm)(len)
""".strip().split("\n")


@pytest.mark.parametrize("line", PROGRAMS)
def test_counts(line):
    alike(HEAD + line)


def test_modules_that_run():
    import torchlite as torch
    from torchlite.utils.module_tracker import ModuleTracker

    seen = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    with ModuleTracker() as tracker:
        net[1].register_forward_pre_hook(lambda *args: seen.append((sorted(tracker.parents), tracker.is_bw)))
        net[0].weight.register_hook(lambda g: seen.append((sorted(tracker.parents), tracker.is_bw)))
        net(torch.ones(1, 2)).sum().backward()
    assert seen[0] == (["Global", "Sequential", "Sequential.1"], False)
    assert seen[1] == (["Global", "Sequential", "Sequential.0"], True) and tracker.parents == {"Global"}


def test_table():
    import torchlite as torch
    from torchlite.utils.flop_counter import FlopCounterMode

    net = torch.nn.Sequential(torch.nn.Linear(300, 400), torch.nn.Linear(400, 20))
    with FlopCounterMode(display=False) as counter:
        net(torch.ones(50, 300))
    assert counter.get_total_flops() == 12_800_000
    assert counter.get_table().split("\n") == [
        "Module             FLOP  % Total",
        "--------------  -------  -------",
        "Sequential      12.800M  100.00%",
        " - aten.addmm   12.800M  100.00%",
        " Sequential.0   12.000M   93.75%",
        "  - aten.addmm  12.000M   93.75%",
        " Sequential.1    0.800M    6.25%",
        "  - aten.addmm   0.800M    6.25%",
    ]
