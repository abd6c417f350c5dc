import asyncio

import torch
from pyscript import document, when
from torch import nn

STEPS = 600


def place(x, y):
    """From x in -3..3 and y in -2..2 to the chart's 640x400."""
    return f"{(x + 3) / 6 * 640:.1f}", f"{(2 - y) / 4 * 400:.1f}"


def draw_points(x, y):
    spots = (place(a, b) for a, b in zip(x.flatten().tolist(), y.flatten().tolist()))
    document.getElementById("points").innerHTML = "".join(f'<circle cx="{a}" cy="{b}" r="4"/>' for a, b in spots)


def draw_curve(model, grid):
    with torch.no_grad():
        values = model(grid)
    spots = (" ".join(place(a, b)) for a, b in zip(grid.flatten().tolist(), values.flatten().tolist()))
    document.getElementById("fit").setAttribute("d", "M" + "L".join(spots))


async def train():
    x = torch.rand(80, 1) * 6 - 3
    y = torch.sin(2 * x) * (1 + x / 6) + 0.15 * torch.randn(80, 1)
    grid = torch.linspace(-3, 3, 161).unsqueeze(1)
    draw_points(x, y)

    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            draw_curve(model, grid)
            document.getElementById("status").textContent = f"step {step} of {STEPS}, loss {loss.item():.4f}"
            await asyncio.sleep(0)  # the page draws


async def start():
    again = document.getElementById("again")
    again.disabled = True
    await train()
    again.disabled = False


@when("click", "#again")
async def clicked(event):
    await start()


torch.manual_seed(0)
await start()
