"""Fixtures for tests in real browsers. The generation of Pyodide comes from TORCHLITE_PYODIDE (314, the default,
or 029)."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [
    str(HERE),
    str(HERE.parent / "pyodide"),
    str(ROOT / "wheels"),
    str(ROOT / "native"),
    str(ROOT / "demos"),
]
import backend
import dist as distribution
import firefox
import make
import page_driver
import pages
import policies
import runtime
import serve

TARGET = os.environ.get("TORCHLITE_PYODIDE", "314")
BROWSERS = [b for b in os.environ.get("TORCHLITE_BROWSERS", "chromium,firefox").split(",") if b]


def _missing(browser: str) -> str | None:
    if browser == "chromium":
        return pages.chromium_available()
    return None if firefox.executable() else "Firefox is not installed: apt-get install firefox-esr"


def _open(browser: str):
    reason = _missing(browser)
    if reason:
        pytest.skip(reason)
    return pages.chromium() if browser == "chromium" else firefox.FirefoxBiDi()


# ---- pytest-pyodide: `selenium`, `selenium_worker`, @run_in_pyodide --------------------------------------------------


def pytest_configure(config):
    try:
        config.option.dist_dir = pytest.pyodide_dist_dir = distribution.prepare(TARGET)
    except runtime.Missing as e:
        pytest.exit(f"browser tests: {e}", returncode=3)
    from pytest_pyodide import runner
    from pytest_pyodide.config import get_global_config

    c = get_global_config()
    c.set_flags("chrome", [*c.get_flags("chrome"), "--no-sandbox", *pages.SHARED_MEMORY, *pages.CHROMIUM_WEBGPU])
    runner.SeleniumFirefoxRunner.get_driver = lambda self, jspi=False: firefox.FirefoxBiDi()


# ---- ordinary pages --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def dist_folder():
    return distribution.prepare(TARGET)


@pytest.fixture(scope="session")
def wheel_name(dist_folder):
    return distribution.wheel(TARGET, dist_folder).name


@pytest.fixture(scope="session")
def extra_index(tmp_path_factory):
    """An index with one package of our own making that requires torch>=2.0."""
    folder = tmp_path_factory.mktemp("extra")
    code = b"import torch\n\n\ndef answer():\n    return float(torch.arange(4).sum())\n"
    meta = b"Metadata-Version: 2.1\nName: needs-torch\nVersion: 1.0\nRequires-Dist: torch>=2.0\n"
    backend.write_wheel(folder, "py3-none-any", {"needs_torch.py": code}, dist="needs_torch-1.0", meta=meta, pure=True)
    make.write_index(folder)
    return folder


@pytest.fixture(scope="session")
def site(dist_folder, extra_index):
    """Base URL of a server with /dist/, /extra/ and an empty page; ordinary headers."""
    with pages.serve({"/dist/": dist_folder, "/extra/": extra_index}, {"/empty.html": pages.EMPTY}) as base:
        yield base


@pytest.fixture(scope="session")
def isolated_site(dist_folder):
    """The same with PyScript's pages, cross-origin isolated."""
    import test_pyscript

    roots = {"/dist/": dist_folder, "/pyscript/": runtime.npm_packages() / "@pyscript" / "core" / "dist"}
    with pages.serve(roots, test_pyscript.pages(TARGET), pages.ISOLATED) as base:
        yield base


@pytest.fixture(scope="session", params=BROWSERS)
def driver(request):
    d = _open(request.param)
    d.name_ = request.param
    yield d
    d.quit()


@pytest.fixture
def page(driver, site, wheel_name):
    """An empty page with Pyodide and the wheel loaded."""
    driver.get(site + "/empty.html")
    pages.run_async(driver, pages.load_text(site, wheel_name))
    return driver


# ---- the demo site ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def built_site():
    if os.environ.get("TORCHLITE_SITE") != "built":  # tests/run.py builds it once for its layers
        subprocess.run([sys.executable, str(ROOT / "demos" / "build.py"), "--tested"], check=True)


class Server:
    """A plain static server that can be switched off. Only where `copies` is set, pages copy Python's memory for their
    next visit: each test is a first one, and would start Python twice."""

    copies = False

    def __init__(self):
        self._server = serve.make_server(quiet=True)
        site, made = self, self._server.RequestHandlerClass

        class Handler(made.func):
            def do_GET(self):
                if site.copies or not self.path.endswith("/snapshot_worker.js"):
                    return super().do_GET()
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript")
                self.send_header("Content-Length", "0")
                self.end_headers()

        self._server.RequestHandlerClass = functools.partial(Handler, **made.keywords)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.base = f"http://localhost:{self._server.server_port}"

    def stop(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def server(built_site):
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def visit(server):
    """Opens a fresh browser on a path of the site."""
    opened = []

    def open_page(kind, path, **options):
        reason = page_driver.missing(kind)
        if reason:
            pytest.skip(reason)
        page = page_driver.open_browser(kind, **options)
        opened.append(page)
        page.resize(1360, 1000)
        page.open(server.base + path)
        return page

    yield open_page
    for page in opened:
        page.quit()


@pytest.fixture
def policy(driver, tmp_path, dist_folder, wheel_name):
    return policies.Policy(driver, tmp_path, dist_folder, wheel_name)
