"""torch.utils.weak: dicts whose keys are told apart by identity and may go away."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any
from weakref import ref

from torchlite import Tensor

WeakRef = ref
__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference whose hash is the object's id; two are equal when their object is the same."""

    __slots__ = ["_id"]
    _id: int

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        a, b = self(), other()
        return self is other if a is None or b is None else a is b


class _WeakHashRef(WeakIdRef):
    """A weak reference with the hash and the equality of its object."""

    __slots__ = ()

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)
        self._id = hash(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        a, b = self(), other()
        return self is other if a is None or b is None else a == b


class WeakIdKeyDictionary(MutableMapping):
    """A dict whose keys are kept weakly and told apart by identity. ref_type: of the references to them."""

    data: dict[Any, Any]

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data, self.ref_type = {}, ref_type
        itself = ref(self)

        def remove(key: Any) -> None:
            found = itself()
            if found is not None:
                found.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # no weak references to it
            return False

    def __iter__(self) -> Iterator[Any]:
        for key in self.keyrefs():
            found = key()
            if found is not None:
                yield found

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        while True:
            key, value = self.data.popitem()
            found = key()
            if found is not None:
                return found, value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.data.setdefault(self.ref_type(key, self._remove), default)

    def update(self, dict: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        if dict is not None:
            if not hasattr(dict, "items"):
                dict = type({})(dict)
            for key, value in dict.items():
                self[key] = value
        if kwargs:
            self.update(kwargs)

    def copy(self) -> WeakIdKeyDictionary:
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(self)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        made = self.__class__()
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __repr__(self) -> str:
        return "<%s at %#x>" % (type(self).__name__, id(self))

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.__class__()
        made.update(other)
        made.update(self)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError("expected torch.Tensor, got %s." % type(tensor))
        self.ref = ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
