"""torch.save and torch.load of random object graphs, each library reading its own files and the other's."""

from __future__ import annotations

import collections
import io
from random import Random
from typing import Any

import torch as real

import torchlite as lite
from fuzz_parts.case import Case, chance, outcome


class Settings(dict[Any, Any]):
    """A subclass of dict that holds attributes too."""


class Row(list[Any]):
    pass


class Table(collections.OrderedDict[Any, Any]):
    pass


class Record:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Record"


DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
DTYPES += ["uint16", "uint32", "float8_e4m3fn"]
VIEWS = [".t()", "[1:]", "[:, ::2]", ".view(-1)", "[0]", ".expand(2, 3, 4)", "[:0]", ".unsqueeze(0)", ".conj()"]
PLAIN = ["3", "2.5", "'text'", "None", "True", "1j", "b'bytes'", "(1, 2)", "{1, 2}", "10**30", "torch.float16"]
PLAIN += ["torch.Size([2, 3])", "torch.device('cpu')", "np.float32(2)", "np.arange(3)", "slice(1, 2)", "frozenset([1])"]
PLAIN += ["torch.strided", "torch.channels_last", "range(3)", "bytearray(b'x')", "collections.Counter('aab')"]
PLAIN += ["collections.defaultdict(list)", "torch.finfo", "torch.per_tensor_affine"]
MODULES = ["nn.Linear(2, 3)", "nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2), nn.ReLU())", "nn.LSTM(2, 3)"]
MODULES += [
    "nn.TransformerEncoderLayer(4, 2, 6)",
    "nn.Embedding(4, 2, padding_idx=1)",
    "nn.utils.weight_norm(nn.Linear(2, 2))",
]
MODULES += [
    "nn.ModuleDict({'a': nn.GRUCell(2, 2)})",
    "nn.ParameterList([nn.Parameter(torch.ones(2))])",
    "nn.Dropout(0.3)",
]


def tensor(r: Random, names: list[str]) -> str:
    """An expression for a tensor: a new one, one seen before, or a view of one."""
    if names and chance(r, 0.5):
        base = r.choice(names)
        return base + (r.choice(VIEWS) if chance(r, 0.7) else "")
    dtype = r.choice(DTYPES)
    t = f"torch.arange(12).reshape(3, 4).to(torch.{dtype})"
    floating = "float" in dtype and "8" not in dtype or "complex" in dtype
    if floating and chance(r, 0.3):
        t += r.choice([".requires_grad_()", ".requires_grad_() * 1"])
    elif floating and chance(r, 0.3):
        t = f"nn.Parameter({t}, requires_grad={chance(r)})"
    elif chance(r, 0.1):
        t += r.choice([".to_sparse()", ".storage()", ".untyped_storage()", ".to('meta')"])
    return t


def item(r: Random, names: list[str], depth: int) -> str:
    kind = r.random()
    if depth == 0 or kind < 0.45:
        return tensor(r, names)
    inner = [item(r, names, depth - 1) for _ in range(r.randint(0, 3))]
    pairs = ", ".join(f"{k!r}: {v}" for k, v in zip(["a", 1, "b.c"], inner))
    if kind < 0.8:
        forms = [f"[{', '.join(inner)}]", f"({''.join(v + ', ' for v in inner)})", f"{{{pairs}}}"]
        forms += [f"collections.OrderedDict({{{pairs}}})", f"Settings({{{pairs}}})", f"Row([{', '.join(inner)}])"]
        return r.choice([*forms, f"Table({{{pairs}}})", f"Record({(inner or ['None'])[0]})"])
    if kind < 0.9:
        return r.choice(PLAIN)
    return r.choice(MODULES) + r.choice(["", ".state_dict()", ".eval()"])


def described(x: Any, places: list[Any]) -> Any:
    """What is loaded, as plain containers; `places` collects which objects and memory are shared."""

    def shared(key: Any) -> int:
        if key not in places:
            places.append(key)
        return places.index(key)

    if isinstance(x, (real.Tensor, lite.Tensor)):
        if str(x.layout) != "torch.strided" or x.is_meta:
            return x
        memory = shared(x.untyped_storage().data_ptr()) if x.numel() else None
        return x, type(x).__name__, memory, x.storage_offset(), x.untyped_storage().nbytes(), shared(id(x))
    if isinstance(x, dict):
        return type(x).__name__, [(k, described(v, places)) for k, v in x.items()], sorted(getattr(x, "__dict__", ()))
    if isinstance(x, (list, tuple)) and not hasattr(x, "numel"):
        return type(x).__name__, [described(v, places) for v in x]
    if isinstance(x, (real.nn.Module, lite.nn.Module)):
        hidden = {k: v for k, v in vars(x).items() if isinstance(v, (bool, int, float, str, tuple))}
        return repr(x), described(dict(x.state_dict()), places), hidden
    if isinstance(x, Record):
        return "Record", described(x.value, places)
    if type(x).__name__.endswith("Storage"):
        return type(x).__name__, list(x), x.nbytes()
    return x


def draw(r: Random) -> Case:
    lines, names = [], []
    for i in range(r.randint(1, 3)):
        lines.append(f"t{i} = {tensor(r, names)}")
        names.append(f"t{i}")
    lines.append(f"x = {item(r, [*names], 2)}")
    if chance(r, 0.2):
        lines.append("x = [x, x]")
    weights_only, legacy = r.choice([True, False, False, None]), chance(r, 0.3)
    options: dict[str, Any] = {} if weights_only is None else {"weights_only": weights_only}
    if chance(r, 0.2):
        options["map_location"] = r.choice(["cpu", "meta", {"cpu": "cpu"}])
    allowed = chance(r, 0.3)
    program = compile("\n".join(lines), "<case>", "exec")

    def write(torch: Any) -> bytes:
        torch.manual_seed(1)
        space = {"torch": torch, "nn": torch.nn, "collections": collections}
        exec("import numpy as np", space)
        exec(program, space | {k.__name__: k for k in (Settings, Row, Table, Record)} | {"space": space}, space)
        file = io.BytesIO()
        torch.save(space["x"], file, _use_new_zipfile_serialization=not legacy)
        return file.getvalue()

    def read(torch: Any, data: bytes) -> Any:
        with torch.serialization.safe_globals([Settings, Row, Table, Record] if allowed else []):
            return described(torch.load(io.BytesIO(data), **options), [])

    def run(torch: Any) -> Any:
        if torch is real:
            own = outcome(lambda: read(real, write(real)))
            return {"own": own, "from PyTorch": own, "by PyTorch": own}
        return {
            "own": outcome(lambda: read(lite, write(lite))),
            "from PyTorch": outcome(lambda: read(lite, write(real))),
            "by PyTorch": outcome(lambda: read(real, write(lite))),
        }

    how = f"{options}{', legacy' * legacy}{', safe globals' * allowed}"
    return Case("\n".join([*lines, f"# load with {how}"]), run)
