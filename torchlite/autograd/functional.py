"""Jacobians, Hessians and their products: torch.autograd.functional."""

import torchlite as torch


def _many(x):
    return (x, False) if isinstance(x, tuple) else ((x,) if isinstance(x, torch.Tensor) else tuple(x), isinstance(x, torch.Tensor))


def _prepare(inputs, create_graph):
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _call(func, inputs):
    out = func(*inputs)
    outs, single = _many(out)
    return outs, single


def _finish(values, single, create_graph):
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return values[0] if single else tuple(values)


def _grad(outs, inputs, gos, create_graph):
    pairs = [(o, g) for o, g in zip(outs, gos) if o.requires_grad]
    if not pairs:
        return tuple(torch.zeros_like(i) for i in inputs)
    gs = torch.autograd.grad([o for o, _ in pairs], inputs, [g for _, g in pairs], create_graph=create_graph, retain_graph=True, allow_unused=True)
    return tuple(torch.zeros_like(i) if g is None else g for g, i in zip(gs, inputs))


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J)"""
    with torch.enable_grad():
        ins, single_in = _many(inputs)
        ins = _prepare(ins, create_graph)
        outs, single_out = _call(func, ins)
        if v is None:
            if len(outs) != 1 or outs[0].numel() != 1:
                raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single element.")
            v = torch.ones_like(outs[0])
        vs, _ = _many(v)
        gs = _grad(outs, ins, vs, create_graph)
    return _finish(outs, single_out, create_graph), _finish(gs, single_in, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v), by differentiating the vjp once more"""
    with torch.enable_grad():
        ins, single_in = _many(inputs)
        ins = _prepare(ins, create_graph)
        if v is None:
            if len(ins) != 1 or ins[0].numel() != 1:
                raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.")
            v = torch.ones_like(ins[0])
        vs, _ = _many(v)
        outs, single_out = _call(func, ins)
        dummies = tuple(torch.zeros_like(o, requires_grad=True) for o in outs)
        gs = _grad(outs, ins, dummies, True)
        js = _grad(gs, dummies, vs, create_graph)
    return _finish(outs, single_out, create_graph), _finish(js, single_out, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """J[i][j]: outputs' shape followed by inputs' shape."""
    with torch.enable_grad():
        ins, single_in = _many(inputs)
        ins = _prepare(ins, create_graph)
        outs, single_out = _call(func, ins)
        rows = []
        for o in outs:
            parts = [[] for _ in ins]
            for k in range(o.numel()):
                unit = torch.zeros(o.numel(), dtype=o.dtype, device=o.device)
                unit[k] = 1
                for j, g in enumerate(_grad((o,), ins, (unit.reshape(o.shape),), create_graph)):
                    parts[j].append(g)
            blocks = tuple(torch.stack(p).reshape(o.shape + i.shape) if p else torch.zeros(o.shape + i.shape, dtype=o.dtype, device=o.device) for p, i in zip(parts, ins))
            rows.append(_finish(blocks, single_in, create_graph))
    return rows[0] if single_out else tuple(rows)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """H[i][j] of a function with a single scalar output."""
    ins, single_in = _many(inputs)

    def first(*xs):
        out = func(*xs)
        if not isinstance(out, torch.Tensor) or out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return _grad((out.reshape(()),), xs, (torch.ones((), dtype=out.dtype, device=out.device),), True)

    h = jacobian(first, tuple(ins), create_graph=create_graph)
    return h[0][0] if single_in else h


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H)"""
    return hvp(func, inputs, v, create_graph, strict)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v)"""
    with torch.enable_grad():
        ins, single_in = _many(inputs)
        ins = _prepare(ins, create_graph)
        outs, single_out = _call(func, ins)
        vs, _ = _many(v if v is not None else torch.ones_like(ins[0]))
        gs = _grad(outs, ins, (torch.ones_like(outs[0]),), True)
        hv = _grad(gs, ins, vs, create_graph)
    return _finish(outs, single_out, create_graph), _finish(hv, single_in, create_graph)
