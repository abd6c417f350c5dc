"""Runs the reference's examples that need a GPU: a line of JSON, {name: [what is recorded, what it gives]}.

python tests/webgpu/run_examples.py
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parents[1] / "demos" / "docs")]


def main():
    import dawn
    import op_examples  # which makes `import torch` mean torchlite in this process
    import remote
    import torchlite as torch

    try:
        remote.install()
    except dawn.runtime.Missing as e:
        sys.exit(f"missing: {e}")
    found = {}
    for name, (lines, recorded) in op_examples.written().items():
        if recorded:
            budget = torch.webgpu.get_memory_budget()
            try:
                found[name] = recorded, op_examples.run(lines)
            except Exception as e:
                found[name] = recorded, f"{type(e).__name__}: {e}"
            torch.webgpu.set_memory_budget(budget or None)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
