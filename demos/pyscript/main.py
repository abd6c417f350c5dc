import asyncio

import torch
from pyscript import document, when
from torch import nn

STEPS = 600


def spots(x, y):
    """Places in the chart (640x400) of x in -3..3 and y in -2..2."""
    across = ((x.flatten() + 3) / 6 * 640).tolist()
    down = ((2 - y.flatten()) / 4 * 400).tolist()
    return zip(across, down)


def draw_points(x, y):
    dots = (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"/>' for a, b in spots(x, y))
    document.getElementById("points").innerHTML = "".join(dots)


@torch.no_grad()
def draw_curve(model, x):
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in spots(x, model(x)))
    document.getElementById("fit").setAttribute("d", "M" + path)


def say(text):
    document.getElementById("status").textContent = text


async def train():
    x = torch.rand(80, 1) * 6 - 3
    y = torch.sin(2 * x) * (1 + x / 6) + 0.15 * torch.randn(80, 1)
    grid = torch.linspace(-3, 3, 161).unsqueeze(1)
    draw_points(x, y)

    model = nn.Sequential(
        nn.Linear(1, 32),
        nn.Tanh(),
        nn.Linear(32, 32),
        nn.Tanh(),
        nn.Linear(32, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            draw_curve(model, grid)
            say(f"step {step} of {STEPS}, loss {loss.item():.4f}")
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
