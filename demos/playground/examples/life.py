"""Conway's Game of Life as one convolution: a cell lives with three neighbours, or with two if it lived before."""

# %% The rule
import torch
import torch.nn.functional as F

NEIGHBOURS = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])[None, None]


def step(world):
    padded = F.pad(world[None, None], (1, 1, 1, 1), mode="circular")
    count = F.conv2d(padded, NEIGHBOURS)[0, 0]
    return ((count == 3) | ((count == 2) & (world == 1))).float()


# %% A glider moves one cell down and to the right in four steps
world = torch.zeros(8, 8)
for y, x in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]:
    world[y, x] = 1
for _ in range(5):
    print("\n".join("".join(".#"[int(cell)] for cell in row) for row in world.tolist()), end="\n\n")
    world = step(world)

# %% A soup of 128 by 128 cells
torch.manual_seed(1)
soup = (torch.rand(128, 128) < 0.3).float()
frames = []
for generation in range(121):
    if generation % 40 == 0:
        print(f"generation {generation:3d}: {int(soup.sum())} cells live")
        frames.append(soup)
    soup = step(soup)
torch.stack(frames)
