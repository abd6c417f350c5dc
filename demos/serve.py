"""Serves demos/_site on this machine.

    python demos/serve.py [--port 8000] [--isolated]

Any other static server does as well, e.g. `python -m http.server --directory demos/_site`. `--isolated` sends the two
headers that make pages cross-origin isolated from the first visit on; without it the service worker adds them.
"""

import argparse
import functools
import http.server
import os
from pathlib import Path

SITE = Path(__file__).resolve().parent / "_site"


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


def make_server(port=0, isolated=False, quiet=False, site=SITE):
    """A server on this machine only; port 0 takes a free one (`server.server_port`)."""
    handler = type("SiteHandler", (Handler,), {"isolated": isolated, "quiet": quiet})
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(handler, directory=os.fspath(site)))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--isolated", action="store_true", help="send the COOP and COEP headers")
    options = options.parse_args()
    if not (SITE / "index.html").exists():
        raise SystemExit("demos/_site is not built: run python demos/build.py first")
    with make_server(options.port, options.isolated, quiet=True) as server:
        print(f"http://localhost:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
