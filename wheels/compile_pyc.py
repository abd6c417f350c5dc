"""Runs inside Pyodide (compile_pyc.mjs), whose bytecode it writes."""

import importlib
import importlib._bootstrap_external as external
import importlib.util
import json
import marshal
import pathlib
import sys
import traceback

# read at their first use, and most programs with a model use them
MODELS = """nn.modules.activation nn.modules.batchnorm nn.modules.container nn.modules.conv nn.modules.dropout
    nn.modules.linear nn.modules.loss nn.modules.normalization nn.modules.pooling nn.modules.sparse optim.adam
    optim.adamw optim.sgd""".split()


def compile_loaded(given: str, site: str) -> str:
    """Compiles those files of the package in /src that `import torchlite` loads into /out/start.bin, and those that the
    modules in MODELS load into /out/models.bin; all into the first if that fails. given: as JSON the files, and those
    among them that get files of their own; site: where the wheel will be installed. Which files went where and why that
    import failed, as JSON."""
    sys.dont_write_bytecode = True
    files, alone = json.loads(given)
    sys.path.insert(0, "/src")
    chosen: dict[str, list[str]] = {}
    error = ""
    try:
        import torchlite  # noqa: F401

        chosen["start"] = loaded(files)
        for name in MODELS:
            importlib.import_module("torchlite." + name)
        chosen["models"] = [n for n in loaded(files) if n not in chosen["start"]]
    except BaseException:
        chosen, error = {"start": files}, traceback.format_exc()
    for group, names in chosen.items():
        codes = {}
        for name in names:
            source = pathlib.Path("/src", name).read_bytes()
            code = compile(source, f"{site}/{name}", "exec", dont_inherit=True, optimize=0)
            if name in alone:
                digest = importlib.util.source_hash(source)
                data = external._code_to_hash_pyc(code, digest, False)  # type: ignore[attr-defined]
                target = pathlib.Path("/out", name + "c")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            else:
                codes[name.removeprefix("torchlite/")] = code
        # one object for all, so that each name and constant is in it once
        head = " ".join([importlib.util.MAGIC_NUMBER.hex(), *(name + "c" for name in codes)])
        pathlib.Path("/out", group + ".bin").write_bytes(head.encode() + b"\n" + marshal.dumps(tuple(codes.values())))
    return json.dumps({"chosen": chosen, "error": error})


def loaded(files: list[str]) -> list[str]:
    """Those of the package's files whose modules are there."""
    there = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
    return [n for n in files if "/src/" + n in there]
