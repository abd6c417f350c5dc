"""Runs the cases of one package with whatever `import torch` is here; prints one JSON line a case.

python tests/packages/worker.py PACKAGE [CASE]
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import random
import re
import sys
import traceback
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", TQDM_DISABLE="1")
warnings.simplefilter("ignore")


def plain(value):
    """Tensors and containers of them as lists, dicts and numbers."""
    if hasattr(value, "detach"):
        value = value.detach()
        if not value.is_floating_point():
            return value.tolist()
        flat = value.double().reshape(-1)
        return {"shape": list(value.shape), "head": flat[:8].tolist(), "sum": flat.sum().item()}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)


def main(package, only=""):
    import torch  # before the others, which look for what it loaded

    if "CUDA_LIBRARIES" in os.environ:
        import compiled

        compiled.load(os.environ["CUDA_LIBRARIES"])
    if "LOCK" in os.environ:
        import stand_ins

        sys.modules["regex"] = re  # Pyodide has both; few patterns need more than re
        sys.meta_path.append(stand_ins.Finder(stand_ins.of_distribution(pathlib.Path(os.environ["LOCK"]))))
    module = importlib.import_module("cases." + package)
    for name, case in list(vars(module).items()):
        if not callable(case) or getattr(case, "__module__", "") != module.__name__ or name.startswith("_"):
            continue
        if only and name != only:
            continue
        torch.manual_seed(0), random.seed(0)
        try:
            result = {"value": plain(case())}
        except BaseException as error:  # a case may end in anything; the next ones run all the same
            if isinstance(error, KeyboardInterrupt):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
            result = {"error": text, "at": f"{last.filename}:{last.lineno}"}
            if only:
                traceback.print_exc()
        print("CASE " + json.dumps({"case": name, **result}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
