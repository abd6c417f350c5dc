"""What a type checker makes of a user's program; never run. `make check` reads it with warn_unused_ignores, so a
mistake that mypy no longer finds fails there as well."""

import torchlite as torch
from torchlite import nn
from torchlite.nn import functional as F


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(2, width)
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.linear(x)) * self.scale


def train(net: Net, x: torch.Tensor, y: torch.Tensor) -> float:
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        best: torch.Tensor = net(x).max(dim=1).values
    sign, logabsdet = torch.linalg.slogdet(torch.eye(2))
    return float(loss.item() + best.sum().item() + torch.linalg.norm(x).item() + sign.item() + x.norm().item())


def mistakes(x: torch.Tensor) -> None:
    torch.reluu(x)  # type: ignore[attr-defined]
    torch.linalg.normm(x)  # type: ignore[attr-defined]
    F.padd(x, (1, 1))  # type: ignore[attr-defined]
    x.summ()  # type: ignore[attr-defined]
    torch.cat([x], dimm=0)  # type: ignore[call-arg]
    print(x.max(dim=1).value)  # type: ignore[attr-defined]
