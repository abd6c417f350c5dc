"""The demo pages as a visitor uses them: train, draw, stop, come back without a network.
Screenshots go to .out/demo."""

from __future__ import annotations

import os
import pathlib
import time

import page_driver
import pytest
from strokes import DIGITS

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMOS = ROOT / "demos"
SHOTS = ROOT / ".out" / "demo"

# The site carries one Pyodide, whatever generation the other browser tests run on.
pytestmark = pytest.mark.skipif(
    os.environ.get("TORCHLITE_PYODIDE", "314") != "314", reason="the demo site is built with Pyodide 314"
)

KINDS = [b for b in os.environ.get("TORCHLITE_BROWSERS", "chromium,firefox").split(",") if b]
# what the page's own code does alike in both browsers: Firefox, where other tests press Stop, has it with --all only
MAINLY_CHROMIUM = [pytest.param(k, marks=pytest.mark.slow) if k == "firefox" else k for k in KINDS]
READY = "document.body.dataset.state === 'ready'"
RUNNING = "document.body.dataset.state === 'running'"
CONSOLE = "document.querySelector('#console').innerText"


def text(page, selector):
    return page.eval(f"document.querySelector({selector!r}).textContent")


def run_script(page, source=None):
    if source is not None:
        page.eval(f"(demo.editor.text = {page_driver.json.dumps(source)}, 1)")
    page.click("#run")


def read_drawing(page):
    """The digit the page says it sees, once no answer is on its way."""
    page.wait("document.querySelector('#verdict strong') !== null", 10)
    time.sleep(0.3)
    return int(page.eval("document.querySelector('#verdict').dataset.digit"))


@pytest.mark.parametrize("kind", KINDS)
def test_train_draw_and_come_back_offline(visit, server, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    assert page.eval("crossOriginIsolated") is True  # by the service worker's headers
    assert page.eval("demo.editor.text") == (DEMOS / "digits" / "digits.py").read_text()

    # The page must stay alive while Python works: the longest time between two ticks tells.
    page.eval(GAPS)
    run_script(page)
    page.wait(RUNNING, 10)
    page.wait("/^[1-9]/.test(document.querySelector('#epoch').textContent)", 60)
    page.screenshot(SHOTS / f"{kind}-training.png")
    page.wait(READY, 300)
    console = page.eval(CONSOLE)
    assert "Finished in" in console, console
    assert page.eval("window.gap") < 400
    assert float(text(page, "#accuracy").rstrip("%")) >= 97, console
    assert text(page, "#epoch") == "15 / 15"
    assert page.eval("demo.engine.about.live_loss") is True
    # the plot is drawn in the next frame
    page.wait("document.querySelector('#loss-plot').getAttribute('aria-label').includes('after 675')", 5)

    seen = {}
    for digit, strokes in DIGITS.items():
        page.click("#clear")
        page.draw("#pad", strokes)
        seen[digit] = read_drawing(page)
    assert seen == {digit: digit for digit in DIGITS}
    page.screenshot(SHOTS / f"{kind}-drawn.png", whole=True)

    page.click("#sample")
    page.wait("document.querySelector('#verdict').textContent.includes('the label says')", 10)

    page.resize(390, 844)
    page.click("#clear")
    page.draw("#pad", DIGITS[5], pointer="touch")
    assert read_drawing(page) == 5
    assert page.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(SHOTS / f"{kind}-phone.png", whole=True)

    server.stop()
    page.resize(1360, 1000)
    page.open(server.base + "/digits/index.html")
    page.wait(READY, 90)
    run_script(page)
    page.wait("document.querySelector('#accuracy').textContent.endsWith('%')", 60)
    page.click("#stop")
    page.wait(READY, 10)
    assert "Stopped" in page.eval(CONSOLE)


DRAWN = """
import random, torch
print("drawn", random.random(), "sum", torch.ones(3).sum().item())
"""


def drawn(page):
    """The number that a script draws, in the page as it is."""
    run_script(page, DRAWN)
    page.wait(f"{CONSOLE}.includes('Finished in')", 60)
    words = page.eval(CONSOLE).split()
    assert words[words.index("sum") + 1] == "3.0"
    return words[words.index("drawn") + 1]


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_later_visits_start_from_a_copy(visit, server, kind):
    server.copies = True
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    assert page.eval("demo.engine.about.copied") is False
    page.wait("caches.open('torchlite-python').then((c) => c.keys()).then((keys) => keys.length)", 60)
    numbers = set()
    for _ in range(2):
        page.open(server.base + "/digits/index.html")
        page.wait(READY, 90)
        assert page.eval("demo.engine.about.copied") is True
        numbers.add(drawn(page))
    assert len(numbers) == 2  # the copy's generator was seeded anew

    # a copy that cannot be read: Python starts without, and makes another one
    broken = "caches.open('torchlite-python').then(async (c) => c.put((await c.keys())[0], new Response('no'))"
    page.eval(f"{broken}).then(() => 1)")
    page.open(server.base + "/digits/index.html")
    page.wait(READY, 90)
    assert page.eval("demo.engine.about.copied") is False
    drawn(page)


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_pages_not_visited_open_offline(visit, server, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    page.wait(
        "(async () => { const { runtime } = await (await fetch('../files.json')).json();"
        " return (await Promise.all(runtime.map((path) => caches.match('../' + path)))).every(Boolean) })()",
        60,
    )
    server.stop()
    page.open(server.base + "/pyscript/index.html")
    page.wait("document.querySelector('#status').textContent.startsWith('step 600')", 120)
    page.open(server.base + "/index.html")
    page.wait("document.querySelector('.cm-content') !== null", 20)
    page.click("#run")
    page.wait(f"{CONSOLE}.includes('in truth 0.841')", 120)


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "plain"])
@pytest.mark.parametrize("kind", KINDS)
def test_stop_and_run_again(visit, kind, isolated):
    page = visit(kind, "/digits/index.html" + ("" if isolated else "?isolate=0"))
    page.wait(READY, 90)
    assert page.eval("crossOriginIsolated") is isolated
    for _ in range(2):
        run_script(page)
        page.wait("document.querySelector('#accuracy').textContent.endsWith('%')", 60)
        # a drawing is read while the script still trains
        page.click("#clear")
        page.draw("#pad", DIGITS[0])
        page.wait("document.querySelector('#verdict strong') !== null", 10)
        assert page.eval(RUNNING)
        page.click("#stop")
        began = time.monotonic()
        page.wait(READY, 10)
        assert time.monotonic() - began < 2
        assert "Stopped" in page.eval(CONSOLE)
        assert "Traceback" not in page.eval(CONSOLE)
    # the half-trained network still answers
    page.click("#clear")
    page.draw("#pad", DIGITS[1])
    read_drawing(page)


@pytest.mark.parametrize("body", ["pass", "time.sleep(0.01)"], ids=["busy", "asleep"])
@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_stop_an_endless_loop(visit, kind, body):
    source = f"import time\nprint('on')\nwhile True:\n    {body}\n"
    page = visit(kind, "/digits/index.html?isolate=0")
    page.wait(READY, 90)
    run_script(page, source)
    page.wait(f"{CONSOLE}.includes('on')", 10)
    page.click("#stop")
    page.wait(READY, 2)


# the page's own code writes out what the script printed, after it
LATE = """
import signal, sys
out = sys.stdout
class Late:
    def write(self, text):
        return out.write(text)
    def flush(self):
        out.flush()
        sys.stdout = out
        signal.raise_signal(signal.SIGINT)
print("on")
sys.stdout = Late()
"""


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_an_interrupt_after_the_script(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    run_script(page, LATE)
    page.wait(f"{CONSOLE}.includes('Finished in')", 20)
    assert "Traceback" not in page.eval(CONSOLE)
    run_script(page, "raise KeyboardInterrupt")
    page.wait(f"{CONSOLE}.includes('Stopped')", 20)


GAPS = """(() => { let last = performance.now(); window.gap = 0; setInterval(() => { const now = performance.now();
window.gap = Math.max(window.gap, now - last); last = now }, 10); return 1 })()"""


@pytest.mark.parametrize("kind", KINDS)
def test_printing_leaves_the_page_alive(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    page.eval(GAPS)
    run_script(page, "for i in range(20000): print(i)\n")
    page.wait(f"{CONSOLE}.includes('Finished in')", 20)
    shown = page.eval(CONSOLE)
    assert "\n19999\n" in shown and "left out" in shown
    lines = [line for line in shown.splitlines() if line.isdigit()]
    assert lines == sorted(lines, key=int) and 1000 < len(lines) <= 6000
    assert page.eval("window.gap") < 500
    # one long text and one long line are printed whole
    run_script(page, "print(*range(4000))\nprint(*(f'row {i:6}' for i in range(3000)), sep='\\n')\n")
    page.wait(f"{CONSOLE}.includes('Finished in')", 20)
    shown = page.eval(CONSOLE)
    assert " ".join(map(str, range(4000))) in shown and "left out" not in shown
    assert all(f"row {i:6}" in shown for i in range(3000))
    # a few lines are all there, in the order of both streams
    run_script(page, "import sys\nfor i in range(300): print(i, file=(sys.stdout, sys.stderr)[i % 2])\n")
    page.wait(f"{CONSOLE}.includes('Finished in') && !{CONSOLE}.includes('row')", 20)
    assert page.eval(CONSOLE).splitlines()[:300] == [str(i) for i in range(300)]
    # a progress bar draws its line again and again
    run_script(page, "print('a')\nfor i in range(500): print(f'\\r{i} of 500', end='')\nprint('\\rb\\r\\nc')\n")
    page.wait(f"{CONSOLE}.includes('Finished in') && !{CONSOLE}.includes('299')", 20)
    assert page.eval(CONSOLE).splitlines()[:3] == ["a", "b", "c"]


@pytest.mark.parametrize("body", ["print('hello world')", "time.sleep(100)"], ids=["printing", "asleep"])
@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "plain"])
@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_stop_what_never_ends(visit, kind, isolated, body):
    page = visit(kind, "/digits/index.html" + ("" if isolated else "?isolate=0"))
    page.wait(READY, 90)
    page.eval(GAPS)
    run_script(page, f"import time\nprint('on')\nwhile True:\n    {body}\n")
    page.wait(RUNNING, 10)
    time.sleep(1.5)
    page.click("#stop")
    began = time.monotonic()
    page.wait(READY, 10)
    assert time.monotonic() - began < 1
    assert "Stopped after" in page.eval(CONSOLE)
    assert page.eval("window.gap") < 500
    assert page.eval("document.querySelectorAll('#console > *').length") < 4000
    # the same Python goes on: it was not replaced by a new one
    run_script(page, "print('again')\n")
    page.wait(f"{CONSOLE}.includes('again')", 3)


@pytest.mark.parametrize("kind", KINDS)
def test_input_asks_in_the_page(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    run_script(page, "name = input('Who? ')\nprint('hello', name)\nprint('again', input())\n")
    for word in ("Ada", "Bob"):
        page.wait("document.activeElement.matches('#console .ask input')", 20)
        if word == "Ada":
            page.screenshot(SHOTS / f"{kind}-input.png")
        page.keys(word + "{Enter}")
    page.wait(f"{CONSOLE}.includes('Finished in')", 20)
    assert page.eval(CONSOLE).splitlines()[:4] == ["Who? Ada", "hello Ada", "Bob", "again Bob"]
    run_script(page, "input('? ')\nprint('on')\n")
    page.wait("document.activeElement.matches('#console .ask input')", 20)
    page.click("#stop")
    page.wait(f"{CONSOLE}.includes('Stopped after')", 3)
    assert "on" not in page.eval(CONSOLE).split() and page.eval("document.querySelector('.ask') === null")


@pytest.mark.skipif("firefox" not in KINDS, reason="only Firefox can turn stack switching off")
@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "plain"])
def test_stop_without_stack_switching(visit, isolated):
    # the interrupt byte where memory can be shared, else a new worker
    page = visit("firefox", "/digits/index.html" + ("" if isolated else "?isolate=0"), jspi=False)
    page.wait(READY, 90)
    assert page.eval("demo.engine.about.jspi") is False
    run_script(page)
    page.wait("document.querySelector('#accuracy').textContent.endsWith('%')", 60)
    page.click("#stop")
    page.wait(READY, 60)
    assert "Stopped" in page.eval(CONSOLE)
    run_script(page, "import torch\nprint(torch.ones(2).sum().item())\n")
    page.wait(f"{CONSOLE}.includes('2.0')", 30)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_tracebacks(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    run_script(page, "import torch\n\ndef mix(a, b):\n    return a @ b\n\nmix(torch.ones(2, 3), torch.ones(2, 3))\n")
    page.wait("document.querySelector('.traceback') !== null", 20)
    shown = page.eval(CONSOLE)
    assert 'File "digits.py", line 6, in <module>' in shown
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in shown
    assert "demo_runner" not in shown
    assert page.eval("document.querySelector('.code-wrong').textContent") == "    return a @ b"
    page.screenshot(SHOTS / f"{kind}-error.png")

    run_script(page, "if True\n    pass\n")
    page.wait(f"{CONSOLE}.includes('SyntaxError')", 20)
    run_script(page, "print('fine again')\n")
    page.wait(f"{CONSOLE}.includes('fine again')", 20)


@pytest.mark.parametrize("kind", KINDS)
def test_draw_with_keys(visit, kind):
    page = visit(kind, "/digits/index.html")
    page.wait(READY, 90)
    run_script(page, "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n")
    page.wait(f"{CONSOLE}.includes('Finished')", 20)
    page.eval("(document.querySelector('#pad').focus(), 1)")
    page.keys("{ArrowUp}" * 6 + " " + "{ArrowDown}" * 12 + " ")
    read_drawing(page)


@pytest.mark.parametrize("kind", KINDS)
def test_home_page(visit, kind):
    page = visit(kind, "/index.html")
    # at once: the page reloads itself for its headers, and what was typed and pressed before is not lost
    type_and_run = "(demo.editor.text += \"\\nprint('typed')\\n\", document.querySelector('#run').click(), true)"
    page.wait(f"window.demo && {type_and_run}", 20)
    page.wait(f"{CONSOLE}.includes('typed')", 120)
    assert page.eval("crossOriginIsolated") is True and page.eval("document.querySelectorAll('.traceback').length") == 0
    assert "step 500  loss 0.0000" in page.eval(CONSOLE) and "in truth 0.841" in page.eval(CONSOLE)
    page.screenshot(SHOTS / f"{kind}-home.png", whole=True)


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_pyscript_page(visit, server, kind):
    page = visit(kind, "/pyscript/index.html")
    page.wait("document.querySelector('#status').textContent.startsWith('step 600')", 120)
    assert float(text(page, "#status").split()[-1]) < 0.1
    page.screenshot(SHOTS / f"{kind}-pyscript.png", whole=True)
    page.wait("!document.querySelector('#again').disabled", 10)
    page.click("#again")
    page.wait("document.querySelector('#again').disabled", 5)
    page.wait("!document.querySelector('#again').disabled", 60)

    server.stop()
    page.open(server.base + "/pyscript/index.html")
    page.wait("document.querySelector('#status').textContent.startsWith('step 600')", 120)


@pytest.mark.parametrize("kind", KINDS)
def test_javascript_page(visit, kind):
    page = visit(kind, "/javascript/index.html")
    page.wait("document.querySelector('#status').textContent.startsWith('step 400')", 120)
    assert float(text(page, "#status").split()[-1]) < 0.1
    page.screenshot(SHOTS / f"{kind}-javascript.png", whole=True)
