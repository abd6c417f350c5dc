"""A script of the site as a page of one's own: the file that "Download it as a page" makes, opened from the disk."""

from __future__ import annotations

import json
import time

import pages
import pytest
from test_demo import MAINLY_CHROMIUM, pytestmark  # noqa: F401
from test_demos import SITE

OUT = "document.querySelector('#out').textContent"
STATUS = "document.querySelector('#status').textContent"
# the download is kept for the test, in place of the disk
CAUGHT = "((HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href] }), 1)"


def program(page, source):
    page.eval(f"((document.querySelector('#program').textContent = {json.dumps(source)}), 1)")
    page.click("#run")


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_download_it_as_a_page(visit, kind, tmp_path):
    page = visit(kind, "/index.html")
    page.wait("window.demo && crossOriginIsolated", 20)
    page.eval("((demo.editor.text += \"\\nprint(2 < 3, '</script>')\\n\"), 1)")
    page.eval(CAUGHT)
    page.click("#take")
    page.wait("window.saved", 20)
    page.wait("document.querySelector('#taken').textContent.startsWith('my-network.html, 2.')", 5)
    name, text = page.eval("fetch(saved[1]).then(async (answer) => [saved[0], await answer.text()])")
    assert name == "my-network.html"
    list = json.loads((SITE / "files.json").read_text())
    assert list["public"] in text

    with pages.serve({"/": SITE / list["pyodide"]}, headers={"Access-Control-Allow-Origin": "*"}) as runtime:
        file = tmp_path / name
        file.write_text(text.replace(list["public"], runtime))
        page.open(file.as_uri())
        page.wait(f"{STATUS} === 'Done'", 60)
        assert page.eval("location.protocol") == "file:"
        page.wait(f"{OUT}.includes('step 500') && {OUT}.endsWith('True </script>\\n')", 5)
        page.screenshot(tmp_path / "page.png")
        program(page, "while True: print('on')\n")
        page.wait(f"{OUT}.includes('on')", 10)
        time.sleep(4)  # the page stays alive however much is printed
        began = time.monotonic()
        page.click("#run")
        assert page.eval(STATUS) == "Stopped"
        assert time.monotonic() - began < 10  # it never came through before; other browsers run beside this one
        program(page, "print('once more')\nnone = 1 / 0\n")
        page.wait(f"{STATUS} === 'It failed'", 60)
        page.wait(f"{OUT}.startsWith('once more') && {OUT}.includes('ZeroDivisionError')", 5)
        assert page.eval(f"{OUT}.includes('program.py\", line 2') && !{OUT}.includes('_pyodide')")
        page.eval("((window.prompt = (question) => `${question} no`), 1)")
        asked = page.eval("'Suspending' in WebAssembly")
        program(page, "import sys\nprint('[' + input('Really?') + ']')\nsys.exit(0)\n")
        page.wait(f"{STATUS} === '{'Done' if asked else 'It failed'}'", 60)
        page.wait(f"{OUT}.includes('{'[Really? no]' if asked else 'which this one cannot'}')", 5)
        program(page, "raise SystemExit('enough')\n")
        page.wait(f"{STATUS} === 'It ended: enough'", 60)
