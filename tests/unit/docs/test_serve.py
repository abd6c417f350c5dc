"""The server of the demo site: a taken port is passed over, each kind of file has its type, text is compressed."""

import gzip
import importlib.util
import pathlib
import socket
import sys
import threading
import urllib.request

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="a page cannot listen on a port")

SERVE = pathlib.Path(__file__).resolve().parents[3] / "demos" / "serve.py"
spec = importlib.util.spec_from_file_location("serve", SERVE)
serve = importlib.util.module_from_spec(spec)
spec.loader.exec_module(serve)


def test_a_taken_port_is_passed_over():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serve.first_free(port, False) as server:
            assert port < server.server_port < port + 50


@pytest.mark.parametrize("isolated", [False, True])
def test_types_and_headers(tmp_path, isolated):
    (tmp_path / "a.mjs").write_text("1")
    with serve.make_server(0, isolated, quiet=True, site=tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/a.mjs") as answer:
            assert answer.headers["Content-Type"] == "text/javascript"
            assert answer.headers["Cross-Origin-Embedder-Policy"] == ("require-corp" if isolated else None)
        server.shutdown()


def test_text_is_compressed(tmp_path):
    text = b"const answer = 42;\n" * 100
    for name in ("a.js", "a.wasm"):
        (tmp_path / name).write_bytes(text)
    (tmp_path / "index.html").write_bytes(text)
    with serve.make_server(0, quiet=True, site=tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def get(path, **headers):
            address = f"http://127.0.0.1:{server.server_port}/{path}"
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
                return answer.headers, answer.read()

        for path, kind in (("a.js?x=1", "text/javascript"), ("", "text/html")):
            headers, body = get(path, **{"Accept-Encoding": "gzip, br"})
            assert (headers["Content-Type"], headers["Content-Encoding"]) == (kind, "gzip")
            assert len(body) == int(headers["Content-Length"]) < 100 and gzip.decompress(body) == text
        for path, accepted in (("a.js", "identity"), ("a.wasm", "gzip")):
            headers, body = get(path, **{"Accept-Encoding": accepted})
            assert headers["Content-Encoding"] is None and body == text
        server.shutdown()
