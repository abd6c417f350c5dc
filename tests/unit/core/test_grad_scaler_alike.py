"""GradScaler and its two functions, line by line beside PyTorch."""

from alike import alike, cases

START = (
    "p = nn.Parameter(torch.ones(2)); o = torch.optim.SGD([p], .1); "
    "s = torch.amp.GradScaler('cpu', init_scale=4., growth_interval=2); "
)


@cases("""
s._scale, s._growth_tracker, s.get_scale(), s.state_dict()
s.scale(p.sum()).backward(); s.step(o); s.update(); p, s._scale, s._growth_tracker
r = [];
    [(o.zero_grad(), s.scale(p.sum()).backward(), s.step(o), s.update(), r.append(s.get_scale())) for _ in range(5)]; r
s.scale(p.sum() * math.inf).backward(); s.step(o); s.update(); p, s._scale, s._growth_tracker
s.scale(p.sum()).backward(); s.unscale_(o); p.grad, s._per_optimizer_states[id(o)]['stage'].name
s.scale(p.sum()).backward(); s.unscale_(o); s.unscale_(o)
s.scale(p.sum()).backward(); s.step(o); s.step(o)
s.scale(p.sum()).backward(); s.step(o); s.unscale_(o)
s.scale(p.sum()).backward(); s.step(o, closure=3)
s.step(o)
s.update()
s.scale(p.sum()); s.update()
s.scale(p.sum()); s.step(o)
s.scale(p.sum()); s.update(8.); s._scale
s.scale(p.sum()); s.update(torch.tensor(8.)); s._scale
s.scale(p.sum()); s.update(torch.ones(2))
s.scale([p, (p, p)]), list(s.scale(x for x in (p, p)))
s.scale(3)
t = torch.amp.GradScaler('cpu', init_scale=6.); t.scale(p); t.load_state_dict(s.state_dict()); t._scale, t.state_dict()
s.load_state_dict({})
import pickle; s.scale(p); t = pickle.loads(pickle.dumps(s)); t._scale, t.get_scale(), t.state_dict()
import copy; s.scale(p.sum()).backward(); s.unscale_(o); copy.deepcopy(s)
p.grad = torch.ones(2); s.scale(p); list(s._unscale_grads_(o, torch.tensor(.5),
    torch.tensor(0.), False).values()), p.grad
s.scale(p.sum() / 0).backward(); list(s._check_inf_per_device(o).values()), p.grad
h = nn.Parameter(torch.ones(2).half()); h.grad = torch.ones(2).half(); s.scale(p); s.unscale_(torch.optim.SGD([h], .1))
torch.amp.GradScaler('cpu', growth_factor=1.)
torch.amp.GradScaler('cpu', backoff_factor=1.)
t = torch.amp.GradScaler('cpu', enabled=False); t.scale(p), t.get_scale(), t.state_dict(), t.is_enabled()
s.__class__.__module__, torch.amp.grad_scaler.OptState.READY.value
""")
def test_scaler(line):
    alike(START + line)


@cases("""
f = torch.zeros(1); g = [torch.ones(2), torch.tensor([3.])];
    torch._amp_foreach_non_finite_check_and_unscale_(g, f, torch.tensor([.5])); f, g
f = torch.zeros(1); g = [torch.tensor([math.nan, 1.])];
    torch._amp_foreach_non_finite_check_and_unscale_(g, f, torch.tensor([.5])); f, g
torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(2)], torch.zeros(2), torch.tensor([.5]))
torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(2)], torch.zeros(1), torch.tensor([1]))
s, t = torch.tensor([4.]), torch.zeros(1, dtype=torch.int);
    torch._amp_update_scale_(s, t, torch.zeros(1), 2., .5, 1), t
s, t = torch.tensor([4.]), torch.ones(1, dtype=torch.int);
    torch._amp_update_scale_(s, t, torch.ones(1), 2., .5, 1), t
s, t = torch.tensor([3e38]), torch.zeros(1, dtype=torch.int);
    torch._amp_update_scale_(s, t, torch.zeros(1), 2., .5, 1)
torch._amp_update_scale_(torch.ones(1), torch.ones(1), torch.zeros(1), 2., .5, 1)
""")
def test_functions(line):
    alike(line)
