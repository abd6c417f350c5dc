"""Runs a PyTorch program on torchlite: `python -m torchlite [-m MODULE | -c CODE | SCRIPT] [ARGS ...]`.

Inside the program `import torch` gives torchlite, whether or not PyTorch is installed.
"""

import os
import sys


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    from torchlite.compat import alias

    alias.install()
    import runpy

    if argv[0] in ("-m", "-c"):
        if len(argv) < 2:
            print(f"python -m torchlite: argument expected for {argv[0]}", file=sys.stderr)
            return 2
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        if argv[0] == "-c":
            sys.argv = ["-c", *argv[2:]]
            exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = argv[1:]
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    script = argv[0]
    if not os.path.exists(script):
        print(f"python -m torchlite: can't open file {script!r}", file=sys.stderr)
        return 2
    sys.argv = list(argv)
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
