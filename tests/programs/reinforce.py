"""REINFORCE with a running reward on a cart and pole simulated here; the same by a baseline and entropy bonus."""

import math
from collections import deque
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Bernoulli, Categorical

eps = torch.finfo(torch.float32).eps


class CartPole:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def reset(self):
        self.state = torch.rand(4, generator=self.generator).mul_(0.1).sub_(0.05).tolist()
        return self.state

    def step(self, action):
        x, v, angle, w = self.state
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        temp = (force + 0.05 * w * w * sin) / 1.1
        angular = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
        acceleration = temp - 0.05 * angular * cos / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * acceleration, angle + 0.02 * w, w + 0.02 * angular]
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state, 1.0, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


policy = None


def select_action(state):
    state = torch.tensor(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(optimizer):
    R = 0
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_loss = torch.cat([-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


torch.manual_seed(543)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
env, running_reward = CartPole(3), 10
for i_episode in range(8):
    state, ep_reward = env.reset(), 0
    for t in count(1):
        state, reward, done = env.step(select_action(state))
        policy.rewards.append(reward)
        ep_reward += reward
        if done or t >= 60:
            break
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    loss = finish_episode(optimizer)
    print("Episode {}\tLast reward: {:.2f}\tAverage reward: {:.3f}\tloss {:.4f}".format(
        i_episode, ep_reward, running_reward, loss))  # fmt: skip

gate = nn.Linear(4, 1)
baseline = torch.zeros(())
opt = optim.SGD(gate.parameters(), lr=0.05, momentum=0.9)
for episode in range(5):
    state, log_probs, entropies = env.reset(), [], []
    for t in range(40):
        dist = Bernoulli(logits=gate(torch.as_tensor(state)).squeeze(-1))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        entropies.append(dist.entropy())
        state, _, done = env.step(int(a))
        if done:
            break
    advantage = len(log_probs) - baseline
    baseline.lerp_(torch.tensor(float(len(log_probs))), 0.2)
    loss = -torch.stack(log_probs).sum() * advantage / 40 - 0.01 * torch.stack(entropies).mean()
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
    print(f"bernoulli {episode} steps {len(log_probs)} loss {loss.item():.5f} baseline {baseline.item():.4f}")
