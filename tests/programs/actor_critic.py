"""REINFORCE and actor-critic on a corridor with torch.distributions: Categorical and Normal policies."""

from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Independent, Normal, kl_divergence

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
eps = 1e-8


class Corridor:
    """Walk right to the end of five cells."""

    def reset(self):
        self.pos, self.t = 0, 0
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(self.pos), 5).float()

    def step(self, action):
        self.pos = max(0, min(4, self.pos + (1 if action == 1 else -1)))
        self.t += 1
        done = self.pos == 4 or self.t >= 20
        return self.state(), (1.0 if self.pos == 4 else -0.1), done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(5, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


torch.manual_seed(543)
model = Policy()
optimizer = optim.Adam(model.parameters(), lr=3e-2)
env = Corridor()
for episode in range(12):
    state, done, entropy = env.reset(), False, 0
    while not done:
        probs, value = model(state)
        m = Categorical(probs)
        action = m.sample()
        entropy = entropy + m.entropy()
        model.saved_actions.append(SavedAction(m.log_prob(action), value))
        state, reward, done = env.step(action.item())
        model.rewards.append(reward)
    R, returns = 0, []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum() - 0.01 * entropy
    loss.backward()
    optimizer.step()
    print(f"episode {episode} steps {len(model.rewards)} loss {loss.item():.5f}")
    del model.rewards[:]
    del model.saved_actions[:]

# A Gaussian policy: reach a target, clipped surrogate as in PPO
mean_net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
log_std = nn.Parameter(torch.zeros(2))
opt = optim.Adam([*mean_net.parameters(), log_std], lr=1e-2)
for it in range(6):
    obs = torch.randn(32, 2)
    with torch.no_grad():
        old = Independent(Normal(mean_net(obs), log_std.exp()), 1)
        act = old.sample()
        old_logp = old.log_prob(act)
        reward = -(act - obs).pow(2).sum(-1)
        adv = (reward - reward.mean()) / (reward.std() + 1e-8)
    for _ in range(2):
        new = Independent(Normal(mean_net(obs), log_std.exp()), 1)
        ratio = (new.log_prob(act) - old_logp).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() - 0.01 * new.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(
        f"ppo {it} reward {reward.mean().item():.5f} loss {loss.item():.6f} kl "
        f"{kl_divergence(old, new).mean().item():.6f}"
    )
