"""Steps of optimizers on webgpu: one kernel a parameter, in place, and little Python for each.

The functions return the positions of parameters that they leave to the Python loop: those that are not dense float32.
"""

from .. import _C
from . import _stream
from ._graph import compact, fresh, number
from ._fusion import reads
from ._stream import FLUSH_WORDS, PLAN, float_word, flush, ready

_owners = _C.kernels["_optim_owners"]
_changed = _C.kernels["_optim_changed"]
_steps = _C.kernels["_optim_steps"]


def _settle(read, written):
    """Everything that was put off and reads or makes one of these buffers is run; the handles of both lists."""
    if _stream.live:
        keys = {id(b) for b in written if b is not None}
        for ref in list(_stream.live.values()):
            other = ref()
            if other is not None and other.pending is not None and reads(other.pending, keys):
                ready(other)
    return [b and ready(b) for b in read], [b and ready(b) for b in written]


def _run(plan, handles, words):
    _stream.words.extend((PLAN | (3 + len(handles) + len(words)) << 8, plan, len(handles) | len(words) << 8, *handles, *words))


def sgd(params, grads, bufs, state, weight_decay, momentum, lr, dampening, nesterov, maximize):
    """bufs: momentum buffers, None for those that begin with this step; [] without momentum."""
    n = len(params)
    weights, slopes = _owners(params), _owners(grads)
    speeds = _owners([params[i] if b is None else b for i, b in enumerate(bufs)]) if bufs else [None] * n
    usable = [weights[i] is not None and slopes[i] is not None and (not bufs or speeds[i] is not None) and params[i].shape == grads[i].shape
              and (not bufs or bufs[i] is None or bufs[i].shape == params[i].shape) for i in range(n)]
    made = {}
    for i in range(n):
        if usable[i] and bufs and bufs[i] is None:
            t, _ = fresh(tuple(params[i].shape), params[i].dtype, params[i].numel())
            made[i] = t
            speeds[i] = _C.geometry(t)[0]
    read, written = _settle([b if u else None for b, u in zip(slopes, usable)],
                            [b if u else None for b, u in zip(weights + speeds, usable + usable)])
    numbers = [float_word(x) for x in (lr, weight_decay, momentum, 1 - dampening)]
    options = {"momentum": bool(bufs), "nesterov": bool(nesterov), "maximize": bool(maximize)}
    plans = [number(("sgd", first, *options.values()), lambda first=first: compact("sgd", first=first, **options)) if bufs or not first else 0
             for first in (False, True)]
    left, done = [], []
    for i in range(n):
        if not usable[i]:
            left.append(i)
            continue
        numel = params[i].numel()
        if numel:
            handles = (read[i], written[i], written[n + i]) if bufs else (read[i], written[i])
            _run(plans[i in made], handles, (numel, *numbers))
        done.append(params[i])
        if i in made:
            state[params[i]]["momentum_buffer"] = made[i]
        elif bufs:
            done.append(bufs[i])
    if len(_stream.words) > FLUSH_WORDS:
        flush()
    _changed(done)
    return left


def adam(params, grads, avgs, squares, tops, steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled):
    """steps: counts on the CPU, which this adds to."""
    n = len(params)
    lists = [params, avgs, squares] + ([tops] if amsgrad else [])
    owners = [_owners(x) for x in lists]
    slopes = _owners(grads)
    usable = [slopes[i] is not None and all(o[i] is not None for o in owners) and grads[i].shape == params[i].shape
              and all(x[i].numel() == params[i].numel() for x in lists) for i in range(n)]
    if not any(usable):
        return list(range(n))
    counts = _steps([s if u else None for s, u in zip(steps, usable)])
    read, written = _settle([b if u else None for b, u in zip(slopes, usable)], [b if u else None for o in owners for b, u in zip(o, usable)])
    plan = number(("adam", bool(amsgrad), bool(decoupled), bool(maximize)),
                  lambda: compact("adam", amsgrad=bool(amsgrad), decoupled=bool(decoupled), maximize=bool(maximize)))
    fixed = [float_word(x) for x in (1 - lr * weight_decay if decoupled else 1.0, 0.0 if decoupled else weight_decay, 1 - beta1, beta2, 1 - beta2)]
    eps = float_word(eps)
    left, done, numbers = [], [], {}
    for i in range(n):
        if not usable[i] or counts[i] is None:
            left.append(i)
            continue
        t = counts[i]
        if t not in numbers:
            numbers[t] = (*fixed, float_word(lr / (1 - beta1 ** t)), float_word((1 - beta2 ** t) ** 0.5), eps)
        numel = params[i].numel()
        if numel:
            _run(plan, (read[i], *written[i::n]), (numel, *numbers[t]))
        done.extend([x[i] for x in lists])
    if len(_stream.words) > FLUSH_WORDS:
        flush()
    _changed(done)
    return left
