"""Writes support.md: which of PyTorch's names and ops are there, how each declared op runs,
and for which dtypes its recorded answers agree.

    python demos/docs/support.py [--measure] [--webgpu FILE]

Part of it comes from the declarations, the measured part from measured.json. --measure writes that file anew, with the
yardsticks in the folder conformance of TORCHLITE_SHARED (default: ../shared); it takes about ten seconds. --webgpu adds
the file that `python tests/webgpu/conformance.py --where chromium --dtypes float32 --out FILE` wrote (or another place
than chromium).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import warnings
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import op_list
import torchlite
from torchlite._core import absent

TABLE, MEASURED = HERE / "support.md", HERE / "measured.json"
SHORT = {
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "promotion": "mixed",
}
NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.Module",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.utils.data",
    "torch.func",
    "torch.distributions",
    "torch.amp",
    "torch.random",
    "torch.serialization",
    "torch.signal.windows",
)


# ---- measuring -------------------------------------------------------------------------------------------------------
def measure() -> dict[str, Any] | None:
    """Names against PyTorch's, and its recorded answers; None without the yardsticks."""
    folder = pathlib.Path(os.environ.get("TORCHLITE_SHARED") or op_list.ROOT.parent / "shared") / "conformance"
    if not (folder / "run_conformance.py").exists():
        return None
    sys.path.insert(0, str(folder))
    import api_surface
    import run_conformance

    surface = json.loads((folder / "api_surface.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        absent.uninstall(torchlite.Tensor)
        names = api_surface.cover("torchlite", surface)
        result = run_conformance.run("torchlite", str(folder / "fixtures" / "open"), tiers={"public"})
    ops: dict[str, dict[str, list[int]]] = {}
    for record in result["per_op"].values():
        for name in record["names"]:
            sums = ops.setdefault(name.replace("torch.Tensor.", "Tensor."), {})
            for dtype, (good, total) in record["by_dtype"].items():
                have = sums.setdefault(dtype, [0, 0])
                have[0] += good
                have[1] += total
    wanted = {n for name, group in op_list.by_name().items() for n in spellings(name, group)}
    return {
        "pytorch": surface["torch"],
        "names": {n: [names["namespaces"][n]["have"], names["namespaces"][n]["total"]] for n in NAMESPACES},
        "ops_all_forward_pass": [result["ops_all_forward_pass"], result["ops"]],
        "samples": {
            k: [v["pass"], v["total"]]
            for k, v in result["samples"].items()
            if k in ("fwd", "bwd", "inplace", "out", "view", "errors")
        },
        "groups": {k: [v["pass"], v["ops"], *v["fwd"], *v["bwd"]] for k, v in sorted(result["by_group"].items())},
        "dtypes": {k: [v["pass"], v["total"]] for k, v in result["by_dtype"].items()},
        "ops": {
            name: " ".join(
                SHORT[d] if good == total else f"{SHORT[d]}:{good}/{total}" for d, (good, total) in sums.items() if good
            )
            for name, sums in sorted(ops.items())
            if name in wanted
        },
    }


def spellings(name: str, group: list) -> list[str]:
    """The names under which an op's answers may be recorded, best first."""
    short = name.rpartition(".")[2]
    return [
        name,
        "torch." + short,
        "Tensor." + short,
        "torch.nn.functional." + short,
        *(a for s in group for a in op_list.aliases(s)),
    ]


def webgpu_figures(result: dict[str, Any]) -> dict[str, Any]:
    """What the page says of a run on webgpu."""
    ops = result["per_op"].values()
    run = [r for r in ops if r["counts"].get("fwd", [0, 0])[1]]
    return {
        "device": result["device"],
        "where": result.get("where", "chromium"),
        "samples": {
            k: [v["pass"], v["total"]]
            for k, v in result["samples"].items()
            if k in ("fwd", "bwd", "inplace", "out", "view", "errors")
        },
        "ops": [sum(r["status"] == "pass" for r in run), len(run)],
        "without_cpu": sum(r["status"] == "pass" and not r["fallbacks"] for r in run),
        "on_cpu": sorted({name for r in ops for name in r["fallbacks"]}),
        "wrong": sorted(f"{r['op']}: {text}" for r in run if r["status"] != "pass" for text in list(r["why"])[:1]),
    }


PLACES = {
    "host": "on the desktop over Dawn in node",
    "node": "in Pyodide over Dawn in node",
    "chromium": "in Chromium",
    "firefox": "in Firefox",
}


def on_webgpu(w: dict[str, Any]) -> list[str]:
    """The section on WebGPU."""
    (good, total), names = w["ops"], ", ".join(f"`{n}`" for n in w["on_cpu"])
    where = w.get("where", "chromium")
    words = {
        "fwd": "results",
        "bwd": "gradients",
        "inplace": "in-place variants",
        "out": "`out=`",
        "view": "views share memory",
        "errors": "exception types",
    }
    return [
        "## WebGPU",
        "",
        f"The float32 samples of the recorded answers with every tensor on webgpu, {PLACES[where]} ({w['device']}): "
        f"{good} of {total} ops that have such samples give every result; "
        f"{w['without_cpu']} of them without the CPU. `python tests/webgpu/conformance.py --where {where} --dtypes "
        "float32` measures it.",
        "",
        *table(["check", "pass", "of", ""], [[words[k], a, b, share(a, b)] for k, (a, b) in w["samples"].items()]),
        f"Run by the CPU in the device's place, with a warning, for some or all of their types: {names}.",
        "",
        *(["Not right:", "", *(f"- {line}" for line in w["wrong"]), ""] if w["wrong"] else []),
    ]


# ---- the page --------------------------------------------------------------------------------------------------------
def share(good: int, total: int) -> str:
    return f"{100 * good / total:.1f} %" if total else ""


def table(head: list[str], rows: list[list[Any]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(str, r)) + " |" for r in rows),
        "",
    ]


def forms(group: list) -> str:
    out = []
    for key, word in (
        ("function", "function"),
        ("method", "method"),
        ("inplace", "in place"),
        ("out", "out="),
        ("view", "view"),
    ):
        if any(getattr(s, key) for s in group):
            out.append(word)
    return ", ".join(out)


def merged(values: list[str]) -> str:
    return " / ".join(dict.fromkeys(v for v in values if v))


def page(m: dict[str, Any]) -> str:
    left = absent.table()
    groups = op_list.by_name()
    specs = [s for g in groups.values() for s in g]
    homes: dict[str, list[str]] = {}
    for name, group in groups.items():
        homes.setdefault(op_list.place(group[0]), []).append(name)
    order = [h for h in (*op_list.PLACES.values(), "torch.Tensor", "internal") if h in homes]
    lines = [
        "# What is supported",
        "",
        "Made by `make docs`; do not edit. The first three sections are measurements on the CPU of a desktop "
        f"(`python demos/docs/support.py --measure`), against PyTorch {m['pytorch']}; "
        "the rest is read from the declarations. The section on WebGPU says where it was measured.",
        "",
        "## Names",
        "",
        "Public names of PyTorch that exist here (hardware-specific and internal names left out). "
        "That a name exists does not say that every argument of it is supported. "
        f"All other public names of PyTorch ({sum(map(len, left.values()))} in {len(left)} modules) can be imported; "
        "using one is an error that says so. They are listed in "
        "[absent.txt](../../torchlite/_core/absent.txt).",
        "",
    ]
    lines += table(["namespace", "here", "of", ""], [[f"`{n}`", a, b, share(a, b)] for n, (a, b) in m["names"].items()])
    good, total = m["ops_all_forward_pass"]
    lines += [
        "## Recorded answers",
        "",
        f"Inputs and answers recorded from PyTorch for {total} public ops, modules, optimizers and schedulers; "
        f"{good} of them ({share(good, total)}) give every recorded result, in dtype, shape and values.",
        "",
    ]
    words = {
        "fwd": "results",
        "bwd": "gradients",
        "inplace": "in-place variants",
        "out": "`out=`",
        "view": "views share memory",
        "errors": "exception types",
    }
    lines += table(["check", "pass", "of", ""], [[words[k], a, b, share(a, b)] for k, (a, b) in m["samples"].items()])
    lines += table(
        ["group", "all results right", "of", "", "results", "gradients"],
        [[k, p, n, share(p, n), share(f, ft), share(b, bt)] for k, (p, n, f, ft, b, bt) in m["groups"].items()],
    )
    lines += ["## By dtype", ""]
    lines += table(
        ["dtype of the inputs", "right", "of", ""], [[k, a, b, share(a, b)] for k, (a, b) in m["dtypes"].items()]
    )
    if "webgpu" in m:
        lines += on_webgpu(m["webgpu"])
    kernels = sum(s.kernel is not None for s in specs)
    primitives = sum(s.body is None for s in specs)
    grads = {k: sum(op_list.gradient(s) == k for s in specs) for k in ("declared", "body", "none")}
    lines += [
        "## Declared ops",
        "",
        f"{len(specs)} declarations under {len(groups)} names: {kernels} have a C kernel, "
        f"{len(specs) - primitives} a body written with other ops ({primitives} have only the kernel). Gradient: "
        f"{grads['declared']} declared, {grads['body']} through the body, {grads['none']} none.",
        "",
        "- **runs as**: *kernel*: C code; *body*: other ops, in Python; "
        "*kernel and body*: the kernel, and the body for what the kernel"
        ' leaves out. `torchlite.explain("softmax")` prints it for one op.',
        "- **gradient**: *declared* beside the op; *body*: by differentiating the ops of the body; *none*: "
        "not differentiable.",
        "- **results right for**: dtypes whose recorded samples all agree; `c64:3/5`: 3 of 5 do; `mixed`: "
        "operands of different dtypes. Empty: no samples are recorded under the name.",
        "",
    ]
    for home in order:
        names = homes[home]
        here = [s for n in names for s in groups[n]]
        title = "Internal: called by gradients and by other ops" if home == "internal" else f"`{home}`"
        lines += [
            f"### {title}",
            "",
            f"{len(names)} names; {sum(s.kernel is not None for s in here)} of {len(here)} declarations have a kernel.",
            "",
        ]
        rows = []
        for n in names:
            g = groups[n]
            row = [f"`{n}`", merged([op_list.runs(s) for s in g]), merged([op_list.gradient(s) for s in g])]
            if home != "internal":
                row += [forms(g), next((m["ops"][x] for x in spellings(n, g) if x in m["ops"]), "")]
            rows.append(row)
        lines += table(
            ["op", "runs as", "gradient", *(["forms", "results right for"] if home != "internal" else [])], rows
        )
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--measure", action="store_true")
    p.add_argument("--webgpu", type=pathlib.Path)
    a = p.parse_args()
    known = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    if a.measure:
        found = measure()
        if found is None:
            print("support: the yardsticks are not there (set TORCHLITE_SHARED)", file=sys.stderr)
            return 1
        known |= found
    if a.webgpu:
        known["webgpu"] = webgpu_figures(json.loads(a.webgpu.read_text()))
    if a.measure or a.webgpu:
        rest = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in known.items() if k != "ops")
        rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in known["ops"].items())
        MEASURED.write_text(f'{{\n{rest},\n "ops": {{\n{rows}\n }}\n}}\n')
    TABLE.write_text(page(json.loads(MEASURED.read_text())))
    print(f"{TABLE.relative_to(op_list.ROOT)}: {len(op_list.specs)} declarations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
