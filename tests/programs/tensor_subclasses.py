"""Extending torch by __torch_function__: metadata tensors, logging modes, scalar tensors, a class without a base."""

import functools
from collections import Counter

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, is_tensor_like, resolve_name

HANDLED_FUNCTIONS = {}


def implements(torch_function):
    def decorator(func):
        functools.update_wrapper(func, torch_function)
        HANDLED_FUNCTIONS[torch_function] = func
        return func

    return decorator


class ScalarTensor:
    """N times N, a value on the diagonal."""

    def __init__(self, N, value):
        self._N, self._value = N, value

    def __repr__(self):
        return f"ScalarTensor(N={self._N}, value={self._value})"

    def tensor(self):
        return self._value * torch.eye(self._N)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED_FUNCTIONS or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED_FUNCTIONS[func](*args, **(kwargs or {}))


def ensure_tensor(data):
    return data.tensor() if isinstance(data, ScalarTensor) else torch.as_tensor(data)


@implements(torch.mean)
def mean(input):
    return float(input._value) / input._N


@implements(torch.add)
def add(input, other):
    if isinstance(input, ScalarTensor) and isinstance(other, ScalarTensor) and input._N == other._N:
        return ScalarTensor(input._N, input._value + other._value)
    return torch.add(ensure_tensor(input), ensure_tensor(other))


@implements(torch.matmul)
def matmul(a, b):
    return torch.matmul(ensure_tensor(a), ensure_tensor(b))


d = ScalarTensor(3, 2)
print(d, torch.mean(d), torch.add(d, d), torch.add(d, torch.ones(3, 3)).sum(), torch.matmul(torch.ones(1, 3), d))
try:
    torch.mul(d, 3)
except TypeError as e:
    print(str(e).splitlines()[0])


class MetadataTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, data, metadata=None):
        out = torch.as_tensor(data).as_subclass(cls)
        out._metadata = metadata
        return out

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = [a._metadata for a in args if isinstance(a, cls) and getattr(a, "_metadata", None)]
        ret = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(ret, cls) and found:
            ret._metadata = "+".join(dict.fromkeys(found))
        return ret


m = MetadataTensor([[1.0, 2], [3, 4]], metadata="owner")
n = MetadataTensor(torch.eye(2), metadata="other")
r = (m @ n).t()[0]
print(
    type(r).__name__,
    r._metadata,
    (m + 1)._metadata,
    type(torch.ones(2) + m).__name__,
    m.sum().item(),
    type(m.shape).__name__,
)
w = torch.ones(2, 2, requires_grad=True)
loss = torch.nn.functional.mse_loss(w * m, n)
loss.backward()
print(type(loss).__name__, loss._metadata, w.grad, type(w.grad).__name__)
print(
    type(m.split(1)[0]).__name__,
    isinstance(m.data, MetadataTensor),
    m.clone().add_(1)._metadata,
    torch.Tensor(m).__class__.__name__,
)


class LoggingTensor(torch.Tensor):
    log = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs)


a = torch.arange(4.0).as_subclass(LoggingTensor)
b = (a[1:] * 2).sqrt().sum()
_ = a.shape, a.requires_grad
torch.stack([a, a]).mean(dim=0, keepdim=True).max()
print(LoggingTensor.log, type(b).__name__)


class CountMode(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.counts[resolve_name(func) or func.__name__] += 1
        return func(*args, **(kwargs or {}))


class OnesMode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.zeros:
            func = torch.ones
        return func(*args, **(kwargs or {}))


layer = torch.nn.Linear(2, 2)
with CountMode() as counting:
    torch.nn.functional.relu(layer(torch.zeros(1, 2))).sum().backward()
print(sorted(counting.counts.items()))
with OnesMode():
    print(torch.zeros(2), torch.zeros_like(torch.ones(1)))


def own_function(x, scale=1):
    if has_torch_function((x,)):
        return handle_torch_function(own_function, (x,), x, scale=scale)
    return x * scale


class Duck:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, [t.__name__ for t in types], kwargs


print(own_function(torch.ones(1), 3), own_function(Duck(), scale=2), torch.add(1, Duck()), is_tensor_like(Duck()))
print(
    torch.add(torch.ones(1), Duck(), alpha=2),
    torch.Tensor.add(torch.ones(1), Duck()),
    torch.cat([torch.ones(1), Duck()])[0],
)
with torch._C.DisableTorchFunctionSubclass():
    print(type(m + 1).__name__, type(m).__name__)


class Quantity(torch.Tensor):
    """Values with units, which multiply."""

    @staticmethod
    def __new__(cls, value, **units):
        q = torch.as_tensor(value, dtype=torch.float32).as_subclass(cls)
        q.units = units
        return q

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        units = [getattr(a, "units", {}) for a in args[:2]]
        out = super().__torch_function__(func, types, args, kwargs)
        if func in (torch.Tensor.mul, torch.mul, torch.Tensor.div, torch.Tensor.__rmul__) and isinstance(out, cls):
            sign = -1 if func is torch.Tensor.div else 1
            left, right = units[0], units[1] if len(units) > 1 else {}
            out.units = {k: left.get(k, 0) + sign * right.get(k, 0) for k in sorted({*left, *right})}
        elif func in (torch.Tensor.add, torch.Tensor.sub):
            if units[0] != units[1]:
                raise ValueError(f"units differ: {units[0]} and {units[1]}")
            out.units = units[0]
        return out


speed = Quantity([10.0, 20.0], m=1) / Quantity(2.0, s=1)
print(speed.units, (speed * speed).units, (2 * speed).tolist(), (speed + speed).units)
try:
    speed + Quantity(1.0, m=1)
except ValueError as e:
    print(e)
print(
    torch.nn.Parameter(torch.ones(2)).__class__.__name__,
    isinstance(torch.nn.Parameter(m), MetadataTensor),
    torch.is_tensor(speed),
)
