"""Modules that hold modules or parameters."""

from __future__ import annotations


import operator
from collections import OrderedDict
from itertools import islice

import torchlite as torch
from torchlite.nn.parameter import Parameter
from .module import Module, _addindent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from ...nn.utils.parametrize import ParametrizationList


__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


class Container(Module):
    """Deprecated; kept for old code."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        import warnings

        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass that "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


def _index(i: int, size: int) -> int:
    i = operator.index(i)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range")
    return i % size


class Sequential(Module):
    """Runs its modules one after the other. Args: modules, or one OrderedDict of named modules."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _get_item_by_idx(self, iterator: Any, idx: int) -> Any:
        return next(islice(iterator, _index(idx, len(self)), None))

    def _key(self, i: int) -> str:
        return self._get_item_by_idx(self._modules, i)

    def __getitem__(self, idx: int) -> Module:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: Any, module: Any) -> None:
        setattr(self, self._key(idx), module)

    def _renumber(self) -> None:
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __delitem__(self, idx: Any) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {str(type(other))} is given."
            )
        ret = Sequential()
        for layer in self:
            ret.append(layer)
        for layer in other:
            ret.append(layer)
        return ret

    def __iadd__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {str(type(other))} is given."
            )
        offset = len(self)
        for i, module in enumerate(other):
            self.add_module(str(i + offset), module)
        return self

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        combined = Sequential()
        for _ in range(other):
            for module in self:
                combined.append(module)
        return combined

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Any:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        n = len(self)
        for i in range(1, other):
            for k in range(n):
                self.add_module(str(k + i * n), self[k])
        return self

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def __iter__(self) -> Any:
        return iter(self._modules.values())

    def forward(self, input):  # type: ignore[no-untyped-def]  # torch.fx copies annotations, and PyTorch has none
        """Feeds `input` through every module in turn."""
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module: Any) -> Any:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: Any, module: Any) -> Any:
        """Puts a module before position `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += n
        for i in range(n, index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential: Any) -> Any:
        """Adds every module of another Sequential."""
        for layer in sequential:
            self.append(layer)
        return self

    def pop(self, key: Any) -> Any:
        """Removes and returns the module at `key`."""
        v = self[key]
        del self[key]
        return v


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: list[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_index(idx, len(self)))

    def __getitem__(self, idx: int) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: Any, module: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: Any) -> None:
        if isinstance(idx, slice):
            for k in range(len(self._modules))[idx]:
                delattr(self, str(k))
        else:
            delattr(self, self._get_abs_string_index(idx))
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Any:
        return iter(self._modules.values())

    def __iadd__(self, modules: Any) -> ModuleList | ParametrizationList:
        return self.extend(modules)

    def __add__(self, other: Any) -> Any:
        combined = ModuleList()
        for i, module in enumerate([*self, *other]):
            combined.add_module(str(i), module)
        return combined

    def __repr__(self) -> Any:
        """Equal neighbours are shown once, with their range."""
        reprs = [repr(m) for m in self]
        if not reprs:
            return self._get_name() + "()"
        blocks: list[Any] = []  # [first, last, repr]
        for i, r in enumerate(reprs):
            if blocks and blocks[-1][2] == r:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, r])
        lines = []
        for start, end, r in blocks:
            line = f"({start}): {r}" if start == end else f"({start}-{end}): {end - start + 1} x {r}"
            lines.append(_addindent(line, 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def insert(self, index: Any, module: Any) -> None:
        """Puts a module before position `index`."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Any) -> Any:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Removes and returns the module at `key`."""
        v = self[key]
        del self[key]
        return v

    def extend(self, modules: list[Any]) -> Any:
        """Adds every module of an iterable."""
        if not hasattr(modules, "__iter__"):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self


def _pairs(what: Any, value: Any) -> list[tuple[str, int]]:
    # the (key, value) pairs of a mapping or of an iterable of pairs, in PyTorch's order
    if not hasattr(value, "__iter__"):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got " + type(value).__name__
        )
    if hasattr(value, "items") and (isinstance(value, dict) or hasattr(value, "keys")):
        return list(value.items())
    pairs = []
    for j, m in enumerate(value):
        if not hasattr(m, "__iter__"):
            raise TypeError(f"{what} update sequence element #{j} should be Iterable; is{type(m).__name__}")
        if len(m) != 2:
            raise ValueError(f"{what} update sequence element #{j} has length {len(m)}; 2 is required")
        pairs.append((m[0], m[1]))
    return pairs


class ModuleDict(Module):
    """A dictionary of modules with string keys."""

    def __init__(self, modules: dict[str, int] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> ParametrizationList:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Any:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes everything."""
        self._modules.clear()

    def pop(self, key: Any) -> Any:
        """Removes and returns the module at `key`."""
        v = self[key]
        del self[key]
        return v

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: dict[str, int]) -> None:
        """Adds the pairs of a mapping or iterable."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


class ParameterList(Module):
    """A list of parameters; plain tensors become parameters, other values are kept as they are."""

    def __init__(self, values: list[int] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx: int) -> str:
        return str(_index(idx, len(self)))

    def __getitem__(self, idx: int) -> Any:
        if isinstance(idx, slice):
            out = self.__class__()
            for i in range(len(self))[idx]:
                out.append(self[i])
            return out
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: int) -> None:
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, self._get_abs_string_index(idx), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Any:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: list[int]) -> ParameterList:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if not k.isdigit()]

    def append(self, value: Any) -> Any:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: list[int]) -> Any:
        """Adds every value of an iterable."""
        if not hasattr(values, "__iter__") or isinstance(values, torch.Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got " + type(values).__name__)
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> Any:
        return "\n".join(_describe(k, p) for k, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


def _describe(k: Any, p: Any, name: Any = lambda p: p.dtype) -> str:
    if isinstance(p, torch.Tensor):
        size = "x".join(str(s) for s in p.size())
        device = "" if p.device.type == "cpu" else f" ({p.device})"
        kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
        return f"  ({k}): {kind} containing: [{name(p)} of size {size}{device}]"
    return f"  ({k}): Object of type: {type(p).__name__}"


class ParameterDict(Module):
    """A dictionary of parameters with string keys; plain tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attr(self, key: Any) -> Any:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, self._attr(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._keys[key] = None
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._attr(key), value)

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        delattr(self, self._attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Any:
        return iter(self._keys)

    def __reversed__(self) -> Any:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def copy(self) -> Any:
        """A new ParameterDict with the same values."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value at `key`, set to `default` first when absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes everything."""
        for k in self._keys.copy():
            del self[k]

    def pop(self, key: Any) -> Any:
        """Removes and returns the value at `key`."""
        v = self[key]
        del self[key]
        return v

    def popitem(self) -> Any:
        """Removes and returns the last (key, value)."""
        k, _ = self._keys.popitem()
        self._keys[k] = None
        v = self[k]
        del self[k]
        return k, v

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default

    def fromkeys(self, keys: Any, default: Any = None) -> Any:
        return ParameterDict((k, default) for k in keys)

    def keys(self) -> Any:
        return self._keys.keys()

    def items(self) -> Any:
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Any:
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds the pairs of a mapping or iterable; a plain dict is taken in sorted order of its keys."""
        pairs = _pairs("ParameterDict", parameters)
        if type(parameters) is dict:
            pairs.sort(key=lambda kv: kv[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> Any:
        return "\n".join(_describe(k, p, torch.typename) for k, p in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> Any:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: Any) -> Any:
        copy = ParameterDict(other)
        copy.update(self)
        return copy

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self
