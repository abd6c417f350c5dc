"""Writes torchlite/_core/absent.txt: the public names of PyTorch that torchlite does not have.

    python demos/docs/public_names.py

It runs real PyTorch in a process of its own, and needs it in the same environment. A name is public if it is in the
module's __all__; or, without one, if it has no underscore in front and its __module__ is that module (for a package:
any of PyTorch's, since packages collect what their modules have). PyTorch's test_public_bindings.py has the same rule.
Modules with an underscore in their path are private. Those of PRIVATE are listed too: packages import from them.

torchlite/_core/absent.py reads the file, and says what its lines mean.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import json
import pathlib
import pkgutil
import subprocess
import sys
import types
import typing
import warnings
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = ROOT / "torchlite" / "_core" / "absent.txt"

PRIVATE = (
    "torch._C",
    "torch._custom_ops",
    "torch._dynamo",
    "torch._dynamo.eval_frame",
    "torch._functorch",
    "torch._functorch.vmap",
    "torch._higher_order_ops",
    "torch._higher_order_ops.associative_scan",
    "torch._ops",
    "torch._prims_common",
    "torch._subclasses.meta_utils",
    "torch.__config__",
    "torch.distributed._composable",
    "torch.distributed._composable.fsdp",
    "torch.distributed._tensor",
    "torch.distributed._tensor.experimental",
    "torch.nn.utils._named_member_accessor",
)
# private names of public modules, with the packages that import them
ASKED = {
    "torch._C.DispatchKey": "torchvision",
    "torch._C.DispatchKeySet": "torchvision",
    "torch._C.Event": "annotations",
    "torch._C.IntType": "tools for TorchScript",
    "torch._C.ListType": "tools for TorchScript",
    "torch._C.Stream": "annotations",
    "torch._C.TensorType": "tools for TorchScript",
    "torch._C.Graph": "fvcore",
    "torch._C.Value": "transformers",
    "torch._C._distributed_c10d.Reducer": "lightning",
    "torch._decomp.core_aten_decompositions": "programs with make_fx",
    "torch._decomp.decomposition_table": "programs with make_fx",
    "torch._decomp.get_decompositions": "programs with make_fx",
    "torch._decomp.register_decomposition": "programs with make_fx",
    "torch._inductor.config.triton": "programs that set options of torch.compile",
    "torch._logging.set_logs": "programs with torch.compile",
    "torch.cuda._lazy_call": "apex, megatron",
    "torch.cuda._lazy_init": "megatron",
    "torch.cuda._sleep": "tests of CUDA code",
    "torch.cuda._utils._get_device_index": "apex, mmcv",
    "torch.cuda.amp.grad_scaler.OptState": "accelerate",
    "torch.distributed.distributed_c10d._get_default_store": "megatron",
    "torch.distributed.distributed_c10d._object_to_tensor": "mmengine",
    "torch.distributed.distributed_c10d._tensor_to_object": "mmengine",
    "torch.distributed.utils._p_assert": "fairscale",
    "torch.distributed.utils._sync_module_states": "lightning",
    "torch.distributed.utils._to_kwargs": "fairscale",
    "torch._C._distributed_rpc.PyRRef": "torchrl",
    "torch._C._distributed_rpc._is_current_rpc_agent_set": "torch_geometric",
    "torch.distributed.fsdp._common_utils._FSDPState": "torchtnt",
    "torch.distributed.rpc.api._require_initialized": "torch_geometric",
    "torch.nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE": "transformers",
    "torch.nn.functional.BroadcastingList1": "copies of torch.nn.functional",
    "torch.nn.functional.BroadcastingList2": "copies of torch.nn.functional",
    "torch.nn.functional.BroadcastingList3": "copies of torch.nn.functional",
    "torch.nn.functional._list_with_default": "copies of torch.nn.functional",
    "torch.nn.functional._overload": "copies of torch.nn.functional",
    "torch.nn.functional._pair": "mmcv",
    "torch.nn.functional._single": "mmcv",
    "torch.nn.functional._triple": "mmcv",
    "torch.nn.functional.boolean_dispatch": "copies of torch.nn.functional",
    "torch.nn.parallel._functions.Broadcast": "apex",
    "torch.nn.parallel._functions.Gather": "mmcv",
    "torch.nn.parallel._functions.ReduceAddCoalesced": "apex",
    "torch.nn.parallel._functions.Scatter": "mmcv",
    "torch.nn.parallel._functions._get_stream": "mmcv",
    "torch.onnx.producer_name": "onnx's tools",
    "torch.onnx.producer_version": "onnx's tools",
    "torch.onnx.symbolic_helper.parse_args": "torchvision",
    "torch.serialization.MAGIC_NUMBER": "readers of old files",
    "torch.serialization.PROTOCOL_VERSION": "readers of old files",
    "torch.serialization._legacy_load": "diffusers' loaders",
    "torch.serialization._legacy_save": "diffusers' loaders",
    "torch.serialization._load": "diffusers' loaders",
    "torch.serialization._save": "diffusers' loaders",
    "torch.utils._triton.has_triton": "torchao",
    "torch.utils._triton.has_triton_package": "torchao",
    "torch.utils.checkpoint._get_autocast_kwargs": "fairscale",
    "torch.utils.cpp_extension.COMMON_NVCC_FLAGS": "setup.py files",
    "torch.utils.cpp_extension._find_cuda_home": "setup.py files",
    "torch.utils.cpp_extension._get_cuda_arch_flags": "setup.py files",
    "torch.utils.cpp_extension._join_cuda_home": "setup.py files",
    "torch.utils.cpp_extension.CUDA_HOME": "detectron2, mmcv",
    "torch.utils.cpp_extension.ROCM_HOME": "mmcv",
    "torch.utils.data._utils.worker._generate_state": "tensordict, torchdata",
    "torch.utils.data._utils.worker._IterableDatasetStopIteration": "torchdata",
    "torch.utils.data._utils.worker._ResumeIteration": "torchdata",
    "torch.utils.data._utils.worker.ManagerWatchdog": "torchdata",
    "torch.utils.data.datapipes.datapipe._IterDataPipeSerializationWrapper": "torchdata",
    "torch.utils.data.datapipes.datapipe._MapDataPipeSerializationWrapper": "torchdata",
    "torch.utils.data.dataloader._sharding_worker_init_fn": "torchdata",
    "torch.utils.data.dataloader._MultiProcessingDataLoaderIter": "fastai, lightning, tensordict",
}
_FSDP = """BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig
    LocalStateDictConfig MixedPrecision OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig
    ShardingStrategy StateDictConfig StateDictType""".split()
ASKED |= {f"torch.distributed.fsdp.fully_sharded_data_parallel.{n}": "accelerate, lightning, torchtnt" for n in _FSDP}
# namespaces of the core that are no modules here
SPACES = ("torch._C._VariableFunctions", "torch._C._linalg", "torch._C._special", "torch._C._fft", "torch._C._nn")
SPACES += ("torch._C._autograd", "torch._C._profiler")
# programs and what they are made of, not names to import; importing some of them starts something
NO_MODULES = (
    "torch.bin",
    "torch.testing._internal",
    "torch.utils.tensorboard",
    "torch.utils.hipify",
    "torch.utils.bottleneck",
    "torch.utils.benchmark.examples",
    "torch.distributed.run.",
    "torch.distributed.launch.",
    "torch.distributed.flight_recorder.",
    "torch.contrib",
)
SIMPLE = (int, float, str, type(None))  # no bool: those tell what a build can do


def modules(torch: Any) -> list[str]:
    """PyTorch's public modules, and those of PRIVATE."""
    found = ["torch", *PRIVATE]

    def walk(package: Any) -> None:
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            name = info.name
            if name.rpartition(".")[2].startswith("_") or (name + ".").startswith(NO_MODULES):
                continue
            try:
                module = importlib.import_module(name)
            except BaseException:  # what is not for this platform
                continue
            found.append(name)
            if info.ispkg and hasattr(module, "__path__"):
                walk(module)

    walk(torch)
    return found


def public(module: Any) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:  # packages have more than they list: torch.sparse.sampled_addmm, nn.quantized.MaxPool2d
        kinds = (type, types.FunctionType, types.BuiltinFunctionType) if hasattr(module, "__path__") else ()
        more = [n for n, v in vars(module).items() if isinstance(v, kinds) and n[0] != "_"]
        own = [n for n in more if made_in(getattr(module, n), module).startswith("torch")]
        return list(dict.fromkeys(n for n in [*listed, *own] if hasattr(module, n)))
    homes = ("torch",) if hasattr(module, "__path__") else (module.__name__,)
    own = [n for n, v in vars(module).items() if not n.startswith("_") and made_in(v, module).startswith(homes)]
    return [n for n in own if n != "TYPE_CHECKING"]


def made_in(value: Any, module: Any) -> str:
    """The module that a value says it is from; constants say nothing."""
    if isinstance(value, types.ModuleType) or getattr(value, "__module__", "") == "typing":
        return ""
    return getattr(value, "__module__", None) or module.__name__


def builtin_base(error: type) -> str:
    return next(k.__name__ for k in error.__mro__ if k.__module__ == "builtins")


def entry(name: str, value: Any) -> str:
    """A line of the table, without what says where it belongs."""
    if value is not None and getattr(typing, name, None) is value:
        return "from typing " + name
    if isinstance(value, type) and issubclass(value, Exception):
        return "error %s %s" % (name, builtin_base(value))
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return " ".join(["enum", name, *(n for n in value.__members__ if not n.startswith("_"))])
    if isinstance(value, type) and isinstance(members := getattr(value, "__members__", None), dict):  # the core's
        return " ".join(["enum", name, *members])
    if isinstance(value, type):
        return "class " + name
    path = str(value).startswith("/") and len(str(value)) > 1  # of the machine that this runs on
    if isinstance(value, SIMPLE) and not isinstance(value, bool) and len(repr(value)) < 60 and not path:
        return "value %s %r" % (name, value)
    if callable(value):
        return "def " + name
    return "object " + name


def record() -> dict[str, dict[str, list[str]]]:
    """{module: {name: [line, other modules that have the same object]}}; "torch.Tensor" is one of the modules."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    loaded = {path: importlib.import_module(path) for path in modules(torch)}
    names = {path: [n for n in public(m) if not is_module(m, n)] for path, m in loaded.items()}
    homes: dict[tuple[int, str], list[str]] = {}
    for path, module in loaded.items():
        for name in names[path]:
            homes.setdefault((id(getattr(module, name)), name), []).append(path)
    found: dict[str, dict[str, list[str]]] = {}
    for path, module in loaded.items():
        found[path] = {}
        for name in names[path]:
            value = getattr(module, name)
            same = [] if isinstance(value, SIMPLE) else homes[id(value), name]
            same.sort(key=lambda home: (home != getattr(value, "__module__", None), len(home)))
            found[path][name] = [entry(name, value), *same]
    for asked in ASKED:
        path, _, name = asked.rpartition(".")
        value = getattr(importlib.import_module(path), name)
        same = homes.get((id(value), name), [])
        home = getattr(value, "__module__", path)
        if not same and home != path and getattr(importlib.import_module(home), name, None) is value:
            same = [path, home]
        found.setdefault(path.rpartition(".")[0], {})
        found.setdefault(path, {})[name] = [entry(name, value), *same]
    descriptor = type(torch.Tensor._nnz)  # of the core's methods: private ones count too
    methods = [n for n in dir(torch.Tensor) if n[0] != "_" or core_method(n, getattr(torch.Tensor, n), descriptor)]
    found["torch.Tensor"] = {n: [entry(n, getattr(torch.Tensor, n))] for n in methods}
    for path in SPACES:
        space = getattr(torch._C, path.rpartition(".")[2])
        found[path] = {n: ["def " + n] for n in dir(space) if not n.startswith("__")}
    found["aten::"] = operators(torch)
    return found


def operators(torch: Any) -> dict[str, list[str]]:
    """{operator: its overloads}, of those that take or give tensors."""
    takers: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::") and schema.name[6:8] != "__" and "Tensor" in str(schema):
            takers.setdefault(schema.name[6:], []).append(schema.overload_name or "default")
    return takers


def core_method(name: str, value: Any, descriptor: type) -> bool:
    return not name.startswith("__") and isinstance(value, descriptor)


def is_module(module: Any, name: str) -> bool:
    return isinstance(getattr(module, name), types.ModuleType)


def missing(found: dict[str, dict[str, list[str]]]) -> str:
    """The text of the table."""
    sys.path.insert(0, str(ROOT))
    torch: Any = importlib.import_module("torchlite")
    from torchlite._core import absent

    absent.uninstall(torch.Tensor)
    here: dict[str, Any] = {"torch.Tensor": torch.Tensor}
    here.update((path, getattr(torch._C, path.rpartition(".")[2])) for path in SPACES)
    homes = {home for names in found.values() for _, *same in names.values() for home in same}
    for path in {*found, *homes} - {"aten::"}:
        try:
            here.setdefault(path, importlib.import_module(path.replace("torch", "torchlite", 1)))
        except ModuleNotFoundError:
            pass
    lines = []
    aten = torch.ops.aten
    left_ops = ["%s/%s" % (n, ",".join(o)) for n, o in sorted(found.pop("aten::").items()) if not hasattr(aten, n)]
    for path in sorted(found):
        left = []
        for name, (line, *same) in sorted(found[path].items()):
            if path in here and hasattr(here[path], name):
                continue
            same = [] if line.startswith("from ") else same
            there = [p for p in same if p in here and hasattr(here[p], name)]
            if there or same and same[0] != path:
                line = "from %s %s" % ((there or same)[0], name)
            left.append(line)
        if path not in here or left:
            lines.append(path)
            lines += compact(left)
    lines += ["aten::", " ops " + " ".join(op.removesuffix("/default") for op in left_ops)]
    return "\n".join(lines) + "\n"


def compact(entries: list[str]) -> list[str]:
    """Names without more to say share a line for each kind and each home."""
    shared: dict[str, list[str]] = {}
    for line in entries:
        words = line.split()
        if words[0] in ("class", "def", "object", "from"):
            shared.setdefault(" ".join(words[:-1]), []).append(words[-1])
    alone = [" " + e for e in entries if e.startswith(("error ", "enum ", "value "))]
    return [" %s %s" % (start, " ".join(names)) for start, names in sorted(shared.items())] + alone


def main() -> None:
    if "--record" in sys.argv:
        with contextlib.redirect_stdout(sys.stderr):  # some modules print when they are imported
            found = record()
        json.dump(found, sys.stdout)
        return
    out = subprocess.run(
        [sys.executable, __file__, "--record"], cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    TABLE.write_text(missing(json.loads(out.stdout)))
    print("%s: %d lines" % (TABLE.relative_to(ROOT), len(TABLE.read_text().splitlines())))


if __name__ == "__main__":
    main()
