"""torchlite: PyTorch's Python API on a small core of its own, for web pages (Pyodide) and anywhere CPython runs."""

from ._core import archive as _archive

_archive.install()
from ._core import native
from . import _C
from ._core import device as _device, dtypes as _dtypes
from ._core.device import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    contiguous_format as legacy_contiguous_format,
    device,
    layout,
    memory_format,
    preserve_format,
    qscheme,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from ._core.device import jagged, per_channel_affine, per_channel_symmetric, per_tensor_affine, per_tensor_symmetric
from ._core.dtypes import DTYPES as _DTYPES
from ._core.dtypes import (
    bfloat16,
    bool,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float,
    float16,
    float32,
    float64,
    half,
    iinfo,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    uint8,
)
from .torch_version import __version__

inf = e = nan = pi = newaxis = None  # set below; listed for readers
has_lapack = has_spectral = True
has_mkl = has_openmp = False


class OutOfMemoryError(RuntimeError):
    """An allocation failed; nothing was changed, and later operations work."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """The accelerator failed."""

    __module__ = "torch"


def _bind_error(op, args, kwargs, out):
    if _C.overrides(*args, *kwargs.values(), out):
        from ._core.override import misfit

        return misfit(op, args, kwargs if out is None else {**kwargs, "out": out})
    if op.__module__ == "torch.ops":
        from ._ops import _bind

        return _bind(op, args, kwargs, out)
    from ._core.arg_errors import bind_error

    return bind_error(op, args, kwargs, out)


def _setup():
    import math

    g = globals()
    g.update(inf=math.inf, nan=math.nan, pi=math.pi, e=math.e)
    g.update((name, d) for name, d in _dtypes.NAMES.items() if name not in g)
    _C.register("dtypes", _DTYPES)
    _C.register("dtype", dtype)
    _C.register("device", device)
    _C.register("devices", 2 * (device("cpu"), device("webgpu", 0), device("meta")))  # and those of wrappers
    _C.register("Size", Size)
    _C.register("OutOfMemoryError", OutOfMemoryError)
    _C.register("bind_error", _bind_error)
    from .ops import _schema

    _C.register("compile_schema", _schema.compile)
    from .return_types import of_schema

    _C.register("named_result", of_schema)


_IGNORED = frozenset(
    """are_deterministic_algorithms_enabled broadcast_shapes can_cast compiled_with_cxx11_abi from_dlpack
    get_default_device get_default_dtype get_deterministic_debug_mode get_float32_matmul_precision
    get_num_interop_threads get_num_threads is_deterministic_algorithms_warn_only_enabled is_inference_mode_enabled
    is_storage is_tensor is_warn_always_enabled promote_types set_default_device set_default_dtype
    set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
    set_num_interop_threads set_num_threads set_warn_always typename
    use_deterministic_algorithms""".split()
)
# functions that modes see, and that do not look at their arguments' classes
_FunctionType = type(_bind_error)
_MODES_ONLY = {"tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "scalar_tensor"}


def _hooked(table, space):
    """Functions written in Python ask for __torch_function__ first, as the core's do. They are known by the public
    module where PyTorch has them, in which pickle finds the same object."""
    path = "Tensor." if space == "Tensor" else ""
    for name, fn in table.items():
        if type(fn) is _FunctionType and name[0] != "_" and name not in _IGNORED:
            if fn not in _made and fn.__module__.startswith(
                ("torchlite.ops.", "torchlite.nn.", "torchlite.functional", "torchlite._core.from_data")
            ):
                fn.__module__, fn.__name__ = _homes.place(space, name)
                fn.__qualname__ = path + fn.__name__
            table[name] = _made.setdefault(fn, _C.Function(fn, name in _MODES_ONLY))


_made = {}  # one object for each function, in whatever tables it is


def _publish():
    """Puts the declared ops where PyTorch has them."""
    g = globals()
    for space in ("", "nn", "linalg", "fft", "special"):
        _hooked(ops.namespace(space), space)
    _hooked(ops.methods(), "Tensor")
    for name, fn in ops.namespace("").items():
        g.setdefault(name, fn)
    own = Tensor.__dict__
    for name, fn in ops.methods().items():
        if name not in own or type(own[name]) is ops.Later:
            setattr(Tensor, name, fn)


def _c_name(name):
    """What is missing in torch._C."""
    from ._core import c_names

    if name.startswith("_") and name in vars(c_names) and not name.startswith("__"):
        return getattr(c_names, name)
    if name == "Future":
        from ._core.future import Future

        return Future
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):
        return __getattr__(name)
    if name == "Generator":
        return Generator
    if name == "DispatchKeySet":
        return c_names.DispatchKeySet
    if name == "_TensorMeta":
        return type(Tensor)
    if name in ("_VariableFunctions", "_linalg", "_special", "_fft"):
        from ._core.c_spaces import SPACES

        return SPACES[name]
    if name == "_functorch":
        from ._core.c_functorch import space

        return space
    if name in ("_autograd", "_profiler", "_functions"):
        from ._core import c_autograd, c_profiler

        make = c_profiler.profiler_space if name == "_profiler" else getattr(c_autograd, name[1:] + "_space")
        setattr(_C, name, make())
        return getattr(_C, name)
    from ._core.c_switches import find

    found = find(name)
    if found is not None:
        return found
    return _absent.of(_C.__name__)(name)


def _install():
    """Publishes the ops and names those behind Tensor's operators."""
    _publish()
    for name in ops.LATER_METHODS:
        setattr(Tensor, name, ops.Later(name))
    _absent.install(Tensor)
    _C.__getattr__ = _c_name
    _C.__path__ = []  # torch._C._functorch and its like can be imported as modules
    g, methods = globals(), ops.methods()
    _C._nn = ops.nn_namespace
    _C.DisableTorchFunctionSubclass = _DisableTorchFunctionSubclass
    _C.DisableTorchFunction = _DisableTorchFunction

    def m(name):
        return methods[name]

    def rdiv(a, b):
        return a.reciprocal() * b

    def r(name):
        fn = g[name]
        return lambda a, b: fn(b, a)

    def eq_array(a, b):
        try:
            b = g["from_numpy"](b)
        except TypeError:
            if b.dtype.kind == "u":
                raise
            return NotImplemented
        return g["eq"](a, b)

    def invert(a):
        if a.dtype.is_floating_point or a.dtype.is_complex:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return g["bitwise_not"](a)

    _C.set_operators(
        {
            "add": m("add"),
            "sub": m("sub"),
            "rsub": g["rsub"],
            "mul": m("mul"),
            "truediv": m("div"),
            "rtruediv": rdiv,
            "floordiv": m("floor_divide"),
            "rfloordiv": lambda a, b: g["floor_divide"](g["full"]((), b, dtype=g["result_type"](a, b)), a),
            "mod": m("remainder"),
            "rmod": r("remainder"),
            "pow": m("pow"),
            "rpow": r("pow"),
            "matmul": m("matmul"),
            "and": m("bitwise_and"),
            "or": m("bitwise_or"),
            "xor": m("bitwise_xor"),
            "lshift": m("bitwise_left_shift"),
            "rshift": m("bitwise_right_shift"),
            "rlshift": lambda a, b: g["bitwise_left_shift"](b, a),
            "rrshift": lambda a, b: g["bitwise_right_shift"](b, a),
            "neg": m("neg"),
            "abs": m("abs"),
            "invert": invert,
            "lt": m("lt"),
            "le": m("le"),
            "eq": m("eq"),
            "ne": m("ne"),
            "gt": m("gt"),
            "ge": m("ge"),
            "iadd": m("add_"),
            "isub": m("sub_"),
            "imul": m("mul_"),
            "itruediv": m("div_"),
            "ifloordiv": m("floor_divide_"),
            "imod": m("remainder_"),
            "ipow": m("pow_"),
            "iand": m("bitwise_and_"),
            "ior": m("bitwise_or_"),
            "ixor": m("bitwise_xor_"),
            "ilshift": m("bitwise_left_shift_"),
            "irshift": m("bitwise_right_shift_"),
            "eqarray": eq_array,
        }
    )


with _archive.start():
    _setup()
    from . import autograd
    from ._core.function_switches import DisableTorchFunction as _DisableTorchFunction
    from ._core.function_switches import DisableTorchFunctionSubclass as _DisableTorchFunctionSubclass
    from ._core.tensor import Tensor
    from ._core import absent as _absent, dispatch as _dispatch, homes as _homes, indexing as _indexing
    from ._core.dispatch import explain
    from . import ops
    from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
    from .autograd.grad_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
    from . import functional

    _hooked(vars(functional), "")
    from .functional import *  # noqa: F403

    _install()
    from . import nn, utils

if native.sys.platform == "emscripten":
    from ._core import adapter

    adapter.ask()
    # transformers loads the tensors of a checkpoint in threads unless this is set; a page cannot start any
    native.os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")

_SUBMODULES = {
    "__future__",
    "accelerator",
    "amp",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "fft",
    "func",
    "functional",
    "fx",
    "futures",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "mps",
    "multiprocessing",
    "nested",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch_version",
    "types",
    "version",
    "webgpu",
}
# where PyTorch has them, for packages that ask the torch namespace
_PRIVATE = {
    "__config__",
    "_VF",
    "_classes",
    "_dynamo",
    "_export",
    "_guards",
    "_higher_order_ops",
    "_inductor",
    "_linalg_utils",
    "_lobpcg",
    "_ops",
    "_prims",
    "_prims_common",
    "_subclasses",
    "_tensor",
    "_tensor_str",
    "_utils",
    "_weights_only_unpickler",
}
_STORAGES = {
    "Storage",
    "FloatStorage",
    "DoubleStorage",
    "HalfStorage",
    "LongStorage",
    "IntStorage",
    "ShortStorage",
    "CharStorage",
    "ByteStorage",
    "BoolStorage",
    "BFloat16Storage",
    "ComplexFloatStorage",
    "ComplexDoubleStorage",
    "TypedStorage",
    "UntypedStorage",
}
_LAZY_NAMES = {
    "classes": "_classes",
    "_assert": "functional",
    "_assert_async": "functional",
    "save": "serialization",
    "load": "serialization",
    "set_printoptions": "_core.tensor_str",
    "compile": "_core.lazy_names",
    "vmap": "func",
    "cond": "_higher_order_ops",
    "while_loop": "_higher_order_ops",
    "PyTorchFileReader": "_files.file_reader",
    "PyTorchFileWriter": "_files.file_reader",
    "get_device_module": "_core.lazy_names",
    "from_file": "_core.lazy_names",
    "autocast": "amp",
    "GradScaler": "amp",
    "get_autocast_dtype": "amp",
    "is_autocast_enabled": "amp",
    "set_autocast_enabled": "amp",
    "set_autocast_dtype": "amp",
    "is_autocast_cache_enabled": "amp",
    "set_autocast_cache_enabled": "amp",
    "clear_autocast_cache": "amp",
    "autocast_increment_nesting": "amp",
    "autocast_decrement_nesting": "amp",
    "is_autocast_cpu_enabled": "amp",
    "set_autocast_cpu_enabled": "amp",
    "get_autocast_cpu_dtype": "amp",
    "set_autocast_cpu_dtype": "amp",
    "get_autocast_gpu_dtype": "amp",
    "set_autocast_gpu_dtype": "amp",
    "printoptions": "_core.tensor_str",
    "fork_rng": "random",
    "ready": "webgpu",
    "self_test": "_core.self_test",
    "_segment_reduce": "ops.segments",
    "_mkldnn": "_core.device",
    "_amp_foreach_non_finite_check_and_unscale_": "amp.grad_scaler",
    "_amp_update_scale_": "amp.grad_scaler",
    "lobpcg": "_lobpcg",
    "Future": "_core.future",
    **dict.fromkeys("eig lstsq matrix_rank solve symeig".split(), "_core.removed"),
    **dict.fromkeys("_disable_dynamo set_vital read_vitals vitals_enabled".split(), "_core.lazy_names"),
    "_storage_classes": "storage",
    **dict.fromkeys(
        """_check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with
        _check_type _check_value _check_with _is_all_true _is_any_true _shape_as_tensor""".split(),
        "_core.checks",
    ),
    **dict.fromkeys(
        """_nested_from_padded _nested_from_padded_and_nested_example _nested_tensor_from_mask
        _nested_tensor_from_mask_left_aligned _nested_tensor_from_tensor_list _nested_view_from_buffer""".split(),
        "nested._convert",
    ),
    **dict.fromkeys(
        """SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum _sym_acos _sym_asin _sym_atan
        _sym_cos _sym_cosh _sym_log2 _sym_sin _sym_sinh _sym_sqrt _sym_tan _sym_tanh""".split(),
        "_core.sym_functions",
    ),
    **dict.fromkeys(
        """_sparse_coo_tensor_unsafe _validate_sparse_bsc_tensor_args _validate_sparse_bsr_tensor_args
        _validate_sparse_compressed_tensor_args _validate_sparse_coo_tensor_args _validate_sparse_csc_tensor_args
        _validate_sparse_csr_tensor_args dsmm hspmm saddmm smm sparse_bsc_tensor sparse_bsr_tensor
        sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor spmm sspaddmm""".split(),
        "sparse",
    ),
}


def __getattr__(name):
    from importlib import import_module

    if name == "__all__":  # `from torch import *` takes no modules
        return [n for n in _absent.of(__package__)(name) if n not in _SUBMODULES]
    if name == "Storage":
        return getattr(import_module(".storage", __package__), _C.get_default_dtype()._scalar_type + name)
    if name in _LAZY_NAMES:
        value = getattr(import_module("." + _LAZY_NAMES[name], __package__), name)
    elif name == "Tag":
        value = import_module("._ops", __package__).tags()
    elif name == "torch":  # PyTorch's own package has its name too, and programs write torch.torch
        value = native.sys.modules[__package__]
    elif name in _STORAGES:
        value = getattr(import_module(".storage", __package__), name)
    elif name.endswith("Tensor") and name in _legacy_types()._TYPES:
        value = _legacy_types().make(name)
    elif name.startswith("_foreach_") and name[9:] in _foreach().NAMES:
        value = _foreach().make(name[9:])
    elif name in _SUBMODULES or name in _PRIVATE:
        return import_module("." + name, __package__)
    else:
        while not name.startswith("__") and ops.load_next():
            if name in globals():
                return globals()[name]
        return _absent.of(__package__)(name)
    globals()[name] = value
    return value


def _legacy_types():
    from ._core import legacy_types

    return legacy_types


def _foreach():
    from ._core import foreach

    return foreach


def __dir__():
    ops.load_all()
    each = ("_foreach_" + n for n in _foreach().NAMES)
    made = (*_SUBMODULES, *_LAZY_NAMES, *_STORAGES, *_legacy_types()._TYPES, "Tag")
    return sorted({*globals(), *made, *each, *_absent.names(__package__)})


def install_as_torch():
    """Makes `import torch` mean torchlite in this process; raises when real PyTorch is already imported."""
    from .compat import alias

    return alias.install()
