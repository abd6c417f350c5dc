"""Generators and their states: seeds, forks, states across calls of every kind of random function."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

DRAWS = """\
torch.rand({n}{g})|torch.randn({n}{g})|torch.randint(0, 10, ({n},){g})|torch.randperm({n}{g})
torch.randint(2**40, ({n},){g})|torch.rand({n}{g}, dtype=torch.float64)
torch.randn({n}{g}, dtype=torch.float64)|torch.rand({n}{g}, dtype=torch.bfloat16)
torch.randn({n}{g}, dtype=torch.complex64)|torch.randn({n}{g}, dtype=torch.float16)
torch.empty({n}).normal_(1, 2{g})|torch.empty({n}).uniform_(-1, 1{g})
torch.empty({n}).exponential_(2{g})|torch.empty({n}).cauchy_(0, 1{g})
torch.empty({n}).log_normal_(0, 1{g})|torch.empty({n}).geometric_(0.3{g})
torch.empty({n}).bernoulli_(0.3{g})|torch.empty({n}, dtype=torch.int64).random_(5{g})
torch.empty({n}).random_({g0})|torch.empty({n}, dtype=torch.int8).random_({g0})
torch.empty({n}, dtype=torch.float64).normal_({g0})|torch.empty({n}, 2).t().normal_({g0})
torch.empty({n}, 2).t().uniform_({g0})|torch.bernoulli(torch.full(({n},), 0.5){g})
torch.multinomial(torch.arange(1.0, 6), 3{g})|torch.poisson(torch.full(({n},), 3.0){g})
torch.multinomial(torch.arange(1.0, 6), {n} + 1, True{g})|torch.normal(0.0, torch.ones({n}){g})
torch.normal(torch.zeros({n}), 1.0{g})|torch.normal(0.0, 1.0, ({n},){g})
torch.binomial(torch.full(({n},), 9.0), torch.full(({n},), 0.4){g})|torch.rand({n}, {n}{g})
torch.empty({n}, dtype=torch.int64).random_(-5, 5{g})
torch.empty({n}).bernoulli_(torch.full(({n},), 0.5){g})
torch.empty({n}, dtype=torch.float64).exponential_({g0})|torch.randn({n}{g}, requires_grad=True)
torch.rand((){g})""".replace("\n", "|").split("|")
GLOBAL = """\
torch.rand_like(torch.ones({n}))|torch.randn_like(torch.ones({n}, dtype=torch.float64))
torch.randint_like(torch.ones({n}), 9)|F.dropout(torch.ones({n}), 0.4)
F.rrelu(-torch.ones({n}), training=True)|F.alpha_dropout(torch.ones({n}), 0.4)
F.gumbel_softmax(torch.ones({n}))|nn.Linear({n} + 1, 2).weight
nn.init.orthogonal_(torch.empty(3, {n} + 1))|nn.init.trunc_normal_(torch.empty({n}))
torch.distributions.Gamma(2.0, 1.0).sample(({n},))|torch.distributions.Normal(0.0, 1.0).sample(({n},))
torch.distributions.Categorical(torch.ones(4)).sample(({n},))
torch.distributions.Dirichlet(torch.ones(3)).sample()|torch.empty(3, {n} + 1).normal_()
nn.init.kaiming_normal_(torch.empty(3, {n} + 1))|nn.init.sparse_(torch.empty(4, {n} + 1), 0.5)
F.dropout2d(torch.ones(1, {n} + 1, 2, 2))|nn.LSTM(2, 3).weight_hh_l0|nn.Conv2d(2, 3, 2).bias
nn.Embedding(3, 2).weight|torch.pca_lowrank(torch.ones(4, 4))[1].shape|torch.rand(())""".replace("\n", "|").split("|")
STATES = """\
s = torch.get_rng_state()
torch.set_rng_state(s)
torch.manual_seed({seed})
torch.random.manual_seed(-{seed})
out.append(torch.initial_seed())
out.append(torch.default_generator.initial_seed())
g.manual_seed({seed})
g.set_state(t)
t = g.get_state()
g.set_state(torch.get_rng_state())
torch.set_rng_state(g.get_state())
out.append(g.initial_seed())
out.append(t)
out.append(s.sum())
g = g.clone_state()
g = torch.Generator().manual_seed({seed})
g.graphsafe_set_state(g)
out.append(g.device)
with torch.random.fork_rng(): out.append(torch.rand(2))
with torch.random.fork_rng(enabled=False): out.append(torch.rand(2))
torch.set_rng_state(s[:10])
torch.set_rng_state(s.float())
torch.set_rng_state(None)
g.manual_seed('a')
g.manual_seed(1.5)
g.manual_seed(2**64)
torch.manual_seed(2**63 + 5)
torch.manual_seed(-1)
out.append(torch.rand(2, generator=3))
out.append(repr(g)[:20])
import copy; g = copy.deepcopy(g)
import pickle; g = pickle.loads(pickle.dumps(g))
g = torch.Generator(device='cpu')
g = torch.Generator('meta')
torch.seed() and torch.manual_seed(1)""".splitlines()


def draw(r: Random) -> Case:
    lines = ["g = torch.Generator()", "t = g.get_state()", "s = torch.get_rng_state()", "out = []"]
    for _ in range(r.randint(2, 6)):
        n = r.choice([0, 1, 2, 5, 15, 16, 17, 40])
        if chance(r, 0.4):
            lines.append(r.choice(STATES).format(seed=r.choice([0, 1, 42, 2**32, 2**40 + 3])))
        elif chance(r, 0.3):
            lines.append(f"out.append({r.choice(GLOBAL).format(n=n)})")
        else:
            own = chance(r)
            line = r.choice(DRAWS).format(n=n, g=", generator=g" * own, g0="generator=g" * own)
            lines.append(f"out.append({line})")
    lines.append("out += [torch.rand(1), torch.rand(1, generator=g)]")
    return code("\n".join(lines), rounding=4)
