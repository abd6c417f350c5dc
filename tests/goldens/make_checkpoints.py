"""Writes checkpoints/: files saved by real PyTorch in each of its formats, with contents.json to compare with.
Run with PyTorch installed: python tests/goldens/make_checkpoints.py
"""

import json
import pathlib
import struct

HERE = pathlib.Path(__file__).with_name("checkpoints")
DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def contents(torch):
    """An object with every kind of thing that a checkpoint holds."""
    from collections import OrderedDict

    base = torch.arange(24.0).reshape(4, 6)
    made = {
        "base": base,
        "view": base[1:3, ::2],
        "transposed": base.t(),
        "grad": torch.arange(4.0).requires_grad_(),
        "parameter": torch.nn.Parameter(torch.arange(6.0).reshape(3, 2)),
        "empty": torch.empty(0),
        "empty2": torch.empty(2, 0, 3),
        "scalar": torch.tensor(3.5),
        "plain": [1, 2.5, None, True, "x", (1,), {"k": -5}, 2**70, -100000, 70000, complex(1, 2), "\u00e9\u1234"],
        "ordered": OrderedDict(a=1, b=torch.ones(2)),
        "size": base.shape,
        "dtype": torch.float16,
        "layout": torch.strided,
        "device": torch.device("cpu"),
        "set": {1, 2},
    }
    for name in DTYPES:
        made[name] = torch.tensor([0, 1, 1, 0]).to(getattr(torch, name))
    return made


def describe(torch, x):
    """A JSON-able description in which tensors show value, shape, strides, offset, dtype and requires_grad."""
    if isinstance(x, torch.Tensor):
        kind = "Parameter" if isinstance(x, torch.nn.Parameter) else "Tensor"
        return [
            kind,
            str(x.detach().tolist()),
            list(x.shape),
            list(x.stride()),
            x.storage_offset(),
            str(x.dtype),
            x.requires_grad,
        ]
    if isinstance(x, dict):
        return [type(x).__name__, [[k, describe(torch, v)] for k, v in x.items()]]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, [describe(torch, v) for v in x]]
    return [type(x).__name__, repr(x)]


def _tar(torch):
    """The tar format of PyTorch 0.1, which no current version writes."""
    import io
    import pickle
    import tarfile

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return {id(a): "101", id(b): "102"}.get(id(obj))

    a, b, keys = object(), object(), {}
    parts = {}
    data = io.BytesIO()
    pickle.dump(1, data, 2)
    pickle.dump((7, "cpu", torch.FloatStorage), data, 2)
    data.write(struct.pack("<q6f", 6, *range(6)))
    pickle.dump([], data, 2)
    parts["storages"] = data.getvalue()
    data = io.BytesIO()
    pickle.dump(2, data, 2)
    for key, shape, strides, offset in ((101, (2, 3), (3, 1), 0), (102, (3,), (1,), 3)):
        pickle.dump((key, 7, torch.FloatTensor), data, 2)
        data.write(
            struct.pack("<ii", len(shape), 0)
            + struct.pack(f"<{len(shape)}q", *shape)
            + struct.pack(f"<{len(shape)}q", *strides)
            + struct.pack("<q", offset)
        )
    parts["tensors"] = data.getvalue()
    data = io.BytesIO()
    Pickler(data, 2).dump({"a": a, "b": [b, keys]})
    parts["pickle"] = data.getvalue()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, value in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(value)
            tar.addfile(entry, io.BytesIO(value))
    return out.getvalue()


def main():
    import torch

    HERE.mkdir(exist_ok=True)
    made = contents(torch)
    torch.save(made, HERE / "zip.pt")
    torch.save(made, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.arange(6.0).reshape(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model(x).sum().backward()
    optimizer.step()
    model.eval()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, HERE / "training.pt")
    torch.save(model, HERE / "whole_model.pt")
    (HERE / "tar.pt").write_bytes(_tar(torch))
    tar = torch.load(HERE / "tar.pt", weights_only=False)
    facts = {
        "torch": torch.__version__,
        "contents": describe(torch, made),
        "output": model(x).tolist(),
        "optimizer": describe(torch, optimizer.state_dict()["state"]),
        "tar": describe(torch, tar),
    }
    (HERE / "contents.json").write_text(json.dumps(facts, indent=0) + "\n")


if __name__ == "__main__":
    main()
