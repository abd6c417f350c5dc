"""torch.func: transforms of transforms, trees, auxiliary results, functions that close over what requires grad."""

import warnings

from alike import alike, cases, torch

with warnings.catch_warnings():  # of what PyTorch loads for its first jvp
    warnings.simplefilter("ignore")
    torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))

LEAD = (
    "tf = torch.func; x = torch.tensor([0.5, -1.5, 2.], dtype=torch.float64); y = x.clone().requires_grad_(); "
    "m = torch.stack([x, x * 2 + 1]); l = nn.Linear(3, 1).double(); l.weight.data.fill_(0.5); "
    "l.bias.data.fill_(1); "
)


@cases("""
tf.grad(lambda v: tf.vmap(lambda u: u.sin() * u)(v).sum())(x)
tf.vmap(tf.grad(lambda v: (v.sin() * v).sum()))(m)
tf.vmap(tf.grad(lambda v, w: (v.sin() * w).sum(), argnums=(0, 1)), in_dims=(0, None))(m, x)
tf.grad(tf.grad(lambda v: v ** 3))(x[0])
tf.grad(lambda v: tf.grad(lambda u: (u ** 3 * v).sum())(v).sum())(x)
tf.grad(lambda v: tf.jacrev(lambda u: u ** 2 * v)(v).sum())(x)
tf.jacrev(tf.grad(lambda v: (v ** 3).sum()))(x)
tf.jacrev(tf.vmap(lambda v: v ** 3))(m)
tf.vmap(tf.jacrev(lambda v: v ** 3))(m)
tf.vmap(lambda v: tf.vjp(lambda u: u ** 3, v)[1](v)[0])(m)
tf.vmap(lambda v: tf.jvp(tf.grad(lambda u: (u ** 3).sum()), (v,), (x,))[1])(m)
tf.jvp(tf.vmap(lambda v: v ** 3), (m,), (m,))
(tf.jacfwd(tf.jacrev(lambda v: (v ** 3).sum()))(x) + 0).contiguous()
(tf.vmap(tf.hessian(lambda v: (v ** 3).sum()))(m) + 0).contiguous()
(tf.hessian(lambda v: v ** 3)(x) + 0).contiguous()
[[(b + 0).contiguous() for b in r] for r in tf.hessian(lambda v, w: (v ** 3 * w).sum(), argnums=(0, 1))(x, x + 1)]
[(v + 0).contiguous() for r in tf.hessian(lambda d: (d['a'] ** 2 * d['b']).sum())({'a': x, 'b': x}).values()
    for v in r.values()]
tf.jacrev(lambda v: {'a': v * 2, 'b': v.sum()})(x)
tf.jacrev(lambda d: d['a'] * d['b'])({'a': x, 'b': x + 1})
tf.jacrev(lambda v, w: (v * w, w.sum()), argnums=(0, 1))(x, x)
tf.jacfwd(lambda v, w: v.sum() * w.sum(), argnums=(0,))(x, x)
tf.jacrev(lambda v: (v * 2, {'aux': v}), has_aux=True)(x)
tf.jacrev(lambda v: v.sum())(x[:0])
tf.jacrev(lambda v: v * 2, chunk_size=2)(x)
tf.vjp(lambda v: {'a': v * 2, 'b': v.sum()}, x)[1]({'a': x, 'b': x[0]})
tf.vjp(lambda d: d['a'] * d['b'], {'a': x, 'b': x})[1](x)
tf.vjp(lambda v: (v.sin(), v), x, has_aux=True)[::2]
tf.jvp(lambda v: (v.sin(), v * 2), (x,), (x,), has_aux=True)
tf.jvp(lambda d: {'a': d['a'] ** 2}, ({'a': x},), ({'a': x},))
tf.jvp(lambda v: torch.ones(2), (x,), (x,))
tf.grad(lambda v: (v.sum(), {'a': v, 'b': [v * 2]}), has_aux=True)(x)
tf.grad_and_value(lambda v: ((v ** 2).sum(), v), has_aux=True)(x)
tf.grad(lambda v, w: v.sum() * w.sum(), argnums=(-1, 0))(x, x + 1)
tf.grad(lambda v: v.long().sum())(x)
tf.grad(lambda v: torch.ones(()))(x)
tf.grad(lambda v: v.detach().sum())(x)
""")
def test_transforms(line):
    alike(LEAD + line)


@cases("""
g = tf.grad(lambda v: (l(v) ** 2).sum())(x); g.sum().backward(); g, l.weight.grad.tolist()
g = tf.vmap(tf.grad(lambda v: (l(v) ** 2).sum()))(m); g.sum().backward(); g, l.weight.grad.tolist()
g = tf.jacrev(lambda v: l(v) ** 2)(x); g.sum().backward(); g, l.weight.grad.tolist()
g = tf.hessian(lambda v: (l(v) ** 3).sum())(x); g.sum().backward(); g.requires_grad, l.weight.grad.tolist()
o, p = tf.vjp(lambda v: l(v) ** 3, x); g, = p(torch.ones(1).double()); (g.sum() + o.sum()).backward();
    o, g, l.weight.grad.tolist()
o, g = tf.jvp(lambda v: l(v) ** 3, (x,), (x,)); (g.sum() + o.sum()).backward();
    o.requires_grad, g.requires_grad, l.weight.grad.tolist()
g, o = tf.grad_and_value(lambda v: (l(v) ** 3).sum())(x); (g.sum() + o).backward(); o, g, l.weight.grad.tolist()
tf.grad(lambda v: y.sum() * v.sum())(x)
tf.grad(lambda v: (y * v).sum())(y)
tf.grad_and_value(lambda v: ((v * v).sum() + y.sum(), y * v), has_aux=True)(x)
z = y * 2; g = tf.grad(lambda v: (v ** 3).sum())(z); g.sum().backward(); y.grad
c = torch.no_grad(); c.__enter__();
    r = tf.grad(lambda v: (y * v).sum())(x), tf.jacrev(lambda v: y * v)(x), tf.vjp(lambda v: y * v, x)[1](x);
    c.__exit__(None, None, None); r
""")
def test_what_a_function_closes_over_keeps_its_history(line):
    alike(LEAD + line)


@cases("""
tf.grad(lambda v: v)(x)
tf.grad(lambda v: 3)(x)
tf.grad(lambda v: v.sum())(3.0)
tf.grad(lambda v: v.sum())(x.long())
tf.grad(lambda v: v.sum(), has_aux=True)(x)
tf.grad(lambda v: (v.sum(), 3), has_aux=True)(x)
tf.grad(lambda v: v.sum(), argnums=())(x)
tf.grad(lambda v: v.sum(), argnums=2)(x)
tf.grad(lambda v, w: v.sum(), argnums=(-1, 1))(x, x)
tf.grad(lambda v, w: v.sum(), argnums=[0])(x, x)
tf.jacrev(lambda v: v, argnums='a')(x)
tf.jacrev(lambda v: v, argnums=1)(x)
tf.jacrev(lambda v: v, chunk_size=0)(x)
tf.jacrev(lambda v: 3)(x)
tf.jacrev(lambda v: v.long())(x)
tf.jacrev(lambda v: v)(torch.tensor([1j]))
tf.jacrev(lambda v: torch.complex(v, v))(x)
tf.jacfwd(lambda v: v)(torch.tensor([1j]))
tf.hessian(lambda v: v.abs().sum())(torch.tensor([1j]))
tf.vjp(lambda v: (v.sin(), v.cos()), x)[1](x)
tf.vjp(lambda v: v.sin(), x)[1](x[:2])
tf.vjp(lambda v: (v.sin(), 5), x, has_aux=True)
tf.vjp(lambda v: v, x, has_aux=True)
tf.vjp(lambda v: None, x)
tf.vjp(lambda v: [], x)
tf.jvp(lambda v: v, x, x)
tf.jvp(lambda v: v, (x,), (x[:2],))
tf.jvp(lambda v: v, (), ())
tf.jvp(lambda v: (v, 1), (x,), (x,))
tf.jvp(lambda v: torch.ones(2), (x,), (x,), strict=True)
""")
def test_errors(line):
    alike(LEAD + line)
