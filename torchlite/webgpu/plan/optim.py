"""Steps of optimizers and clipping on webgpu: in place, several tensors in a dispatch, little Python for each.

sgd and adam return the positions of parameters that they leave to the Python loop: those that are not dense float32.
"""

from __future__ import annotations


import torchlite as torch

from ... import _C
from ..transport import bridge
from ..lazy import stream
from ..lazy.expression import before_write, operand, result
from ..lazy.graph import fresh, reduce, tree
from ..lazy.stream import FLUSH_WORDS, PLAN, command, family, float_word, flush, launch, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from ..._types import Buffer, Tensor


_sgd_plan = family("sgd", "count", "momentum", "nesterov", "maximize", "first")
_adam_plan = family("adam", "count", "amsgrad", "decoupled", "maximize")
_many_plan = family("many", "count", "op")
_owners = _C.kernels["_optim_owners"]
_sizes = _C.kernels["_optim_sizes"]
_changed = _C.kernels["_optim_changed"]
_steps = _C.kernels["_optim_steps"]


def _settle(read: list[Buffer], written: list[Buffer | None]) -> tuple[list[int], list[int | None]]:
    """Runs all pending expressions that read or make one of these buffers; the handles of both lists."""
    for b in written:
        if b is not None:
            before_write(b)
    return [b and ready(b) for b in read], [b and ready(b) for b in written]


def _room() -> Any:
    """How many buffers a kernel can bind."""
    if _limit[0] != stream.core.epoch():
        _limit[:] = stream.core.epoch(), bridge.current.info()["limits"]["maxStorageBuffersPerShaderStage"]
    return _limit[1]


_limit = [None, 0]
MOST = 8  # parameters in one dispatch: longer kernels take longer to compile


def _run_all(
    plan: Callable[..., int],
    options: tuple[Any, ...],
    jobs: list[tuple[int, tuple[Any, ...]]],
    per: int,
    words: list[int] | tuple[int, ...],
    beside: int = 0,
    alone: bool = True,
    before: list[int] | tuple[()] = (),
) -> None:
    """Runs a family on jobs (length, handles), as many in a dispatch as there is room for."""
    most = min(MOST, max(1, (_room() - beside) // per))
    if len({h for _, handles in jobs for h in handles}) < sum([len(handles) for _, handles in jobs]):
        most = 1  # a tensor given twice: one after the other
    for k in range(0, len(jobs), most):
        part = jobs[k : k + most]
        count = len(part)
        number = plan(None if alone and count == 1 else count, *options)
        handles = [*before, *[h for _, handles in part for h in handles]]
        stream.words.extend(
            command(
                PLAN,
                number,
                len(handles) | (count + len(words)) << 8,
                *handles,
                *[n for n, _ in part],
                *words,
            )
        )
    if len(stream.words) > FLUSH_WORDS:
        flush()


def sgd(
    params: list[Tensor],
    grads: list[Tensor],
    bufs: Any,
    state: Any,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> list[Any]:
    """bufs: momentum buffers, None for those that begin with this step; [] without momentum."""
    n = len(params)
    weights, slopes = _owners(params, params), _owners(grads, params)
    if bufs:
        speeds = _owners([params[i] if b is None else b for i, b in enumerate(bufs)], params)
    else:
        speeds = [None] * n
    usable = [
        weights[i] is not None and slopes[i] is not None and (not bufs or speeds[i] is not None) for i in range(n)
    ]
    sizes = _sizes(params)
    made = {}
    for i in range(n):
        if usable[i] and bufs and bufs[i] is None:
            t, _ = fresh(tuple(params[i].shape), params[i].dtype)
            made[i] = t
            speeds[i] = _C.geometry(t)[0]
    read, written = _settle(
        [b if u else None for b, u in zip(slopes, usable)],
        [b if u else None for b, u in zip(weights + speeds, usable + usable)],
    )
    numbers = [float_word(x) for x in (lr, weight_decay, momentum, 1 - dampening)]
    left: list[int] = []
    done: list[Tensor] = []
    jobs: tuple[list[Any], list[Any]] = [], []
    for i in range(n):
        if not usable[i]:
            left.append(i)
            continue
        numel = sizes[i]
        if numel:
            jobs[i in made].append((numel, (read[i], written[i], written[n + i]) if bufs else (read[i], written[i])))
        done.append(params[i])
        if i in made:
            state[params[i]]["momentum_buffer"] = made[i]
        elif bufs:
            done.append(bufs[i])
    for first in (False, True):
        options = bool(bufs), bool(nesterov), bool(maximize), first
        _run_all(_sgd_plan, options, jobs[first], 3 if bufs else 2, numbers)
    _changed(done)
    return left


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    avgs: list[Tensor],
    squares: list[Tensor],
    tops: list[Any],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
) -> list[Any]:
    """steps: counts on the CPU, which this adds to."""
    n = len(params)
    lists = [params, avgs, squares] + ([tops] if amsgrad else [])
    owners = [_owners(x, params) for x in lists]
    slopes = _owners(grads, params)
    usable = [None not in each for each in zip(slopes, *owners)]
    sizes = _sizes(params)
    if not any(usable):
        return list(range(n))
    counts = _steps([s if u else None for s, u in zip(steps, usable)])
    read, written = _settle(
        [b if u else None for b, u in zip(slopes, usable)],
        [b if u else None for o in owners for b, u in zip(o, usable)],
    )
    fixed = [
        float_word(x)
        for x in (
            1 - lr * weight_decay if decoupled else 1.0,
            0.0 if decoupled else weight_decay,
            1 - beta1,
            beta2,
            1 - beta2,
        )
    ]
    left: list[int] = []
    done: list[Tensor] = []
    jobs: dict[Any, list[Any]] = {}
    for i in range(n):
        if not usable[i] or counts[i] is None:
            left.append(i)
            continue
        numel = sizes[i]
        if numel:
            jobs.setdefault(counts[i], []).append((numel, (read[i], *written[i::n])))
        done.extend([x[i] for x in lists])
    options = bool(amsgrad), bool(decoupled), bool(maximize)
    for t, own in jobs.items():
        _run_all(
            _adam_plan,
            options,
            own,
            1 + len(lists),
            (*fixed, float_word(lr / (1 - beta1**t)), float_word((1 - beta2**t) ** 0.5), float_word(eps)),
        )
    _changed(done)
    return left


# ---- clipping --------------------------------------------------------------------------------------------------------
def total_norm(tensors: list[Tensor]) -> Tensor | None:
    """The 2-norm of all tensors together; None unless all are dense float32 on webgpu."""
    owners = _owners(tensors, tensors)
    if None in owners:
        return None
    handles, _ = _settle(owners, [])
    jobs = [(n, h) for n, h in zip(_sizes(tensors), handles) if n]
    if not jobs:
        return None
    most = min(MOST, _room() - 1)
    parts = [jobs[k : k + most] for k in range(0, len(jobs), most)]
    groups = [min(256, -(-sum([n for n, _ in part]) // 4096)) for part in parts]
    sums, out = fresh((sum(groups),), torch.float32)
    at = 0
    for part, m in zip(parts, groups):
        launch(_many_plan(len(part), "squares"), [*[h for _, h in part], out], [*[n for n, _ in part], m, at])
        at += m
    (total,) = reduce((0,), [(sums, (), (1,))], (("sum", 0, torch.float32),), (), (at,))
    return result(tree("sqrt", operand(total, ()), shape=()), torch.float32)


def scale(tensors: list[Tensor], factor: Tensor) -> list[Any]:
    """Multiplies tensors by a number on webgpu, in place; returns those that it leaves as they are."""
    owners, by = _owners(tensors, tensors), _owners([factor], [factor])
    if by[0] is None or factor.numel() != 1:
        return tensors
    read, written = _settle(by, owners)
    jobs = [(n, (h,)) for n, h in zip(_sizes(tensors), written) if h is not None and n]
    _run_all(_many_plan, ("scale",), jobs, 1, (0,), 1, False, read)
    _changed([t for t, h in zip(tensors, written) if h is not None])
    return [t for t, h in zip(tensors, written) if h is None]
