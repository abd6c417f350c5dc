"""The documents: snippets run, commands and links exist, generated files are current."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / n
    for n in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "wheels/README.md",
        "demos/README.md",
        "demos/docs/architecture.md",
        "demos/docs/gpu.md",
        "demos/docs/glossary.md",
        "demos/docs/javascript.md",
        "js_bridge/npm/README.md",
    )
] + sorted((ROOT / "demos" / "docs" / "decisions").glob("*.md"))
GUIDES = [
    *(ROOT / "demos" / "docs" / f"{n}.md" for n in ("index", "tutorial", "porting", "troubleshooting", "comparison")),
    *sorted((ROOT / "demos" / "docs" / "start").glob("*.md")),
    *sorted((ROOT / "demos" / "docs" / "howto").glob("*.md")),
]
PAGES += GUIDES
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.M | re.S)
pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="starts processes, which Pyodide has not")


def blocks(page, kind):
    return [(m[1].split(), m[2]) for m in FENCE.finditer(page.read_text()) if m[1].split()[:1] == [kind]]


SNIPPETS = [(page.name, i, words, code) for page in PAGES for i, (words, code) in enumerate(blocks(page, "python"))]


def run(*args, cwd=ROOT):
    done = subprocess.run(
        [sys.executable, *args], cwd=cwd, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "page, number, words, code",
    [s for s in SNIPPETS if not {"notebook", "pyscript", "spirals", "torchrun"} & set(s[2])],  # these in other tests
    ids=lambda v: str(v) if isinstance(v, (str, int)) and len(str(v)) < 20 else "",
)
def test_snippet(page, number, words, code, tmp_path):
    """Python blocks run where `import torch` is torchlite, and print what their comments say; those for a page (fence
    "python page") have to compile."""
    if "page" in words:
        compile(code, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return
    said = re.findall(r"^print\(.*\) +# (.*)$", code, re.M)
    by = [] if "install_as_torch" in code else ["-m", "torchlite"]
    out = run(*by, "-c", code, cwd=tmp_path)
    assert not said or out.splitlines()[-len(said) :] == said


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_commands(page):
    text = page.read_text()
    for target, anchor in re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", text):
        to = page.parent / target if target else page
        if "reference/" in target:  # made by demos/docs/reference.py; the site's build looks at these links
            continue
        assert to.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", to.read_text(), re.M)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in heads], anchor
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for command in re.findall(r"(?:^|`)make ([a-z]+)\b", text, re.M):
        assert command in targets, command
    for path in re.findall(r"`((?:native|tests|torchlite|wheels|demos)/[\w./-]+)`", text):
        assert (ROOT / path).exists() or path.startswith(
            (
                "wheels/dist",
                "demos/_site",
                "torchlite/_C.abi3",
                "torchlite/_C_relaxed",
                "torchlite/models.bin",
                "torchlite/modules.bin",
                "torchlite/start.bin",
            )
        ), path


def test_every_layer_is_described():
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    listed = run("tests/run.py", "--list").split()
    assert not set(listed) - named


def test_support_table_lists_the_declared_ops():
    """The committed table has exactly the declared ops (make docs writes it)."""
    sys.path.insert(0, str(ROOT / "demos" / "docs"))
    try:
        import op_list
    finally:
        sys.path.pop(0)
    text = (ROOT / "demos" / "docs" / "support.md").read_text()
    listed = re.findall(r"^\| `([^`]+)` \|", text[text.index("## Declared ops") :], re.M)
    want = list(op_list.by_name())
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(want), f"run make docs: {sorted(set(listed) ^ set(want))}"


def test_stubs_are_current():
    run("demos/docs/stubs.py", "--check")


def amount(text):
    """8, 2^28, 256^3, 1 MiB and 1024 bytes as integers."""
    number, unit = re.fullmatch(r"(\d+(?:\^\d+)?)(?: (KiB|MiB|bytes))?", text).groups()
    base, _, power = number.partition("^")
    return int(base) ** int(power or 1) << {"KiB": 10, "MiB": 20}.get(unit, 0)


def test_limits_of_the_gpu_are_those_of_the_code():
    """The table in gpu.md: a name and its value, as the file has it."""
    folders = [ROOT / "native/src/gpu", ROOT / "torchlite/webgpu", ROOT / "js_bridge/src"]
    found = 0
    for line in (ROOT / "demos/docs/gpu.md").read_text().splitlines():
        for name, value in re.findall(r"`([A-Z_]+)` (\d+(?:\^\d+)?(?: (?:KiB|MiB|bytes))?)", line):
            for file in re.findall(r"`([\w/]+\.(?:c|h|py|ts))`", line.split("|")[1]):
                (path,) = [p for folder in folders for p in folder.rglob(pathlib.Path(file).name) if file in str(p)]
                said = re.search(
                    rf"(?:#define|const|^)\s*{name}\b(?:\s*=)?\s*([\d(][\w ()<*]*)", path.read_text(), re.M
                )
                assert said and eval(said[1]) == amount(value), (file, name)
                found += 1
    assert found > 20


@pytest.mark.parametrize("page", [p for p in PAGES if p.is_relative_to(ROOT / "demos" / "docs")], ids=lambda p: p.name)
def test_lines_are_short(page):
    assert not [line for line in page.read_text().splitlines() if len(line) > 120]


def test_every_decision_is_listed():
    folder = ROOT / "demos" / "docs" / "decisions"
    listed = re.findall(r"\]\((\d+-[\w-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(p.name for p in folder.glob("0*.md"))
