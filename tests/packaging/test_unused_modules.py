"""The gate for modules that nothing reaches: what counts as reached, and what does not."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
unused_modules = pytest.importorskip("unused_modules")
pytest.importorskip("torch", reason="the gate asks PyTorch which of the modules are its own")

PYTHON = {
    "torchlite/__init__.py": "from ._core import used",
    "torchlite/_core/__init__.py": "_LAZY = {name: '_' + name for name in 'later other'.split()}\nALIAS = '._named'",
    "torchlite/_core/used.py": "def f():\n    from . import at_call",
    "torchlite/_core/at_call.py": "import importlib; importlib.import_module('torchlite._core.by_string')",
    "torchlite/_core/by_string.py": "",
    "torchlite/_core/later.py": "",
    "torchlite/_core/_named.py": "",
    "torchlite/func.py": "from ._core import of_public",  # PyTorch's: programs import it
    "torchlite/_core/of_public.py": "",
    "torchlite/tool.py": "",
    "README.md": "python -m torchlite.tool",
    "native/src/x.c": 'PyImport_ImportModule("torchlite._core.from_c")',
    "torchlite/_core/from_c.py": "",
}
TYPESCRIPT = {
    "js_bridge/src/api/page.ts": 'import { a } from "../runtime/a";\nexport * from "../runtime/b.js";',
    "js_bridge/src/api/bridge.ts": 'const late = () => import("../runtime/c");',
    "js_bridge/src/runtime/a.ts": 'import type { D } from "./d";',
    **{f"js_bridge/src/runtime/{name}.ts": "" for name in "bcd"},
    "js_bridge/tests/a.test.ts": 'import "../test_support/help";',
    "js_bridge/test_support/help.ts": "",
    "js_bridge/test_support/page.ts": "",
    "tests/browser/test_page.py": '"page.ts"',
}
PLANTED = {
    "torchlite/_core/alone.py": "",
    "torchlite/_core/first.py": "from . import second",  # a pair that only itself imports
    "torchlite/_core/second.py": "from . import first",
    "torchlite/_core/typed.py": "",
    "torchlite/_core/user.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from .typed import T",
    "tests/unit/test_alone.py": "import torchlite._core.alone",
    "js_bridge/src/runtime/alone.ts": "",
    "js_bridge/tests/b.test.ts": 'import "../src/runtime/alone";',
    "js_bridge/test_support/alone.ts": "",
}


def test_reached():
    assert unused_modules.python_modules(PYTHON) == []
    assert unused_modules.typescript_modules(TYPESCRIPT) == []


def test_not_reached():
    user = {"torchlite/_core/used.py": "from . import at_call, user"}
    assert unused_modules.python_modules({**PYTHON, **PLANTED, **user}) == [
        f"torchlite/_core/{name}.py" for name in ("alone", "first", "second", "typed")
    ]
    assert unused_modules.typescript_modules({**TYPESCRIPT, **PLANTED}) == [
        "js_bridge/src/runtime/alone.ts",
        "js_bridge/test_support/alone.ts",
    ]
