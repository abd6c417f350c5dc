"""The docs in a browser: get-started pages and how-tos run as they stand; search works, without a network too."""

import io
import pathlib
import re

import pages
import pytest
from pages import python, run_async
from test_demo import KINDS, MAINLY_CHROMIUM

DOCS = pathlib.Path(__file__).resolve().parents[2] / "demos" / "docs"
RESULT = "y = 2.00 x + 1.00"


def block(page, kind):
    return re.search(rf"^```{kind}\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)[1]


def local(html, wheel):
    """A page of the docs with the runtime of the tests in place of the public one."""
    html = re.sub(r"https://cdn.jsdelivr.net/pyodide/v[^/]+/full/", "/dist/", html)
    html = re.sub(r"https://cdn.jsdelivr.net/npm/@pyscript/core@[^/]+/dist/", "/pyscript/", html)
    return re.sub(r"\./torchlite-[\w.-]+\.whl", f"./dist/torchlite/{wheel}", html)


@pytest.fixture(scope="module")
def doors(dist_folder, wheel_name):
    import runtime

    roots = {"/dist/": dist_folder, "/pyscript/": runtime.npm_packages() / "@pyscript" / "core" / "dist"}
    texts = {
        "/page.html": local(block("start/page.md", "html page"), wheel_name),
        "/javascript.html": local(block("start/javascript.md", "html javascript"), wheel_name),
        "/pyscript.html": local(block("start/pyscript.md", "html pyscript"), wheel_name),
        "/main.py": block("start/pyscript.md", "python pyscript"),
    }
    program = "import torch\nprint('one')\nprint('two')\n1 / 0\n"
    texts["/page-failing.html"] = texts["/page.html"].replace("import torch\n", program, 1)
    for name in ("page", "javascript", "pyscript"):
        texts[f"/{name}-alone.html"] = re.sub("/dist/pyodide.mjs", "/gone/pyodide.mjs", texts[f"/{name}.html"])
    texts["/pyscript-gone.html"] = texts["/pyscript.html"].replace("/pyscript/core.js", "/gone/core.js")
    with pages.serve(roots, texts) as base:
        yield base


def shown(driver, address, pattern):
    """The text of a page's output, as soon as the pattern is in it."""
    driver.get(address)
    return run_async(
        driver,
        f"""const end = Date.now() + 90000;
        const text = () => document.querySelector("#out").textContent;
        while (!/{pattern}/.test(text()) && Date.now() < end) await new Promise((done) => setTimeout(done, 100));
        return text().trim();""",
    )


@pytest.mark.parametrize("name", ["page", "javascript", "pyscript"])
def test_get_started(driver, doors, name):
    assert shown(driver, f"{doors}/{name}.html", "^y =") == RESULT


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("page-failing", "ZeroDivisionError: division by zero"),
        ("page-alone", "gone/pyodide.mjs"),
        ("javascript-alone", "gone/pyodide.mjs"),
        ("pyscript-alone", "gone/pyodide.mjs"),
        ("pyscript-gone", "PyScript could not be loaded"),
    ],
)
def test_what_fails_is_shown(driver, doors, name, wanted):
    text = shown(driver, f"{doors}/{name}.html", wanted.replace("/", "."))
    assert wanted in text
    if name == "page-failing":
        assert text.startswith("one\ntwo\nTraceback")


def test_how_tos(driver, dist_folder, wheel_name):
    """The programs of how-tos, with a file that torch.save wrote."""
    import torchlite

    file = io.BytesIO()
    torchlite.save(torchlite.nn.Linear(3, 2).state_dict(), file)
    (dist_folder / "net.pt").write_bytes(file.getvalue())
    try:
        with pages.serve({"/dist/": dist_folder}, {"/empty.html": pages.EMPTY}) as base:
            driver.get(base + "/empty.html")
            run_async(driver, pages.load_text(base, wheel_name))
            for name in ("checkpoint", "cache", "cache"):  # the second time without the server's file
                code = block(f"howto/{name}.md", "python page").replace('"net.pt"', f'"{base}/dist/net.pt"')
                assert python(driver, code.replace("print(sorted(state))", "sorted(state)")) == ["bias", "weight"]
                if name == "cache":
                    (dist_folder / "net.pt").unlink(missing_ok=True)
                    python(driver, "import os; os.remove(torch.hub.get_dir() + '/checkpoints/net.pt')")
            if python(driver, "import torch; torch.webgpu.is_available()"):
                for name in ("gpu", "memory"):
                    python(driver, block(f"howto/{name}.md", "python page") + "\nNone\n")
    finally:
        (dist_folder / "net.pt").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_search_and_offline(visit, server, kind):
    pytest.importorskip("material", reason="mkdocs-material builds the docs: make setup")
    page = visit(kind, "/docs/index.html")
    for file in ("search/search_index.json", "assets/search.js"):
        page.wait(f"caches.match('{file}').then((stored) => stored !== undefined)", 30)
    outside = "performance.getEntriesByType('resource').filter((r) => !r.name.startsWith(location.origin)).length"
    assert page.eval(outside) == 0
    page.resize(390, 844)
    for name in ("reference/nn.functional", "porting", "support"):
        page.open(f"{server.base}/docs/{name}.html")
        assert page.eval("document.documentElement.scrollWidth - innerWidth") <= 0, name
    page.resize(1280, 900)
    server.stop()
    page.open(server.base + "/docs/index.html")
    page.wait("document.querySelector('.md-search__input') !== null", 20)
    page.click(".md-search__input")
    page.keys("conv2d")
    page.wait("document.querySelector('.md-search-result__link[href*=\"conv2d\"]') !== null", 30)
    page.open(server.base + "/docs/reference/nn.functional.html#torch.nn.functional.conv2d")
    page.wait("document.getElementById('torch.nn.functional.conv2d').getBoundingClientRect().top < 300", 20)
    assert not [line for line in page.log if "rror" in line and "Failed to load resource" not in line], page.log


# what is typed, and the start of what comes first: an entry of the reference by its name, a guide by words
FOUND = {
    "torch.nn.Linear": "reference/nn.html#torch.nn.Linear",
    "torch.save": "reference/torch.html#torch.save",
    "torch.cat": "reference/torch-indexing.html#torch.cat",
    "Adam": "reference/optim.html#torch.optim.Adam",
    "softmax": "reference/nn.functional.html#torch.nn.functional.softmax",
    "tensor.reshape": "reference/torch-indexing.html#torch.reshape",
    "cross entropy loss": "reference/nn.html#torch.nn.CrossEntropyLoss",
    "save model": "howto/checkpoint.html",
    "install": "start/",
    "out of memory": "howto/memory.html",
    "SharedArrayBuffer": "troubleshooting.html",
}
LINKS = "[...document.querySelectorAll('.md-search-result__link')].map((a) => a.href.replace(/[?]h=[^#]*/, ''))"


@pytest.mark.parametrize("kind", MAINLY_CHROMIUM)
def test_search_finds_names(visit, kind):
    pytest.importorskip("material", reason="mkdocs-material builds the docs: make setup")
    page = visit(kind, "/docs/howto/gpu.html")
    page.wait("document.querySelector('.md-search__input') !== null", 20)
    page.click(".md-search__input")
    if kind == "firefox":  # without a screen its window has no focus, by which the theme opens the list
        page.eval("document.querySelector('#__search').click()")
    for typed, first in FOUND.items():
        page.eval("document.querySelector('.md-search__input').select()")
        page.keys(typed)
        same = "===" if "#" in first else ".startsWith"
        page.wait(f"{LINKS}[0]?.split('/docs/')[1]{same}({first!r})", 20)
    page.eval("document.querySelector('.md-search__input').select()")
    page.keys("numpy")
    page.wait(f"{LINKS}[0]?.endsWith('#Tensor.numpy')", 20)
    page.wait(f"{LINKS}.slice(0, 8).every((link) => !link.includes('/aten.html'))", 5)
    page.keys("{ArrowDown}")  # to the first result, a link as the others are
    page.wait("document.activeElement.href?.endsWith('#Tensor.numpy')", 5)
    page.keys("{ArrowUp}{Enter}")
    page.wait("location.hash === '#Tensor.numpy' && location.pathname.endsWith('/reference/Tensor.html')", 20)
