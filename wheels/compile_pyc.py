"""Runs inside Pyodide (compile_pyc.mjs), whose bytecode it writes."""

import importlib
import importlib._bootstrap_external as external
import importlib.util
import json
import pathlib
import sys
import traceback

# read at their first use, and most programs with a model use them
COMMON = """nn.modules.activation nn.modules.batchnorm nn.modules.container nn.modules.conv nn.modules.dropout
    nn.modules.flatten nn.modules.linear nn.modules.loss nn.modules.normalization nn.modules.pooling nn.modules.sparse
    optim.adam optim.adamw optim.sgd""".split()


def compile_loaded(names: str, site: str) -> str:
    """Compiles those files of the package in /src that `import torchlite` and the modules in COMMON load, all if that
    fails, into /out. names: the files, as JSON; site: where the wheel will be installed. What was chosen and why that
    import failed, as JSON."""
    tag = sys.implementation.cache_tag
    sys.dont_write_bytecode = True
    listed = json.loads(names)
    sys.path.insert(0, "/src")
    try:
        import torchlite  # noqa: F401

        for name in COMMON:
            importlib.import_module("torchlite." + name)
        files = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
        chosen = [n for n in listed if "/src/" + n in files]
        error = ""
    except BaseException:
        chosen, error = listed, traceback.format_exc()
    for name in chosen:
        source = pathlib.Path("/src", name).read_bytes()
        code = compile(source, f"{site}/{name}", "exec", dont_inherit=True, optimize=0)
        data = external._code_to_hash_pyc(code, importlib.util.source_hash(source), False)  # type: ignore[attr-defined]
        p = pathlib.Path("/out", name)
        target = p.parent / "__pycache__" / f"{p.stem}.{tag}.pyc"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return json.dumps({"names": chosen, "error": error})
