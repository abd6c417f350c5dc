"""The demos that shared/demo.js drives, as a visitor uses them. Screenshots go to .out/demo."""

from __future__ import annotations

import json
import re
import time

import pytest
from test_demo import CONSOLE, DEMOS, KINDS, MAINLY_CHROMIUM, READY, SHOTS, pytestmark  # noqa: F401

SITE = DEMOS / "_site"


def shoot(page, name):
    """The page at the width of a desktop and of a phone, on which nothing may be cut off."""
    page.screenshot(SHOTS / f"{page.kind}-{name}.png", whole=True)
    page.resize(390, 844)
    assert page.eval("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(SHOTS / f"{page.kind}-{name}-phone.png", whole=True)
    page.resize(1280, 900)
    assert not [line for line in page.log if line.startswith("error")], page.log


def start(visit, kind, name, edit="", **options):
    """Opens a demo; `edit` is JavaScript from its script's text to another one."""
    page = visit(kind, f"/{name}/index.html", **options)
    page.wait(READY, 90)
    if edit:
        page.eval(f"((text) => (demo.editor.text = {edit}, 1))(demo.editor.text)")
    return page


def set_text(page, selector, text):
    page.eval(
        f"((e) => (e.value = {text!r}, e.dispatchEvent(new Event('input', {{bubbles: true}})), 1))"
        f"(document.querySelector({selector!r}))"
    )


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_gpt(visit, kind):
    page = start(visit, kind, "gpt", "text.replace('SECONDS = 180', 'SECONDS = 600')")
    assert page.eval("document.querySelector('#text').value.length") > 200_000
    set_text(page, "#text", "the cat sat on the mat. " * 200)
    page.click("#run")
    # the attention between the newest characters, while it trains
    page.wait("document.querySelectorAll('#written span').length === 64", 30)
    page.wait("Number(document.querySelector('#unseen').textContent) < 1.5", 60)
    page.wait("Number(document.querySelector('#loss').textContent) < 0.3", 60)
    weights = "[...document.querySelectorAll('#written span')].map((s) => Number(s.style.getPropertyValue('--weight')))"
    found = page.eval(weights)
    assert max(found) == 1 and min(found) < 0.5
    page.eval("(document.querySelector('#written').focus(), 1)")
    page.keys("{ArrowLeft}{ArrowLeft}")
    assert page.eval("document.querySelector('#written .chosen').nextSibling.nextSibling.nextSibling === null")
    shoot(page, "gpt")
    # it has learned the sentence, however fast this machine is
    page.wait(f"{CONSOLE}.includes('nats per character') && {CONSOLE}.includes(' mat. the ')", 60)
    page.click("#stop")
    page.wait(READY, 10)
    # the number above the chart is the last one printed, whole
    printed = re.findall(r"([\d.]+) nats per character", page.eval(CONSOLE))
    assert page.eval("document.querySelector('#unseen').textContent") == printed[-1]
    # another head, after the run
    page.wait("document.querySelector('#status').textContent.startsWith('Stopped')", 5)
    before = page.eval(f"JSON.stringify({weights})")
    page.eval("((s) => (s.value = '3', s.dispatchEvent(new Event('change')), 1))(document.querySelector('#head'))")
    page.wait(f"JSON.stringify({weights}) !== {before!r}", 5)
    set_text(page, "#text", "short")
    page.click("#run")
    page.wait(f"{CONSOLE}.includes('The text has 5 characters')", 20)


@pytest.mark.slow
def test_gpt_in_three_minutes(visit):
    page = start(visit, "chromium", "gpt")
    page.click("#run")
    page.wait(f"{CONSOLE}.includes('--- the end')", 240)
    printed = re.search(r"the end: ([\d.]+) nats", page.eval(CONSOLE))[1]
    assert float(printed) < 2.0
    page.wait(READY, 10)
    assert page.eval("document.querySelector('#unseen').textContent") == printed


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_search_without_weights(visit, kind):
    page = start(visit, kind, "search")
    if json.loads((SITE / "weights" / "list.json").read_text()).get("minilm.safetensors"):
        pytest.skip("the site has the weights")
    page.click("#run")
    page.wait(f"{CONSOLE}.includes('make demo ARGS=--weights')", 10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_search(visit, server, kind):
    page = start(visit, kind, "search")
    if not json.loads((SITE / "weights" / "list.json").read_text()).get("minilm.safetensors"):
        pytest.skip("the site has no weights: make demo ARGS=--weights")
    text = "Cats purr when they are content.\n\nThe stock market fell sharply on Monday.\n\nBoil the pasta until soft."
    page.eval(
        f"((input, box) => (box.items.add(new File([{text!r}], 'notes.txt')), input.files = box.files,"
        " input.dispatchEvent(new Event('change')), 1))(document.querySelector('#files'), new DataTransfer())"
    )
    page.wait("document.querySelector('#source').textContent.startsWith('notes.txt: 3 passages')", 5)
    page.click("#run")
    page.wait("!document.querySelector('#query').disabled", 120)
    for query, found in (("shares lost value", "stock"), ("a happy pet", "Cats"), ("cooking noodles", "pasta")):
        set_text(page, "#query", query)
        page.wait(f"document.querySelector('#found p')?.textContent.includes({found!r})", 10)
    shoot(page, "search")
    # the next visit needs no network for the weights
    page.wait("document.querySelector('#weights').textContent.includes('in this browser: 91.1 MB')", 5)
    server.stop()
    page.open(server.base + "/search/index.html")
    page.wait(READY, 90)
    page.click("#run")
    page.wait("!document.querySelector('#query').disabled", 120)
    page.click("#forget")
    page.wait("document.querySelector('#weights').textContent.includes('91 MB, once')", 10)


# the mean difference between what the network draws and what it was shown, of 255
DIFFERENCE = """(() => { const read = (id) => { const c = document.getElementById(id);
const s = new OffscreenCanvas(32, 24), p = s.getContext('2d'); p.drawImage(c, 0, 0, 32, 24);
return p.getImageData(0, 0, 32, 24).data }; const [a, b] = [read('target'), read('drawn')];
return a.reduce((sum, v, i) => sum + Math.abs(v - b[i]), 0) / a.length })()"""


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_picture(visit, kind):
    page = start(visit, kind, "picture", "text.replace('STEPS = 1500', 'STEPS = 200')")
    page.click("#run")
    page.wait("Number(document.querySelector('#step').textContent) > 20", 30)
    page.wait(f"{DIFFERENCE} < 25", 30)
    page.wait("document.querySelector('#status').textContent.startsWith('Finished')", 60)
    page.wait("document.querySelector('#drawn').width === 336", 5)
    assert page.eval(DIFFERENCE) < 8
    assert page.eval("parseFloat(document.querySelector('#likeness').textContent)") > 25
    shoot(page, "picture")
    # a picture of one's own
    page.eval(
        "(async () => { const c = new OffscreenCanvas(50, 100), p = c.getContext('2d');"
        " p.fillStyle = '#08f'; p.fillRect(0, 0, 50, 100); const box = new DataTransfer();"
        " box.items.add(new File([await c.convertToBlob()], 'a.png')); const input = document.querySelector('#file');"
        " input.files = box.files; input.dispatchEvent(new Event('change')); return 1 })()"
    )
    page.wait("document.querySelector('#target').height === 112", 5)
    page.click("#run")
    page.wait(f"{CONSOLE}.includes('56x112 pixels')", 20)
    page.wait("document.querySelector('#drawn').width === 168", 60)
    assert page.eval(DIFFERENCE) < 2


SHORT = {
    "gpt": "text.replace('SECONDS = 180', 'SECONDS = 20')",
    "picture": "text.replace('STEPS = 1500', 'STEPS = 60')",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_on_webgpu(visit, name):
    page = start(visit, "chromium", name, SHORT[name], gpu=True)
    page.wait("!document.querySelector('#device-choice').hidden", 30)
    page.eval("(document.querySelector('#device').value = 'webgpu', 1)")
    page.click("#run")
    page.wait("document.querySelector('#status').textContent.startsWith('Finished')", 200)
    assert "on webgpu" in page.eval(CONSOLE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_balance(visit, kind):
    page = start(visit, kind, "balance")
    page.click("#run")
    page.wait("/^[1-9]/.test(document.querySelector('#step').textContent)", 30)
    page.wait("document.querySelector('#rails').getAttribute('aria-label') === '64 carts that learn'", 10)
    page.wait("!document.querySelector('#left').disabled", 90)
    assert page.eval("Number(document.querySelector('#length').textContent)") > 450
    shoot(page, "balance")
    time.sleep(1)
    assert page.eval("document.querySelector('#falls').textContent") == "0"
    # pushed hard, it falls
    for _ in range(8):
        page.keys("{ArrowRight}")
    page.wait("Number(document.querySelector('#falls').textContent) > 0", 10)
    page.click("#stop")
    page.wait(READY, 10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_diffusion(visit, kind):
    page = start(
        visit,
        kind,
        "diffusion",
        "text.replace('STEPS = 1500', 'STEPS = 400').replace('range(3):\\n    for s', 'range(1):\\n    for s')",
    )
    page.click("#run")
    page.wait("Number(document.querySelector('#step').textContent) >= 50", 30)
    page.wait(f"{CONSOLE}.includes('Out of noise, step by step')", 120)
    page.wait("document.querySelector('#status').textContent.startsWith('Finished')", 60)
    assert page.eval("Number(document.querySelector('#loss').textContent)") < 0.75
    page.click("#keys button:nth-child(2)")
    page.wait("document.querySelector('#one').getAttribute('aria-label') === 'A 1, drawn by the network'", 20)
    # a one is a bar in the middle: ink there, none at the sides
    ink = """(() => { const d = document.querySelector('#one').getContext('2d').getImageData(1, 1, 8, 8).data;
    const column = (x) => [0, 1, 2, 3, 4, 5, 6, 7].reduce((sum, y) => sum + 255 - d[4 * (8 * y + x)], 0) / 8;
    return [0, 1, 2, 3, 4, 5, 6, 7].map(column) })()"""
    columns = page.eval(ink)
    assert max(columns[2:6]) > 100 and max(columns[0], columns[7]) < 60, columns
    shoot(page, "diffusion")


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_speed(visit, kind):
    quick = "text.replace('ROUNDS = 7', 'ROUNDS = 1').replace('WARM = 0.2', 'WARM = 0').replace('= 0.05', '= 0.005')"
    page = start(visit, kind, "speed", quick)
    peer = page.eval("fetch('peer.json').then((answer) => answer.json())")["peer"]
    columns = 4 if peer else 2
    page.click("#run")
    page.wait("document.querySelector('#status').textContent === 'Finished.'", 90)
    rows = page.eval(
        "[...document.querySelectorAll('#cpu tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert len(rows) == 7 and {len(row) for row in rows} == {columns}
    for _, ours, *others in rows:
        assert float(ours) > 0
        if others:
            ratio = float(others[1].rstrip("×"))
            assert ratio == pytest.approx(float(others[0]) / float(ours), rel=0.15, abs=0.06), rows
    assert page.eval("document.querySelector('#gpu-card').hidden && !document.querySelector('#copy').disabled")
    shoot(page, "speed")
