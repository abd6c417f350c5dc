"""Runs programs of tests/programs, unchanged, with webgpu as the default device: a JSON line for each, with what it
printed or how it ended.

    python tests/webgpu/run_programs.py [NAME ...]
"""

import contextlib
import io
import json
import os
import pathlib
import random
import runpy
import sys
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
PROGRAMS = HERE.parent / "programs"


def one(torch, name):
    from torchlite.webgpu import fallback

    before, out, error = dict(fallback.fallbacks), io.StringIO(), None
    torch.set_default_device("webgpu")
    random.seed(0)
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    except Exception as e:
        error = "".join(traceback.format_exception(e, limit=-3))
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("cpu")
        torch.use_deterministic_algorithms(False)
    there = sorted(k for k, n in fallback.fallbacks.items() if n != before.get(k))
    return {"name": name, "out": out.getvalue(), "error": error, "cpu": there}


def main(names):
    import torchlite

    torchlite.install_as_torch()
    if sys.platform != "emscripten":
        import remote

        remote.install()
    import torch

    warnings.simplefilter("ignore")
    os.chdir(PROGRAMS)
    for name in names:
        print(json.dumps(one(torch, name)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
