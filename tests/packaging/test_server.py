"""demos/server: a model over HTTP on node; on Deno and Bun, and 10,000 requests of each, with --all."""

from __future__ import annotations

import concurrent.futures
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "wheels"), str(ROOT / "tests" / "pyodide"), str(ROOT / "tests" / "webgpu")]
import dawn
import dist
import runtime

SERVER = ROOT / "demos" / "server" / "server.mjs"
INPUTS = 64


def command(host):
    """How a JavaScript runtime is started."""
    if host == "node":
        return [runtime.node()]
    return [dawn.deno(), "run", "-A"] if host == "deno" else [dawn.bun()]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    import torchlite as torch
    from torchlite import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, 10))
    path = tmp_path_factory.mktemp("weights") / "net.pt"
    torch.save(model.state_dict(), path)
    rows = torch.rand(40, INPUTS)
    return path, rows.tolist(), torch.softmax(model(rows), dim=1).tolist()


def options(place, **others):
    folder = dist.prepare("314")
    given = {"wheel": dist.wheel("314", folder), "weights": place, "pyodide": folder, "port": 0, **others}
    return [text for name, value in given.items() for text in (f"--{name}", str(value))]


class Served:
    def __init__(self, host, place, **others):
        given = options(place, **others)
        self.process = subprocess.Popen(
            [*command(host), str(SERVER), *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read())
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if path != "/metrics" or answer.status != 200 else text

    def predict(self, rows):
        return self.ask("POST", "/predict", json.dumps({"inputs": rows}))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()


def near(found, wanted):
    return all(abs(a - b) < 1e-6 for row, right in zip(found, wanted, strict=True) for a, b in zip(row, right))


@pytest.mark.parametrize("host", ["node", *(pytest.param(h, marks=pytest.mark.slow) for h in ("deno", "bun"))])
def test_server(host, weights):
    path, rows, right = weights
    try:
        server = Served(host, path, body=30000)
    except runtime.Missing as e:
        pytest.skip(str(e))
    try:
        assert server.ask("GET", "/health") == (200, {"status": "ok"})
        status, answer = server.predict(rows[:2])
        assert status == 200 and near(answer["outputs"], right[:2])
        data = struct.pack(f"<{INPUTS}f", *rows[5])
        status, answer = server.ask("POST", "/predict", data, Content_Type="application/octet-stream")
        assert status == 200 and near(answer["outputs"], right[5:6])

        # 40 at once, computed in fewer calls of the model; each gets its own row
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda row: server.predict([row]), rows))
        assert all(status == 200 for status, _ in answers)
        assert near([answer["outputs"][0] for _, answer in answers], right)

        for status, call in [
            (404, ("GET", "/")),
            (405, ("GET", "/predict")),
            (405, ("POST", "/metrics", b"{}")),
            (400, ("POST", "/predict", b"{")),
            (400, ("POST", "/predict", b"[]")),
            (400, ("POST", "/predict", b'{"inputs": []}')),
            (400, ("POST", "/predict", json.dumps({"inputs": [rows[0][:-1]]}))),
            (400, ("POST", "/predict", json.dumps({"inputs": [["1"] * INPUTS]}))),
            (413, ("POST", "/predict", b" " * 30001)),
            (413, ("POST", "/predict", iter([b" " * 20000, b" " * 20000]))),
        ]:
            found, answer = server.ask(*call)
            assert found == status and isinstance(answer["error"], str), call[:2]
        text = server.ask("GET", "/metrics")[1]
        told = dict(line.rsplit(" ", 1) for line in text.splitlines())
        assert told['requests_total{code="200"}'] == "43" and told['requests_total{code="413"}'] == "2"
        assert told["rows_total"] == "43" and 1 <= int(told["batches_total"]) <= 42
        assert told["predict_seconds_count"] == told['predict_seconds_bucket{le="+Inf"}'] == "42"
        assert int(told["process_resident_memory_bytes"]) > int(told["python_memory_bytes"]) > 2**24
    finally:
        status = server.end()
    assert status == 0


@pytest.fixture(scope="module")
def wrong(weights, tmp_path_factory):
    """What a start can get wrong: the options, and what the server has to say."""
    import torchlite as torch

    folder = tmp_path_factory.mktemp("wrong")
    (folder / "half.py").write_text("import torch\nINPUTS = 64\n")
    (folder / "broken.py").write_text("import torch\n\nINPUTS = 64 / 0\n")
    torch.save({"0.weight": torch.ones(12, 64)}, folder / "other.pt")
    path = weights[0]
    others = dist.wheel("029", dist.prepare("029"))
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    yield {
        "model without load": (options(path, model=folder / "half.py"), "half.py has no load: give it"),
        "model that fails": (options(path, model=folder / "broken.py"), r"\(line 3\) ZeroDivisionError: division by"),
        "no model": (options(path, model=folder / "none.py"), "no file .*none.py: --model takes a Python file"),
        "wheel of the other Pyodide": (
            options(path, wheel=others),
            "does not fit Pyodide 314.* ImportError: bad magic",
        ),
        "no wheel": (options(path, wheel="none.whl"), "there is no file none.whl: --wheel takes .* `make wheel`"),
        "weights that do not fit": (options(folder / "other.pt"), "give --weights or --model that fit: .*RuntimeError"),
        "no weights": (options("none.pt"), "there is no file none.pt: --weights takes"),
        "no server": (options("http://127.0.0.1:9/none.pt"), "cannot be fetched .* check the address"),
        "no npm install": (options(path, pyodide=folder), "there is no Pyodide in .*: run `npm install` in"),
        "misspelt option": ([*options(path), "--prot", "1"], "'--prot'; the options are --wheel, "),
        "no options": ([], "two options are needed: --wheel"),
        "no port": (options(path, port="http"), "--port takes a number from 0 to 65535"),
        "taken port": (options(path, port=port), f"port {port} is taken by another program: give another"),
    }
    taken.close()


@pytest.mark.parametrize("host", ["node", *(pytest.param(h, marks=pytest.mark.slow) for h in ("deno", "bun"))])
def test_a_wrong_start_is_told_in_a_sentence(host, wrong):
    try:
        start = [*command(host), str(SERVER)]
    except runtime.Missing as e:
        pytest.skip(str(e))
    for name, (given, said) in wrong.items():
        done = subprocess.run([*start, *given], capture_output=True, text=True, timeout=60, check=False)
        # Deno's own, of its GPU, where there is no desktop
        lines = [line for line in done.stderr.splitlines() if "XDG_RUNTIME_DIR" not in line]
        text = "\n".join(lines)
        assert (done.returncode, done.stdout) == (1, ""), name
        assert text.startswith("server.mjs: ") and re.search(said, text), f"{name}: {text[:1000]}"
        # one line, unless Python's message has more
        assert len(text) < 1000 and (len(lines) == 1 or name == "weights that do not fit"), name


def test_what_has_begun_ends(weights, tmp_path):
    path, rows, right = weights
    server = Served("node", path)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        body = json.dumps({"inputs": rows[:1]}).encode()
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:50])
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(OSError):
            server.ask("GET", "/health")
        connection.send(body[50:])
        answer = connection.getresponse()
        assert answer.status == 200 and near(json.loads(answer.read())["outputs"], right[:1])
    finally:
        status = server.end()
    assert status == 0


@pytest.mark.slow
def test_weights_by_address(weights, tmp_path):
    path, rows, right = weights
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *args):
            pass

    source = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Handler(*args, directory=str(path.parent)))
    threading.Thread(target=source.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{source.server_address[1]}/net.pt"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        for _ in range(2):
            server = Served("node", address, cache=tmp_path, sha256=digest)
            assert near(server.predict(rows)[1]["outputs"], right)
            assert server.end() == 0
        assert asked == ["/net.pt"]
        with pytest.raises(RuntimeError, match="expected 0000"):
            Served("node", address, cache=tmp_path, sha256="0000")
    finally:
        source.shutdown()
        source.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("connections", [1, 16])
@pytest.mark.parametrize("host", ["node", "deno", "bun"])
def test_ten_thousand_requests(host, connections, weights, record_property):
    try:
        server = Served(host, weights[0])
    except runtime.Missing as e:
        pytest.skip(str(e))
    try:
        load = [runtime.node(), str(ROOT / "tests" / "packaging" / "load.mjs"), f"http://127.0.0.1:{server.port}"]
        done = subprocess.run(
            [*load, "10000", str(connections), str(INPUTS)], capture_output=True, text=True, timeout=300, check=True
        )
    finally:
        server.end()
    figures = json.loads(done.stdout)
    print(host, connections, figures)
    assert figures["requests"] == 10000
    assert figures["late"] - figures["early"] < 15  # MB
