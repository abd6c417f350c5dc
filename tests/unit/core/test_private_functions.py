"""Functions of the C core, called with what they cannot take: each returns or raises, never both. An exception that is
set under a result comes out of the next call, wherever that is, as a SystemError."""

import os
import subprocess
import sys

import pytest


class Broken:
    """An object whose every answer is an error."""

    def fail(self, *args):
        raise KeyError("no answer")

    __bool__ = __index__ = __len__ = __iter__ = __eq__ = __hash__ = __str__ = __repr__ = fail


def arguments(ones):
    values = [Broken(), object(), None, 5, "x", (), 1 << 80, -1, ones, [Broken()], {}, b"", 1.5, int]
    yield from ((v,) for v in values)
    yield from ((v, w) for v in values[:6] for w in values[:9])
    yield from ((v, w, v) for v in values[:4] for w in values[:9])


def main():
    import torchlite as torch
    import torchlite._C as core

    names = sorted(n for n, f in vars(core).items() if callable(f) and not isinstance(f, type))
    tried = list(arguments(torch.ones(2)))  # before modes are changed
    wrong = 0
    for name in names:
        for args in tried:
            try:
                try:
                    getattr(core, name)(*args)
                finally:
                    "a".startswith("b")  # what a left-over exception would spoil
            except SystemError as e:
                print(name, [type(a).__name__ for a in args], e)
                wrong += 1
            except Exception:
                pass
    print(f"{len(names)} functions, {wrong} wrong")


@pytest.mark.skipif(
    sys.platform == "emscripten", reason="the calls change modes of the process, so they have their own"
)
def test_no_error_under_a_result():
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].endswith("functions, 0 wrong"), done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) > 50


if __name__ == "__main__":
    main()
