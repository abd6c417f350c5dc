"""A cart learns to balance a pole: reinforcement learning, an actor and a critic that see 64 carts at a time.

The cart is pushed to the left or to the right, fifty times a second. It learns from one number only: how long the pole
stays up. Then it plays; in the page, push it.
"""

import math
import time

import torch
from torch import nn
from torch.distributions import Categorical

UPDATES = 150
CARTS = 64
STEPS = 32  # of each cart, between two updates
DISCOUNT = 0.99
TRACE = 0.95  # how far the advantage looks ahead
EPOCHS = 6  # how often it learns from the same steps
WORTH = 50  # a game's worth in the critic's unit
LONGEST = 500  # steps of a game
SECONDS = 60  # to play afterwards

torch.manual_seed(1)


def start(count):
    """Carts near the middle: place, speed, angle of the pole, its speed."""
    return torch.rand(count, 4) * 0.1 - 0.05


def move(carts, push):
    """The carts a fiftieth of a second later. push: +-1 for each."""
    x, v, angle, turn = carts.unbind(1)
    sine, cosine = angle.sin(), angle.cos()
    force = (10 * push + 0.05 * turn**2 * sine) / 1.1
    turning = (9.8 * sine - cosine * force) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    speeding = force - 0.05 * turning * cosine / 1.1
    return torch.stack([x + 0.02 * v, v + 0.02 * speeding, angle + 0.02 * turn, turn + 0.02 * turning], dim=1)


def lost(carts):
    """Whose cart ran out of the rails, or whose pole leans by more than 12 degrees."""
    return (carts[:, 0].abs() > 2.4) | (carts[:, 2].abs() > math.radians(12))


actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=5e-3)

schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, UPDATES)

carts = start(CARTS)
age = torch.zeros(CARTS)
lengths = []  # of the games that ended
for update in range(1, UPDATES + 1):
    seen, pushed, ended, cut = [], [], [], []
    for _ in range(STEPS):
        with torch.no_grad():
            push = Categorical(logits=actor(carts)).sample()
        seen.append(carts)
        pushed.append(push)
        carts = move(carts, 2.0 * push - 1)
        age += 1
        over = lost(carts)
        stop = over | (age >= LONGEST)
        ended.append(over)
        cut.append(stop)
        lengths += age[stop].tolist()
        carts = torch.where(stop[:, None], start(CARTS), carts)
        age = torch.where(stop, 0.0, age)
    states, pushes = torch.stack(seen), torch.stack(pushed)
    with torch.no_grad():
        before = Categorical(logits=actor(states)).log_prob(pushes)
        values = critic(torch.cat([states, carts[None]])).squeeze(2) * WORTH
        advantage, rows = torch.zeros(CARTS), []
        for t in reversed(range(STEPS)):
            # the game goes on, ends at LONGEST (worth what it was worth), or is lost (worth nothing)
            ahead = torch.where(cut[t], torch.where(ended[t], 0.0, values[t]), values[t + 1])
            advantage = 1 + DISCOUNT * ahead - values[t] + DISCOUNT * TRACE * advantage * ~cut[t]
            rows.append(advantage)
        advantages = torch.stack(rows[::-1])
        goals = (values[:-1] + advantages) / WORTH
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    for _ in range(EPOCHS):
        policy = Categorical(logits=actor(states))
        ratio = (policy.log_prob(pushes) - before).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        loss = -gain - 0.005 * policy.entropy().mean() + (goals - critic(states).squeeze(2)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
        optimizer.step()
    schedule.step()
    if update % 10 == 0:
        late = lengths[-CARTS:]
        print(f"update {update}: the pole stays up for {sum(late) / len(late):.0f} steps")

print(f"\nNow it plays, for {SECONDS} s.")
carts = start(1)
nudge = 0.0  # the page sets it: a push from outside
began = time.perf_counter()
games = 0
while time.perf_counter() - began < SECONDS:
    with torch.no_grad():
        push = actor(carts).argmax(1)
    carts = move(carts, 2.0 * push - 1 + nudge)
    nudge = 0.0
    if lost(carts).item():
        games += 1
        print(f"The pole fell after {time.perf_counter() - began:.1f} s.")
        carts = start(1)
    time.sleep(0.02)
