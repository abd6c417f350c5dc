"""Serves demos/_site on this machine.

    python demos/serve.py [--port 8000] [--isolated] [--no-browser]

A port that is taken is passed over for the next one. On a desktop the page opens in the browser.
Any other static server does as well, e.g. `python -m http.server --directory demos/_site`. `--isolated` sends the two
headers that make pages cross-origin isolated from the first visit on; without it the service worker adds them.
"""

import argparse
import errno
import functools
import gzip
import http.server
import io
import os
import sys
import webbrowser
from pathlib import Path

SITE = Path(__file__).resolve().parent / "_site"
TEXT = {".html", ".css", ".js", ".mjs", ".json", ".svg", ".py", ".txt"}  # sent compressed, as other servers do


@functools.lru_cache(maxsize=512)
def compressed(path, changed):
    return gzip.compress(path.read_bytes(), mtime=0)


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".gz": "application/gzip",
    }
    isolated = False
    quiet = False

    def send_head(self):
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.split("?")[0].endswith("/"):
            path /= "index.html"
        wants = "gzip" in self.headers.get("Accept-Encoding", "") and "If-Modified-Since" not in self.headers
        if not wants or path.suffix not in TEXT or not path.is_file():
            return super().send_head()
        state = path.stat()
        body = compressed(path, state.st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", self.date_time_string(state.st_mtime))
        self.send_header("Vary", "Accept-Encoding")
        self.end_headers()
        return io.BytesIO(body)

    def end_headers(self):
        # Always ask again: a rebuilt site shows at the next reload.
        self.send_header("Cache-Control", "no-cache")
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        super().end_headers()

    def log_message(self, format, *args):
        if not self.quiet:
            super().log_message(format, *args)


def make_server(port=0, isolated=False, quiet=False, site=SITE, keep_alive=False):
    """A server on this machine only; port 0 takes a free one (`server.server_port`). `keep_alive`: a connection serves
    many files, and lives on when the server is shut down."""
    settings = {"isolated": isolated, "quiet": quiet}
    if keep_alive:
        settings["protocol_version"] = "HTTP/1.1"
    handler = type("SiteHandler", (Handler,), settings)
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(handler, directory=os.fspath(site)))


def first_free(port, isolated):
    """A server on the first port from `port` on that nobody listens on."""
    for attempt in range(port, port + 50):
        try:
            return make_server(attempt, isolated, quiet=True, keep_alive=True)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise SystemExit(f"no free port from {port} to {port + 49}: name another with --port")


def has_desktop():
    """Whether somebody sits at this terminal and has a browser with windows."""
    shown = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(shown) and sys.stdout.isatty()


def options(**more):
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0], **more)
    found.add_argument("--port", type=int, default=8000)
    found.add_argument("--isolated", action="store_true", help="send the COOP and COEP headers")
    found.add_argument("--no-browser", action="store_true", help="only print the address")
    return found


def main():
    given = options().parse_args()
    if not (SITE / "index.html").exists():
        raise SystemExit("demos/_site is not built: run python demos/build.py first")
    with first_free(given.port, given.isolated) as server:
        address = f"http://localhost:{server.server_port}/"
        print(f"Open {address} in a browser; Ctrl-C ends the server.", flush=True)
        if has_desktop() and not given.no_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
