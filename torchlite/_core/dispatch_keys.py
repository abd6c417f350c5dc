"""torch._C.DispatchKeySet, and the guard with which the kernel of an operator switches itself off.

Of the keys only autocast's choose a kernel here; the others are names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

excluded: set[str] = set()  # names of the keys whose kernels are passed over
below_autograd = [0]  # guards within which the kernels of the Autograd keys are


class DispatchKeySet:
    """A set of dispatch keys."""

    __module__ = "torch._C"

    def __init__(self, keys: Any) -> None:
        self._keys: frozenset[Any] = frozenset([keys] if hasattr(keys, "name") else keys)

    def _with(self, keys: Iterable[Any]) -> DispatchKeySet:
        return DispatchKeySet(list(keys))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(self._keys - other._keys)

    def add(self, key: Any) -> DispatchKeySet:
        return self._with(self._keys | {key})

    def remove(self, key: Any) -> DispatchKeySet:
        return self._with(self._keys - {key})

    def has(self, key: Any) -> bool:
        return key in self._keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return "DispatchKeySet(%s)" % ", ".join(sorted(k.name for k in self._keys))


class ExcludeDispatchKeyGuard:
    """Within `with`, no kernel for these keys runs."""

    __module__ = "torch._C"

    def __init__(self, keys: DispatchKeySet) -> None:
        self._names = {key.name for key in keys._keys}
        other = sorted(name for name in self._names if not name.startswith("Autocast"))
        if other:
            raise NotImplementedError(
                "torchlite passes over the kernels of autocast only, not those of %s; torch.no_grad() and "
                "torch.overrides have guards of their own" % ", ".join(other)
            )

    def __enter__(self) -> None:
        self._before = set(excluded)
        excluded.update(self._names)

    def __exit__(self, *exc: object) -> None:
        excluded.clear()
        excluded.update(self._before)
