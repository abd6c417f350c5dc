"""Comparison of analytical gradients with central differences: gradcheck, gradgradcheck."""

import torchlite as torch


class GradcheckError(RuntimeError):
    """Analytical and numerical gradients disagree."""


def _outputs(func, inputs):
    out = func(*inputs)
    outs = (out,) if isinstance(out, torch.Tensor) else tuple(out)
    return [o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad]


def _numerical(func, inputs, x, outs_n, eps):
    """d outs / d x by central differences; columns over the (real and imaginary) components of x."""
    flat = x.data              # its changes are undone and do not count as changes of x
    directions = [1.0, 1.0j] if x.is_complex() else [1.0]
    columns = []
    for k in range(flat.numel()):
        index = []
        rest = k
        for s in reversed(flat.shape):
            index.append(rest % s)
            rest //= s
        index = tuple(reversed(index))
        for d in directions:
            keep = flat[index].item()
            with torch.no_grad():
                flat[index] = keep + d * eps
                up = [o.detach().clone() for o in _outputs_nograd(func, inputs, outs_n)]
                flat[index] = keep - d * eps
                down = [o.detach().clone() for o in _outputs_nograd(func, inputs, outs_n)]
                flat[index] = keep
            columns.append([(u - v) / (2 * eps) for u, v in zip(up, down)])
    return columns


def _outputs_nograd(func, inputs, mask):
    out = func(*inputs)
    outs = (out,) if isinstance(out, torch.Tensor) else tuple(out)
    return [outs[i] for i in mask]


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """True when the gradients of func's outputs agree with central differences to atol + rtol * |numerical|.

    inputs: double or complex128 tensors (those that require grad are checked).
    """
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    checked = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    out = func(*inputs)
    all_outs = (out,) if isinstance(out, torch.Tensor) else tuple(out)
    mask = [i for i, o in enumerate(all_outs) if isinstance(o, torch.Tensor) and (o.dtype.is_floating_point or o.dtype.is_complex)]
    try:
        for n, x in enumerate(checked):
            numeric = _numerical(func, inputs, x, mask, eps)
            for j, i in enumerate(mask):
                o = all_outs[i]
                if not o.requires_grad:
                    if any(bool((c[j].abs() > atol).any()) for c in numeric):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
                    continue
                _compare(o, i, x, n, [c[j] for c in numeric], atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(o, i, x, n, columns, atol, rtol):
    per = 2 if x.is_complex() else 1
    for k in range(o.numel()):
        units = [1.0, 1.0j] if o.is_complex() else [1.0]
        for unit in units:
            go = torch.zeros(o.numel(), dtype=o.dtype, device=o.device)
            go[k] = unit
            go = go.reshape(o.shape)
            g = torch.autograd.grad(o, x, go, retain_graph=True, allow_unused=True)[0]
            got = torch.zeros_like(x) if g is None else g
            values = got.reshape(-1).tolist()
            for c, value in enumerate(values):
                parts = [value.real, value.imag] if per == 2 else [value]
                for p, analytical in enumerate(parts):
                    d = complex(columns[c * per + p].reshape(-1)[k].item())
                    numeric = d.imag if unit == 1.0j else d.real
                    if not abs(analytical - numeric) <= atol + rtol * abs(numeric):
                        raise GradcheckError("Jacobian mismatch for output %d with respect to input %d,\nnumerical:%r\nanalytical:%r\n"
                                             "(output element %d, input element %d)" % (i, n, numeric, analytical, k, c))


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """gradcheck of the gradients themselves."""
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    outs = _outputs(func, inputs)
    if grad_outputs is None:
        grad_outputs = [torch.randn_like(o).detach().requires_grad_() for o in outs]
    grad_outputs = (grad_outputs,) if isinstance(grad_outputs, torch.Tensor) else tuple(grad_outputs)
    count = len(grad_outputs)
    picked = [i for i, t in enumerate(inputs) if isinstance(t, torch.Tensor) and t.requires_grad]

    def gradients(*args):
        ins, gos = args[:-count], args[-count:]
        with torch.enable_grad():
            outs = _outputs(func, ins)
            gs = torch.autograd.grad(outs, [ins[i] for i in picked], gos, create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(gradients, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
