"""The docs site's own pages: programs print what is shown, errors are those of the code, every op is there."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCS = ROOT / "demos" / "docs"
PROGRAM_AND_OUTPUT = re.compile(
    r"^```python( spirals)?\n(.*?)^```\n+(?:^```console.*?^```\n+)?^```output\n(.*?)^```", re.M | re.S
)
pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")


def run(*args, cwd=ROOT):
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", ["index", "tutorial", "start/jupyterlite", "start/desktop"])
def test_program_prints_what_is_shown(page, tmp_path):
    text = (DOCS / f"{page}.md").read_text()
    found = PROGRAM_AND_OUTPUT.findall(text)
    blocks = re.findall(r"^```python spirals\n(.*?)^```", text, re.M | re.S)
    program = "\n".join(blocks or [code for _, code, _ in found])
    assert found
    printed = run("-m", "torchlite", "-c", program, cwd=tmp_path).splitlines()
    wanted = "".join(shown for *_, shown in found).splitlines()
    assert len(printed) == len(wanted)
    for line, shown in zip(printed, wanted, strict=True):
        # the border in the tutorial's picture may differ from machine to machine by a place or two
        differ = sum(a != b for a, b in zip(line, shown, strict=False))
        assert line == shown or (re.fullmatch(r"[.#]{25}", line) and differ <= 2), (line, shown)


def test_the_same_program_everywhere():
    programs = [PROGRAM_AND_OUTPUT.search((DOCS / f"{n}.md").read_text())[2] for n in ("index", "start/desktop")]
    assert programs[0] == programs[1] and programs[0].rstrip() in (DOCS / "start" / "page.md").read_text()


def test_errors_are_those_of_the_code():
    """Each error that the troubleshooting page names is raised somewhere, but for those of Pyodide and browsers."""
    others = ("No module named", "pure Python 3 wheel", "Failed to fetch", "Cannot stack switch", "SharedArrayBuffer")
    folders = ("torchlite", "native/src", "js_bridge/src")
    sources = " ".join(
        re.sub(r'["\'`+]\s*\n\s*(?:[fr]?["\'`])', "", path.read_text())
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".c", ".h", ".ts", ".inc") and "node_modules" not in path.parts
    )
    titles = re.findall(r"^### `(.+)`$", (DOCS / "troubleshooting.md").read_text(), re.M)
    assert len(titles) > 30
    for title in titles:
        if not any(text in title for text in others):
            parts = [part.strip() for part in re.split(r"\(\d\)|webgpu|float64|element 0|CPU: |Target 3|Float$", title)]
            assert max(parts, key=len) in sources, title


def test_names_exist():
    """What the guides call torch.something is there, in torchlite or among the names that it refuses."""
    pages = [*DOCS.glob("start/*.md"), *DOCS.glob("howto/*.md"), *DOCS.glob("[cipt]*.md")]
    text = " ".join(page.read_text() for page in pages if not page.stem.startswith("package"))
    names = sorted(set(re.findall(r"(?<![\w./-])torch(?:\.(?!callKwargs)[A-Za-z_]\w*)+", text)) - {"torch.js"})
    methods = sorted(set(re.findall(r"(?<!torch\.)\b[a-z]+\.(\w+_async)\b", text)))
    code = (
        "import functools, sys, torchlite, torchlite.profiler\n"
        "for name in sys.argv[1].split():\n    functools.reduce(getattr, name.split('.')[1:], torchlite)\n"
        "assert not [m for m in sys.argv[2].split() if not hasattr(torchlite.Tensor, m)], sys.argv[2]"
    )
    assert len(names) > 50
    run("-c", code, " ".join(names), " ".join(methods))


def test_wheels_are_named_by_their_version():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    for page in [*DOCS.glob("*/*.md"), *DOCS.glob("*.md")]:
        assert set(re.findall(r"torchlite-(\d[\d.]+)-cp", page.read_text())) <= {version}, page


def test_every_op_has_an_entry():
    """In the page of its namespace; all written examples are shown, and 400 of the declarations' samples."""
    pages, declared, written = json.loads(run("demos/docs/reference.py", "--json"))
    text = "\n".join(pages.values())
    anchors = re.findall(r"\{ #(\S+) ", text)
    assert len(declared) > 700 and len(anchors) == len(set(anchors))
    assert not set(declared) - set(anchors)
    assert not set(written) - set(anchors)
    assert text.count("```pycon") > len(written) + 400 and text.count("```pycon") == len(anchors)
    assert "torch.nn.functional.conv2d(input: Tensor, weight: Tensor" in pages["nn.functional.md"]
