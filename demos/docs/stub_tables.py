"""What demos/docs/stubs.py writes that no declaration says: Python's words for schema types, and C types by hand."""

from __future__ import annotations

TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "_str",
    "int[]": "_int | Sequence[_int]",
    "float[]": "Sequence[_float]",
    "bool[]": "Sequence[_bool]",
    "Scalar[]": "Sequence[_Number]",
    "ScalarType": "_dtype",
    "Device": "_device | _str | _int",
    "Generator": "Any",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Any": "Any",
}
RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "tuple[Tensor, ...]",
    "Scalar": "_Number",
    "int": "_int",
    "bool": "_bool",
    "float": "_float",
    "ScalarType": "_dtype",
    "()": "None",
}
# attributes of tensors that are not declared ops
ATTRIBUTES = {
    "shape": "Size",
    "dtype": "_dtype",
    "device": "_device",
    "grad": "Tensor | None",
    "requires_grad": "_bool",
    "is_leaf": "_bool",
    "grad_fn": "Any",
    "data": "Tensor",
    "T": "Tensor",
    "mT": "Tensor",
    "H": "Tensor",
    "ndim": "_int",
    "is_cpu": "_bool",
    "itemsize": "_int",
    "nbytes": "_int",
    "_storage": "Any",
    "_version": "_int",
    "_base": "Any",
    "_meta": "Any",
}
READ_ONLY = {"shape", "dtype", "device", "is_leaf", "T", "mT", "H", "ndim", "is_cpu"}
PLAIN = {
    "size": "(self, dim: _int | None = None) -> Any",
    "stride": "(self, dim: _int | None = None) -> Any",
    "dim": "(self) -> _int",
    "numel": "(self) -> _int",
    "item": "(self) -> Any",
    "tolist": "(self) -> Any",
    "numpy": "(self, *, force: _bool = False) -> Any",
    "is_contiguous": "(self, memory_format: _memory_format = ...) -> _bool",
    "data_ptr": "(self) -> _int",
    "element_size": "(self) -> _int",
    "requires_grad_": "(self, requires_grad: _bool = True) -> Tensor",
    "backward": "(self, gradient: Tensor | None = None, "
    "retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None",
    "detach_": "(self) -> Tensor",
    "storage_offset": "(self) -> _int",
    "is_floating_point": "(self) -> _bool",
    "is_complex": "(self) -> _bool",
    "__len__": "(self) -> _int",
    "__bool__": "(self) -> _bool",
    "__int__": "(self) -> _int",
    "__float__": "(self) -> _float",
    "__getitem__": "(self, index: Any) -> Tensor",
    "__setitem__": "(self, index: Any, value: Any) -> None",
}
BINARY = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and or xor lt "
    "le gt ge eq ne iadd isub imul itruediv"
)
CONSTANTS = {
    "dtype": "_dtype",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "float": "_float",
    "str": "_str",
}
# types of the core that the package's own code names; what else it has is Any
CORE_TYPES = """class Overload:
    schema: _str
    kernel: _str | None
    body: Callable[..., Any] | None
    spec: Any
    flags: _int
    calls: _int
    params: Any
    inplace: Overload | None
    recording: tuple[Any, ...] | None
    def __init__(
        self, schema: _str, kernel: _str | None, body: Callable[..., Any] | None, spec: Any, flags: _int
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Op:
    overloads: list[Overload]
    is_method: _bool
    takes_out: _bool
    in_python: _bool
    __name__: _str
    __qualname__: _str
    def __init__(self, name: _str, overloads: list[Overload], takes_out: _bool) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class OpMethod(Op): ...

class NodeBase:
    next: Any
    seq: _int
    outs: Any
    metadata_: Any
    pre_hooks: Any
    post_hooks: Any
    retain: Any
    trace: Any
    faces: Any
    def __init__(self, *args: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
    def __setattr__(self, name: _str, value: Any) -> None: ...

class StorageBase:
    device: _device
    def __init__(self, *args: Any) -> None: ...
    def nbytes(self) -> _int: ...
    def size(self) -> _int: ...
    def data_ptr(self) -> _int: ...
    def resize_(self, nbytes: _int) -> Any: ...
    def __getattr__(self, name: _str) -> Any: ..."""
CONTEXT = [
    "    def __new__(cls, *args: Any) -> Any: ...",
    "    def __getattr__(self, name: _str) -> Any: ...",
    "    def __enter__(self) -> Any: ...",
    "    def __exit__(self, *args: Any) -> None: ...",
]
PUT_IN_PLACE = ("_LinAlgError", "_VariableFunctionsClass")  # classes that Python gives the core
TYPED = ("Overload", "Op", "OpMethod", "NodeBase", "StorageBase", "Size", "TensorBase")  # written below
MODULE = [
    "class ModuleBase:",
    "    def __init__(self, *args: Any) -> None: ...",
    "    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...",
    "    @staticmethod",
    "    def _set_global_hooks(hooks: tuple[Any, ...]) -> None: ...",
]
KEYWORDS = {"from": "from_", "lambda": "lambda_", "in": "in_"}
