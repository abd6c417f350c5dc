"""torch.hub in a page: weights by address stay in the browser, and a download that broke off goes on."""

from __future__ import annotations

import http.server
import io
import re
import threading
import time

import pages
import pytest
from pages import python, run_async

MB = 1 << 20
URL = "self.location.origin + '/w.pt'"


class Weights(http.server.ThreadingHTTPServer):
    """Serves pages, and a file that it breaks off when it is told to; knows ranges."""

    def __init__(self, roots, data):
        handler = type("Handler", (_Handler,), {"roots": roots, "pages": {"/empty.html": pages.EMPTY}})
        super().__init__(("127.0.0.1", 0), handler)
        self.data, self.tag, self.breaks, self.ranges, self.asked = data, "1", [], True, []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(pages._Handler):
    def do_GET(self):
        if not self.path.startswith("/w"):
            return super().do_GET()
        if "missing" in self.path:
            return self.send_error(404)
        server = self.server
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        server.asked.append(self.headers.get("Range"))
        start = int(found[1]) if found and server.ranges else 0
        rest = server.data[start:]
        self.send_response(206 if found and server.ranges else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", f'"{server.tag}"')
        self.end_headers()
        if not server.breaks:
            return self.wfile.write(rest)
        self.wfile.write(rest[: server.breaks.pop(0)])
        self.wfile.flush()
        time.sleep(0.5)  # a browser forgets what the page has not taken when the connection breaks


@pytest.fixture(scope="module")
def data():
    import torchlite as torch

    file = io.BytesIO()
    torch.save({"a": torch.arange(2.5 * MB), "b": torch.ones(3)}, file)  # 10 MB: three parts
    return file.getvalue()


@pytest.fixture
def weights(driver, dist_folder, data):
    server = Weights({"/dist/": str(dist_folder)}, data)
    yield server
    server.shutdown()
    server.server_close()


def load(driver, server, wheel_name):
    driver.get(server.base + "/empty.html")
    run_async(driver, pages.load_text(server.base, wheel_name))
    python(driver, f"import torch, os\nURL = '{server.base}/w.pt'\nseen = []\n")


SUM = """
state = torch.hub.load_state_dict_from_url(URL, progress=lambda done, total: seen.append((done, total)))
[state["a"].sum().item(), state["b"].tolist(), seen[0][1] if seen else None, seen[-1][0] if seen else None]
"""


def test_stays_and_goes_on(driver, weights, data, wheel_name):
    whole = [sum(range(int(2.5 * MB))), [1, 1, 1], len(data), len(data)]
    load(driver, weights, wheel_name)
    # broken twice within one call
    weights.breaks = [5 * MB + 17, 3 * MB]
    got = python(driver, SUM)
    assert abs(got[0] - whole[0]) < whole[0] * 1e-5 and got[1:] == whole[1:]
    first, *starts = weights.asked
    starts = [int(asked[6:-1]) for asked in starts]
    assert first is None and len(starts) == 2
    assert 4 * MB <= starts[0] <= 5 * MB + 17 and starts[0] + 2 * MB <= starts[1]
    listed = python(driver, "torch.hub.downloads()")
    assert [(f["url"], f["bytes"], f["total"]) for f in listed] == [(f"{weights.base}/w.pt", len(data), len(data))]
    # a second call reads the file of this Python, a new page the browser's storage
    python(driver, SUM)
    load(driver, weights, wheel_name)
    assert python(driver, SUM)[1:] == whole[1:]
    assert len(weights.asked) == 3
    # removed
    assert python(driver, "torch.hub.remove_download(URL)\ntorch.hub.downloads()") == []
    assert python(driver, SUM)[1:] == whole[1:]
    assert weights.asked[3:] == [None]
    python(driver, "torch.hub.remove_download(URL)")


@pytest.mark.slow
def test_next_visit_goes_on(driver, weights, data, wheel_name):
    load(driver, weights, wheel_name)
    weights.breaks = [6 * MB] + [0] * 9
    failed = python(driver, f"try:\n    {SUM.strip().splitlines()[0]}\nexcept OSError as e:\n    said = str(e)\nsaid")
    came = int(re.search(rf"(\d+) bytes of {len(data)} came; the next call goes on from there", failed)[1])
    assert 5 * MB <= came <= 6 * MB
    assert python(driver, "[(f['bytes'], f['sha256']) for f in torch.hub.downloads()]") == [[came, None]]
    weights.breaks, weights.asked = [], []
    load(driver, weights, wheel_name)
    got = python(
        driver, SUM.replace("load_state_dict_from_url(", "load_state_dict_from_url_async(").replace("= t", "= await t")
    )
    assert got[1:] == [[1, 1, 1], len(data), len(data)] and weights.asked == [f"bytes={came}-"]
    python(driver, "torch.hub.remove_download(URL)")


@pytest.mark.slow
def test_another_file_by_then(driver, weights, data, wheel_name):
    # another file by then, and a server without ranges: from the beginning
    for change in ({"tag": "2"}, {"ranges": False}):
        weights.breaks = [5 * MB] + [0] * 9
        load(driver, weights, wheel_name)
        python(driver, f"try:\n    {SUM.strip().splitlines()[0]}\nexcept OSError as e:\n    pass\n")
        weights.breaks = []
        vars(weights).update(change)
        load(driver, weights, wheel_name)
        assert python(driver, SUM)[3] == len(data), change
        python(driver, "torch.hub.remove_download(URL)")


@pytest.mark.slow
def test_hash_and_errors(driver, weights, data, wheel_name):
    import hashlib

    digest = hashlib.sha256(data).hexdigest()
    load(driver, weights, wheel_name)
    python(driver, f"torch.hub.download_url_to_file(URL, 'w.pt', '{digest[:8]}', progress=False)")
    assert python(driver, "os.path.getsize('w.pt')") == len(data)
    code = (
        "try:\n    torch.hub.download_url_to_file(%s, 'x.pt', %r)\n"
        "except Exception as e:\n    r = f'{type(e).__name__}: {e}'\nr"
    )
    assert 'RuntimeError: invalid hash value (expected "0000", got' in python(driver, code % ("URL", "0000"))
    assert python(driver, "[os.path.exists('x.pt'), torch.hub.downloads()]") == [False, []]
    assert python(driver, code % ("URL[:-4] + 'w_missing'", None)).startswith("HTTPError: HTTP Error 404")
    # an older file of the address is stored: its hash is wrong, so it is fetched again
    python(driver, "torch.hub.download_url_to_file(URL, 'w.pt', progress=False)")
    weights.data = data + b"x"
    digest = hashlib.sha256(weights.data).hexdigest()
    python(driver, f"torch.hub.download_url_to_file(URL, 'w.pt', '{digest[:8]}', progress=False)")
    assert python(driver, "os.path.getsize('w.pt')") == len(data) + 1
    # Python that was entered synchronously cannot wait for the page
    said = run_async(driver, f"return pyodide.runPython({code % ('URL', None)!r})")
    assert "whose name ends in _async" in said
    python(driver, "torch.hub.remove_download(URL)")
