"""Where functions say that they are, what torch.overrides lists, and the names of Tensor that only it still knows."""

import io
import pickle
import subprocess
import sys

import pytest
import torchlite
from alike import alike, cases

_PLACES = """
def place(f): return f.__module__.replace("torchlite", "torch"), f.__name__
"""
_S = """
log = []
class S(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append((func.__name__, len(args), sorted(kwargs or ())))
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2, 3).as_subclass(S)
class N:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
from torch.overrides import TorchFunctionMode, get_overridable_functions, get_testing_overrides, resolve_name
"""


@cases("""
[place(f) for f in (torch.fft.fft, torch.linalg.norm, torch.special.erf, torch._C._nn.gelu, F.gelu, F.linear)]
[place(f) for f in (F.relu, F.log_softmax, F.mse_loss, F.max_pool2d, F.pad, F.dropout, F.adaptive_max_pool3d)]
[place(f) for f in (torch.einsum, torch.norm, torch.split, torch.broadcast_tensors, torch.unravel_index)]
[place(f) for f in (torch.abs, torch.numel, torch.is_complex, torch.gradient, torch.adaptive_max_pool1d)]
[place(f) for f in (torch.pca_lowrank, torch.svd_lowrank, torch._assert, torch._assert_async, nn.init.zeros_)]
[place(f) for f in (F.conv2d, F.pixel_shuffle, F.prelu, F.avg_pool1d, F.avg_pool2d, F.hardshrink, F.one_hot)]
[getattr(F, n) is getattr(torch, n) for n in ("conv1d", "conv_transpose3d", "bilinear", "avg_pool1d", "prelu")]
[getattr(F, n) is getattr(torch._C._nn, n) for n in ("linear", "avg_pool2d", "avg_pool3d", "softplus", "one_hot")]
torch.avg_pool1d(torch.ones(1, 1, 4), 2, None), torch._C._nn.avg_pool2d(torch.ones(1, 4, 4), 2, None)
[hasattr(torch.special, n) for n in ("erf_", "expit_", "xlogy_")]
""")
def test_places(line):
    alike(_PLACES + line)


@cases("""
torch.fft.fft(N())
torch.linalg.norm(N())
torch.special.erf(N())
F.gelu(N())
F.logsigmoid(N())
F.conv2d(N(), N())
torch.numel(N())
torch.einsum("i", N())
torch.norm(N())
torch.gradient(N())
torch.adaptive_max_pool1d(N(), 1)
nn.init.normal_(N())
""")
def test_texts_of_refusals(line):
    alike(_S + line)


@cases("""
nn.init.normal_(x).shape, log
nn.init.uniform_(x, 0, 2).shape, log
nn.init.constant_(x, 2), log
nn.init.kaiming_uniform_(x, a=2).shape, log
x.is_conj(), x.name, x._grad_fn, log
x / 2, x.__div__(2), x.__idiv__(2), x.__rdiv__(2), 2 / x, log
torch.sym_not(x), log
torch.sym_ite(x, 1, 2)
torch.sym_sum([x.sum(), 2]), log
torch.Tensor.is_conj.__get__(x)(), torch.Tensor.numel.__get__(x)(), log
torch.Tensor.dim.__call__(x), log
""")
def test_who_is_asked(line):
    alike(_S + line)


@cases("""
[resolve_name(f) for f in (torch.conv2d, torch.fft.fft, torch.norm, F.relu, torch.Tensor.add, torch.linalg.qr)]
[f in get_testing_overrides() for f in (torch.abs, F.gelu, torch.Tensor._nnz, torch.sym_max, nn.init.normal_)]
[f in get_testing_overrides() for f in (torch.Tensor.name.__get__, torch.Tensor._cdata.__get__, torch._conj_copy)]
[f in get_testing_overrides() for f in (torch.relu_, torch.fft.fftfreq, torch.zeros, torch.Tensor.__iter__)]
get_testing_overrides()[torch.sort](1, stable=True), get_testing_overrides()[torch.Tensor.div_](1, 2, rounding_mode=3)
get_testing_overrides()[torch.linalg.matrix_rank](1, 2, True)
sorted(resolve_name(f) for f in get_overridable_functions()[torch.special])
sorted(resolve_name(f) for f in get_overridable_functions()[torch.linalg])
sorted(resolve_name(f) for f in get_overridable_functions()[torch.functional])
sorted(resolve_name(f) for f in get_overridable_functions()[nn.functional])
""")
def test_lists(line):
    alike(_S + line)


_BY_CLASS = """
class M(TorchFunctionMode):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
with M():
    torch.ones(2) + 1
"""
_BY_TYPES = """
class M(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append([t.__name__ for t in types])
        return NotImplemented if types else func(*args, **(kwargs or {}))
class B(torch.Tensor):
    pass
b = B()
with M():
    r = torch.neg(b), torch.stack([b])
r, log
"""


@pytest.mark.parametrize("program", [_BY_CLASS, _BY_TYPES])
def test_modes(program):
    alike(_S + program)


@cases("""
x.__div__(2), x.__idiv__(4), x.__rdiv__(3)
one.__long__(), one.__nonzero__()
x.__long__()
x.__nonzero__()
torch.ones(2, dtype=torch.int32).__idiv__(2)
x.volatile, x.name, x._grad_fn, x._clear_non_serializable_cached_data()
x.__cuda_array_interface__
""")
def test_old_names(line):
    alike("x, one = torch.ones(3), torch.ones(1)\n" + line)


@cases("""
torch.sym_int(2.7), torch.sym_int(-2.7), torch.sym_int(True), torch.sym_int("3"), torch.sym_float(3)
torch.sym_max(1, 2.0), torch.sym_max(3, 2), torch.sym_min(True, 2), torch.sym_min(1.5, 2)
torch.sym_max("a", 2)
torch.sym_not(0), torch.sym_not(5), torch.sym_ite(True, 1, 2), torch.sym_sqrt(4)
torch.sym_ite(1, 1, 2)
torch.sym_ite(True, 1, 2.0)
torch.sym_sqrt(-4)
torch.sym_sum([1, 2, 3.5]), torch.sym_sum((1, 2)), torch.sym_sum([]), torch.sym_sum(1, 2)
torch._sym_acos(0.5), torch._sym_log2(8), torch._sym_tanh(1), torch.sym_sqrt.__name__
""")
def test_sym_functions(line):
    alike(line)


_PICKLED = """
import io, pickle, sys
import torchlite as torch
if sys.argv[1] == "alias":
    torch.install_as_torch()
torch.ops.load_all()
spaces = torch, torch.nn.functional, torch.linalg, torch.fft, torch.special, torch.functional
for space in spaces:
    for name, f in list(vars(space).items()):
        if type(f) in (torch._C.Op, torch._C.Function):
            file = io.BytesIO()
            torch.save(f, file)
            file.seek(0)
            same = pickle.loads(pickle.dumps(f)) is f and torch.load(file, weights_only=False) is f
            assert same, name
            assert f.__module__.startswith("torch." if sys.argv[1] == "alias" else "torch"), name
"""


@pytest.mark.parametrize("name", ["own", "alias"])
def test_every_function_is_pickled(name):
    code = _PICKLED.replace('.startswith("torch." if sys.argv[1] == "alias" else "torch")', '.startswith("torch")')
    subprocess.run([sys.executable, "-c", code, name], check=True)


def test_pytorch_reads_pickles_of_functions():
    torch = pytest.importorskip("torch")
    for path in ("fft.fft", "linalg.norm", "nn.functional.relu", "nn.functional.gelu", "functional.einsum", "abs"):
        ours, theirs = torchlite, torch
        for part in path.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        file = io.BytesIO()
        torchlite.save(ours, file)
        file.seek(0)
        assert torch.load(file, weights_only=False) is theirs
        assert pickle.loads(pickle.dumps(ours)) is ours
