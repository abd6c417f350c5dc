"""Deep Q-learning: replay memory, epsilon-greedy, a target network with soft updates, Huber loss,
gradient value clipping."""

import math
import random
from collections import deque, namedtuple
from itertools import count

import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
random.seed(7)
torch.manual_seed(7)


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class Pole:
    """A stick to balance, without friction."""

    def reset(self):
        self.x = [random.uniform(-0.05, 0.05) for _ in range(2)]
        return list(self.x)

    def step(self, action):
        angle, speed = self.x
        speed += 0.1 * (9.8 * math.sin(angle) + (3.0 if action else -3.0))
        angle += 0.1 * speed
        self.x = [angle, speed]
        return list(self.x), 1.0, abs(angle) > 0.6


policy_net = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2))
target_net = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2))
print(target_net.load_state_dict(policy_net.state_dict()))
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory, env, BATCH, GAMMA, TAU, steps_done = ReplayMemory(1000), Pole(), 16, 0.95, 0.05, 0


def select_action(state):
    global steps_done
    eps = 0.05 + 0.85 * math.exp(-steps_done / 60)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH:
        return None
    batch = Transition(*zip(*memory.sample(BATCH)))
    mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    next_states = torch.cat([s for s in batch.next_state if s is not None])
    q = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(BATCH)
    with torch.no_grad():
        next_values[mask] = target_net(next_states).max(1).values
    expected = next_values * GAMMA + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(q, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


for episode in range(12):
    state = torch.tensor(env.reset(), dtype=torch.float32).unsqueeze(0)
    for t in count():
        action = select_action(state)
        obs, reward, done = env.step(action.item())
        next_state = None if done else torch.tensor(obs, dtype=torch.float32).unsqueeze(0)
        memory.push(state, action, next_state, torch.tensor([reward]))
        state = next_state
        loss = optimize_model()
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
        target_net.load_state_dict(target_state)
        if done or t >= 40:
            break
    print(f"episode {episode} duration {t + 1} loss {loss if loss is None else round(loss, 6)}")
