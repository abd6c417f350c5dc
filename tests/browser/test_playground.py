"""The Playground as a visitor uses it. Screenshots go to .out/demo."""

from __future__ import annotations

import json
import os
import time

import pages
import pytest
from test_demo import CONSOLE, KINDS, READY, RUNNING, SHOTS, text
from test_own_page import CAUGHT

# The site carries one Pyodide, whatever generation the other browser tests run on.
pytestmark = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="the demo site is built with Pyodide 314"
)

PAGE = "/playground/index.html"
NEEDLESS = ("Failed to load resource", "The following error occurred while loading", "Failed to fetch")


@pytest.fixture
def playground(visit, request):
    """Opens the page; its console must stay free of errors."""
    pages = []

    def open_page(kind, path=PAGE, **options):
        page = visit(kind, path, **options)
        page.wait(READY, 90)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        errors = [line for line in page.log if line.startswith("error") and not any(word in line for word in NEEDLESS)]
        assert not errors, errors


def write(page, source):
    page.eval(f"(demo.editor.text = {json.dumps(source)}, 1)")


def run(page, source=None, button="#run", seconds=60):
    """What the output shows after a run."""
    if source is not None:
        write(page, source)
    page.eval(f"(demo.runs = 0, demo.engine.addEventListener('state', {COUNT}), 1)")
    page.click(button)
    page.wait(f"demo.runs && {READY}", seconds)
    time.sleep(0.1)  # a frame
    return page.eval(CONSOLE)


COUNT = "() => { if (demo.engine.state === 'running') demo.runs++ }"


def type_line(page, *lines):
    """Types lines at the prompt; returns what the output shows then."""
    page.eval("(document.querySelector('#line').focus(), 1)")
    for line in lines:
        page.keys(line + "{Enter}")
        time.sleep(0.1)
    page.wait(f"{READY} && !document.querySelector('#line').value", 10)
    time.sleep(0.1)
    return page.eval(CONSOLE)


CELLS = """import torch
# %% one
x = torch.arange(6.).reshape(2, 3)
x
# %% two
print("two", x.sum().item())
model = torch.nn.Linear(3, 2)
model
# %% three
model(x) @ x
"""


@pytest.mark.parametrize("kind", KINDS)
def test_cells_prompt_and_errors(playground, kind):
    page = playground(kind)
    # the first visit has an example, which runs
    shown = run(page)
    assert "torch.Size([3, 4]) torch.int64" in shown and "torch.Size([5, 2, 4]) True" in shown
    page.screenshot(SHOTS / f"{kind}-playground.png")
    page.wait("[...document.querySelectorAll('img.pixels')].some(i => i.naturalWidth === 96)", 5)

    shown = run(page, CELLS)
    assert "two 15" in shown and "2×3" in shown and "Linear(in_features=3" in shown
    # an error has PyTorch's text, what does not fit, and the values of the line
    write(page, CELLS.replace("model(x) @ x", "model(x) @ x.T"))
    page.eval("(demo.editor.line = 10, demo.editor.focus(), 1)")
    page.keys("{Shift+Enter}")
    page.wait("document.querySelector('.hint') !== null", 10)
    shown = page.eval(CONSOLE)
    assert 'File "tensors.py", line 10, in <module>' in shown
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x2 and 3x2)" in shown
    assert page.eval("[...document.querySelectorAll('.hint .bad')].map(e => e.textContent)") == ["2", "3"]
    assert page.eval("document.querySelector('.code-wrong').textContent") == "model(x) @ x.T"
    assert "line 10" in text(page, "#status")
    page.screenshot(SHOTS / f"{kind}-playground-error.png")

    # one namespace for cells and prompt; a block ends with an empty line; arrows bring lines back
    assert type_line(page, "x.shape").split("\n")[-3:] == [">>> x.shape", "", "torch.Size([2, 3])"]
    assert type_line(page, "for i in range(2):", "print(i * 10)", "").endswith("...     print(i * 10)\n0\n10\n")
    assert "NameError" in type_line(page, "no_such_name")
    page.keys("{ArrowUp}{ArrowUp}")
    assert page.eval("document.querySelector('#line').value").startswith("for i in")
    # Run begins with an empty namespace
    assert "NameError: name 'x' is not defined" in run(page, "print(x)\n")


@pytest.mark.parametrize("kind", KINDS)
def test_files_drafts_and_links(playground, kind):
    page = playground(kind)
    notebook = {"cells": [code("%matplotlib inline\nx = 1"), {"cell_type": "markdown", "source": "# Hello"}, code("x")]}
    drop(page, "note.ipynb", json.dumps(notebook))
    page.wait("demo.editor.text.includes('[markdown]')", 10)
    expected = "# %%\n# %matplotlib inline\nx = 1\n\n# %% [markdown]\n# # Hello\n\n# %%\nx\n"
    assert page.eval("demo.editor.text") == expected and page.eval("document.querySelector('#name').value") == "note.py"

    # a file is there for the script, and what the script writes is in the panel
    drop(page, "table.csv", "a,b\n1,2\n3,4\n")
    page.wait("document.querySelector('#files').textContent.includes('table.csv')", 10)
    source = "import csv, torch\nrows = list(csv.reader(open('table.csv')))\nt = torch.tensor([[float(v) for v in r] "
    source += "for r in rows[1:]])\nprint(t.sum())\ntorch.save(t, 'made.pt')\n"
    assert "tensor(10.)" in run(page, source)
    page.wait("document.querySelector('#files').textContent.includes('made.pt')", 10)
    # a link brings another script; the files stay, and so does the script that was there
    write(page, "print('été 🔥')\n")
    page.click("#share")
    page.wait("document.querySelector('#share-dialog').open && document.querySelector('#link').value.includes('#')", 5)
    link = page.eval("document.querySelector('#link').value")
    page.eval(CAUGHT)
    page.click("#take")
    page.wait("window.saved?.[0] === 'note.html'", 10)
    assert "été 🔥" in page.eval("fetch(saved[1]).then((answer) => answer.text())")
    page.keys("{Escape}")
    write(page, "import torch\nprint(torch.load('made.pt'))\n")
    time.sleep(1)  # it is saved at a pause
    page.open("about:blank")
    page.open(link)
    page.wait(READY, 90)
    assert page.eval("[demo.editor.text, location.hash]") == ["print('été 🔥')\n", ""]
    assert "été 🔥" in run(page)
    page.click("#examples")
    page.wait("document.querySelector('#examples-dialog').open", 5)
    page.eval("(document.querySelectorAll('#examples-list button')[1].click(), 1)")
    page.wait("demo.editor.text.includes('made.pt')", 5)
    assert "[1., 2.]" in run(page)
    page.open(link[:-9] + "!")
    page.wait(f"{CONSOLE}.includes('damaged')", 10)


def code(source):
    return {"cell_type": "code", "source": source.splitlines(keepends=True)}


def drop(page, name, content):
    """Drops a file onto the page, as from a folder of the desktop."""
    page.eval(
        "(() => { const data = new DataTransfer();"
        f" data.items.add(new File([{json.dumps(content)}], {json.dumps(name)}));"
        " document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: data}));"
        " return 1 })()"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_completion_keys_and_phone(playground, kind):
    page = playground(kind)
    write(page, "import torch\nfrom torch import nn\nx = torch.ones(3)\nwhile True: pass\n")
    page.eval("(demo.editor.line = 5, demo.editor.focus(), 1)")
    page.keys("nn.Lin")
    page.wait("document.querySelector('.cm-tooltip-autocomplete li')?.textContent.startsWith('Linear(in_features')", 10)
    time.sleep(0.2)  # CodeMirror takes no Enter in the first moment
    page.keys("{Enter}")
    page.wait("demo.editor.text.endsWith('nn.Linear')", 5)
    page.keys("(3, ")
    page.wait("document.querySelector('.signature b')?.textContent === 'out_features'", 5)
    page.keys("{End}{Enter}x.unsq")
    page.wait("document.querySelector('.cm-tooltip-autocomplete li')?.textContent.startsWith('unsqueeze')", 10)
    page.keys("{Escape}")

    # by keys alone: run, stop, from the editor to the prompt
    page.keys("{Control+Enter}")
    page.wait(RUNNING, 10)
    page.keys("{Control+.}")
    page.wait(f"{READY} && {CONSOLE}.includes('Stopped after')", 5)
    page.keys("{F6}")
    assert page.eval("document.activeElement.id") == "line"
    missing = page.eval(NAMELESS)
    assert not missing, missing

    page.resize(390, 844)
    for tab in ("files", "output", "editor"):
        page.click(f"#tab-{tab}")
        assert page.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.eval(f"document.querySelector('#panel-{tab}').checkVisibility()")
        page.screenshot(SHOTS / f"{kind}-playground-{tab}.png")
    run(page, "import torch\ntorch.eye(3)\nprint('done')\n")
    assert page.eval("document.body.dataset.tab") == "output"  # where the script prints


# controls without a name for screen readers
NAMELESS = """[...document.querySelectorAll('button, input, select, textarea, [role=separator], [tabindex="0"]')]
  .filter(e => e.checkVisibility() && !(e.ariaLabel || e.labels?.length || e.textContent.trim() || e.title))
  .map(e => e.outerHTML.slice(0, 120))"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_html_of_a_script_cannot_act(playground, kind):
    page = playground(kind)
    bad = (
        "<b id=x onclick=alert(1)>bold</b><script>document.title = 'taken'</script>"
        "<img src=x onerror=\"document.title = 'taken'\"><a href='javascript:alert(1)'>link</a>"
        "<iframe src=/></iframe><style>body { display: none }</style><svg><script>1</script><path d='M0 0'/></svg>"
        "<form action=/><input name=q></form><div style='background: url(//a.example)'>text</div>"
    )
    source = f"class A:\n    def _repr_html_(self):\n        return {bad!r}\n\n# %%\nA()\n"
    run(page, source)
    time.sleep(0.5)
    left = page.eval("document.querySelector('.rich').innerHTML")
    assert "<b>bold</b>" in left and "text" in left and '<path d="M0 0"></path>' in left, left
    assert not any(word in left for word in ("script", "onerror", "onclick", "iframe", "style", "form", "id=", "src"))
    assert page.eval("document.title") == "Playground - torchlite"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_run_before_python_is_there(visit, kind):
    page = visit(kind, PAGE)
    # at once: the page reloads itself for its headers, and what was typed and pressed before is not lost
    page.wait(
        "window.demo && (demo.editor.text = \"print('typed')\\n\", document.querySelector('#run').click(), true)", 20
    )
    page.wait(f"{CONSOLE}.includes('typed')", 90)
    assert page.eval("crossOriginIsolated") is True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_second_tab(playground, kind):
    page = playground(kind)
    run(page, "open('mine.txt', 'w').write('1')\n")
    page.wait("document.querySelector('#files').textContent.includes('mine.txt')", 10)
    assert page.eval("document.querySelector('#files-lost').hidden")
    address = page.eval("location.href")
    other = page._call("browsingContext.create", {"type": "tab"})["context"]
    first, page._context = page._context, other
    page.open(address)
    # it says that its files are lost, and leaves the first one's alone
    page.wait(f"{READY} && !document.querySelector('#files-lost').hidden", 60)
    run(page, "import os\nos.remove('mine.txt')\n")
    page._context = first
    run(page, "print(open('mine.txt').read())\n")
    page.open("about:blank")
    page.open(address)
    page.wait(READY, 60)
    page.wait("document.querySelector('#files').textContent.includes('mine.txt')", 10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_image_file(playground, kind):
    page = playground(kind)
    page.eval(
        "(async () => { const canvas = new OffscreenCanvas(12, 8); const pen = canvas.getContext('2d');"
        " pen.fillStyle = 'rgb(255, 0, 10)'; pen.fillRect(0, 0, 12, 8);"
        " const blob = await canvas.convertToBlob();"
        " await demo.files.take([new File([blob], 'red.png')]); return 1 })()"
    )
    assert 'playground.read_image("red.png")' in text(page, "#files-note")
    shown = run(page, "import playground as p\nx = p.read_image('red.png')\nprint(x.shape, x.dtype, x[:, 0, 0])\n")
    assert "torch.Size([3, 8, 12]) torch.uint8 tensor([255,   0,  10]" in shown
    assert "ValueError: tensors.py is no image" in run(page, "import playground\nplayground.read_image('tensors.py')\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_packages(playground, kind, extra_index):
    page = playground(kind)
    # one from an index, which the first script names
    with pages.serve({"/extra/": extra_index}, headers={"Access-Control-Allow-Origin": "*", **pages.ISOLATED}) as base:
        run(page, f"import micropip\nmicropip.set_index_urls('{base}/extra/simple')\n")
        shown = run(page, "import needs_torch\nprint(needs_torch.answer())\n")
    assert "6.0" in shown, shown
    # those that can't be had say so
    assert "tensorflow can't be had in a browser" in run(page, "import tensorflow\n")
    shown = run(page, "import numpy\n")
    assert "numpy is one of Pyodide's packages" in shown or "Error" not in shown
    # a file beside the script is no package
    run(page, "open('helper.py', 'w').write('import math\\nvalue = 41\\n')\n")
    assert "42" in run(page, "import helper\nprint(helper.value + 1)\n")
    run(page, "open('helper.py', 'w').write('value = 1\\n')\n")
    assert "\n2\n" in "\n" + run(page, "import helper\nprint(helper.value + 1)\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_stop_restart_profile_and_offline(playground, server, kind):
    page = playground(kind)
    write(page, "for i in range(10**9):\n    print(i)\n")
    page.click("#run")
    page.wait(RUNNING, 10)
    time.sleep(1)
    page.click("#stop")
    page.wait(READY, 2)
    assert "Stopped after" in page.eval(CONSOLE)
    page.click("#profile")
    shown = run(page, "import torch\na = torch.ones(50, 50)\nfor _ in range(3): a = a @ a / 50\n")
    assert "aten::matmul" in shown and "ms with its calls" in shown
    page.click("#profile")
    run(page, "kept = 1\n")
    page.click("#restart")
    page.wait("document.body.dataset.state === 'starting'", 5)
    page.wait(READY, 60)
    assert "NameError" in type_line(page, "kept")

    page.wait(
        "(async () => { const { runtime } = await (await fetch('../files.json')).json();"
        " return (await Promise.all(runtime.map((path) => caches.match('../' + path)))).every(Boolean) })()",
        60,
    )
    server.stop()
    page.open(server.base + PAGE)
    page.wait(READY, 90)
    page.click("#examples")
    page.wait("document.querySelectorAll('#examples-list li').length > 40", 10)
    page.eval("(document.querySelectorAll('#examples-list section:nth-child(2) button')[5].click(), 1)")
    page.wait("demo.editor.text.includes('Live charts')", 10)
    shown = run(page)
    assert "epoch 200" in shown
    assert page.eval("document.querySelectorAll('.chart svg').length") == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_example_runs(playground, kind):
    page = playground(kind)
    names = page.eval("fetch('examples/menu.json').then(r => r.json()).then(m => m.flatMap(g => g.scripts))")
    assert len(names) >= 25
    for entry in names:
        source = page.eval(f"fetch('examples/{entry['name']}.py').then(r => r.text())")
        shown = run(page, source, seconds=240)
        assert "Traceback" not in shown, (entry, shown[-1500:])
        assert text(page, "#status").startswith("Finished"), entry


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_device(playground, kind):
    page = playground(kind, gpu=True)
    page.wait("!document.querySelector('#device-choice').hidden", 60)
    page.eval("(document.querySelector('#device').value = 'webgpu', 1)")
    source = "# %%\nimport torch\nx = torch.ones(64, 64, device=torch.accelerator.current_accelerator())\nx\n"
    shown = run(page, source)
    assert "webgpu" in shown and "64×64" in shown
    assert "tensors on the GPU" in text(page, "#usage")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_looks(playground, kind, dark):
    """Screenshots to look at, and text that can be read: 4.5 to 1 or better."""
    page = playground(kind, dark=dark)
    run(page)
    for width, height in ((1280, 800), (390, 844)):
        page.resize(width, height)
        page.screenshot(SHOTS / f"{kind}-playground-{'dark' if dark else 'light'}-{width}.png")
        assert page.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    poor = page.eval(CONTRAST)
    assert not poor, poor


CONTRAST = """(() => {
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b) };
  const parse = (text) => text.startsWith("rgb") ? text.match(/[\\d.]+/g).map(Number) : null;
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c && (c[3] ?? 1) === 1) return c } return [255, 255, 255] };
  return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(":disabled")
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).flatMap((e) => {
    const colour = parse(getComputedStyle(e).color);
    if (!colour) return [];
    const [a, b] = [light(colour), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.textContent.slice(0, 30)}`] : [] });
})()"""
