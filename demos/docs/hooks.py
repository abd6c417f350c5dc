"""What mkdocs does beyond its settings: pages that are made or lie elsewhere, and links that fit the site.

Pages link to files of the repository, so that they can be read there too. In the site a link to another page becomes a
link to that page, one to a demo a link to the demo, and one to any other file its name."""

from __future__ import annotations

import logging
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

LOG = logging.getLogger("mkdocs.hooks")
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = "demos/docs/"
# pages of the site that lie outside of its folder
ELSEWHERE = {
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "wheels/README.md": "wheels.md",
}
# The reference's examples are run by this Python's core; a site without it has the guides.
CORE = (ROOT / "torchlite" / ("_C.pyd" if sys.platform == "win32" else "_C.abi3.so")).exists()
NO_REFERENCE = """# Reference

This site was built without the reference, whose examples are run by torchlite on the desktop. `make docs` in a clone of
the project builds it: a page for each namespace, with signatures, dtypes and an example of each name.
"""
GUIDES = ("index.md", "tutorial.md", "porting.md", "javascript.md", "gpu.md", "troubleshooting.md")
DEMOS = ("digits", "pyscript", "playground", "index.html")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]*)(#[^)\s]*)?\)")
WORKER = re.compile(r"assets/javascripts/workers/(search\.\w+\.min\.js)")
FENCE = re.compile(r"(^```.*?^```)", re.M | re.S)


def on_config(config):
    sys.path[:0] = [str(ROOT), str(HERE)]  # here: mkdocs takes back what a hook does to the path at its import
    import reference_plan

    for section in config.nav:
        for title, pages in section.items():
            if title == "Reference":
                made = reference_plan.PAGES if CORE else []
                pages[:] = ["reference/index.md"] + [{page.title: f"reference/{page.name}.md"} for page in made]
            for entry in pages:
                if isinstance(entry, dict) and "Decisions" in entry:
                    found = sorted(p.name for p in (HERE / "decisions").glob("0*.md"))
                    entry["Decisions"] = ["decisions/README.md", *(f"decisions/{name}" for name in found)]
    return config


def on_files(files, config):
    for name, text in reference_pages().items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    for source, name in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    icon = (HERE.parent / "icon.svg").read_bytes()
    files.append(File.generated(config, "assets/icon.svg", content=icon))
    return files


def reference_pages():
    if not CORE:
        return {"index.md": NO_REFERENCE}
    import reference

    return reference.build()


def search_rank(uri):
    """What one looks for is in the guides first; tables of names and decisions come last."""
    if uri.startswith(("decisions/", "package", "changelog", "contributing", "architecture", "support", "comparison")):
        return 0.1
    if uri == "reference/aten.md":
        return 0.01
    return 4 if uri.startswith(("start/", "howto/")) or uri in GUIDES else 1


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    page.meta.setdefault("search", {"boost": search_rank(uri)})
    if uri.startswith("reference/"):
        return markdown
    source = next((s for s, name in ELSEWHERE.items() if name == uri), DOCS + uri)
    known = known_pages(files)
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda m: fitted(m, source, uri, known), part) for part in parts[::2]]
    # "python page" tells the tests what a block is; here its language is all that counts
    text = re.sub(r"^```(\w+) [\w ]+$", r"```\1", "".join(parts), flags=re.M)
    if re.search(r"^```\S+ ", text, re.M):
        LOG.warning("%s: a block of code of an unknown kind", uri)
    return text


def on_post_page(output, page, config):
    """The page with our worker of the search, which finds names and starts the theme's. The theme's search is a dialog
    without a name, which a screen reader would announce as that."""
    output, found = WORKER.subn(r"assets/search.js?\1", output)
    if found != 1:
        LOG.warning("the theme names the worker of its search in another way: assets/search.js is not used")
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def known_pages(files):
    return {file.src_uri for file in files.documentation_pages()}


def fitted(match: re.Match[str], source: str, uri: str, known: set[str]) -> str:
    text, target, anchor = match[1], match[2], match[3] or ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    page = ELSEWHERE.get(path, path.removeprefix(DOCS) if path.startswith(DOCS) else "")
    if page in known:
        return f"[{text}]({posixpath.relpath(page, posixpath.dirname(uri) or '.')}{anchor})"
    part = path.removeprefix("demos/").split("/")[0]
    if path.startswith("demos/") and part in DEMOS:
        # the site lies in the folder docs of the demos: as many steps up as the page has folders, and one
        up = "../" * (uri.count("/") + 1)
        place = path.removeprefix("demos/")
        return f'<a href="{up}{place if place.endswith(".html") else place + "/index.html"}">{text}</a>'
    if path.startswith(DOCS) and not (ROOT / path).exists():
        LOG.warning("%s: no page %s", uri, target)
    is_name = not text.startswith("`") and " " not in text
    return f"`{path}`" if is_name else text
