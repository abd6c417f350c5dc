"""The pages of the API reference, made from the declarations, signatures and docstrings; hooks.py puts them into the
site. Each entry has its signature, what it does, dtypes and devices, and an example that has been run.

    python demos/docs/reference.py     # what there is: pages, entries, examples
"""

from __future__ import annotations

import dataclasses
import functools
import html
import importlib
import inspect
import json
import pathlib
import re
import sys
from typing import Any, Iterable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import op_examples
import op_list
import torchlite
from reference_plan import (
    HELPERS,
    LINK_ROOT,
    OWN_PAGES,
    PAGES,
    SECTIONS,
    SHORT_DTYPES,
    TORCH_GROUPS,
    UNDOCUMENTED,
    Page,
)


@dataclasses.dataclass
class Entry:
    """A public name: `where` is what a program writes, torch.nn.Linear or Tensor.add_."""

    where: str
    signatures: list[str]
    doc: str
    facts: list[tuple[str, str]]
    example: tuple[list[str], str] | None
    link: str
    section: str = ""  # the file of a module's class


# ---- what declarations say -------------------------------------------------------------------------------------------
def home(name: str, spec: Any) -> str:
    """The page of a declared op: functions of layers are at nn.functional, as in PyTorch's manual."""
    place = op_list.place(spec)
    if place != "torch":
        return place
    short = name.removeprefix("torch.")
    of_layers = hasattr(torchlite.nn.functional, short) and short not in ("sigmoid", "tanh")
    return "torch.nn.functional" if of_layers else place


def measured() -> dict[str, str]:
    return json.loads((op_list.ROOT / "demos/docs/measured.json").read_text())["ops"]


def dtypes(where: str, known: dict[str, str]) -> str:
    """The dtypes whose recorded answers agree with PyTorch's, in full words."""
    short = where.rpartition(".")[2]
    names = [where, "torch." + short, "Tensor." + short, "torch.nn.functional." + short]
    found = next((known[n] for n in names if n in known), "")
    return ", ".join(SHORT_DTYPES.get(d.partition(":")[0], d) for d in found.split() if d != "mixed")


WAYS = {
    "kernels": "kernel",
    "element-wise": "element-wise, fused",
    "a view": "a view",
    "made on": "made on the CPU",
    "body": "by other ops",
    "on the CPU": "run by the CPU",
}


def on_webgpu(group: list[Any]) -> str:
    """How an op runs on webgpu, in a word or two for each way that its overloads take."""
    from torchlite._core import dispatch

    said = [dispatch._how(ov, "webgpu") for spec in group for ov in spec.overloads]
    return " or ".join(words for start, words in WAYS.items() if any(text.startswith(start) for text in said))


def forms(group: list[Any], where: str) -> str:
    """The other forms of an op: method, in place, out=, view."""
    short = where.rpartition(".")[2]
    found = []
    if any(s.method for s in group) and not where.startswith("Tensor."):
        found.append(f"method <code>Tensor.{short}</code>")
    if any(s.inplace for s in group):
        found.append(f"in place <code>Tensor.{short}_</code>")
    found += ["<code>out=</code>"] if any(s.out for s in group) else []
    found += ["the result shares memory"] if any(s.view for s in group) else []
    return ", ".join(found)


def gradient(group: list[Any]) -> str:
    return "yes" if any(op_list.gradient(s) != "none" for s in group) else "none"


def op_entry(where: str, group: list[Any], known: dict[str, str], written: dict[str, Any]) -> Entry:
    signatures = [op_examples.signature(schema, where, s.out) for s in group for schema in s.schemas]
    doc = "\n\n".join(dict.fromkeys(" ".join((s.doc or "").split()) for s in group))
    others = [a for s in group for a in [op_list.public_name(s), *op_list.aliases(s)] if a != where]
    also = ", ".join(f"<code>{html.escape(a)}</code>" for a in dict.fromkeys(others))
    internal = op_list.place(group[0]) == "internal"
    facts = [
        ("Also", also),
        ("Forms", forms(group, where) if not internal else ""),
        ("Gradient", gradient(group)),
        ("Checked dtypes", dtypes(where, known)),
        ("Devices", f"cpu, webgpu ({on_webgpu(group)})"),
    ]
    if where in written:
        example = op_examples.finished(written[where])
    else:
        example = next((e for s in group if (e := op_examples.example(s, where))), None)
    return Entry(where, list(dict.fromkeys(signatures)), doc, facts, example, link(where))


def link(where: str) -> str:
    """PyTorch's page of the same name."""
    short = where.removeprefix("torch.")
    if short.rpartition(".")[2].startswith("_") or short in UNDOCUMENTED or short.startswith(OWN_PAGES):
        return ""
    if "." not in short and not hasattr(torchlite, short):  # a part of other ops
        return ""
    for prefix, page in LINK_ROOT.items():
        if short.startswith(prefix):
            return f"{page}#torch.{short}"
    return f"generated/torch.{short}.html"


# ---- what signatures and docstrings say ------------------------------------------------------------------------------
def members(path: str) -> Iterable[tuple[str, Any]]:
    """The public classes and functions of a module, sorted as its __all__ or by name."""
    module = importlib.import_module("torchlite." + path if path else "torchlite")
    names = getattr(module, "__all__", None) or sorted({*dir(module), *getattr(module, "_LAZY_NAMES", ())})
    for name in names:
        value = getattr(module, name, None)
        own = getattr(value, "__module__", None) or ""
        if name.startswith("_") or not callable(value) or isinstance(value, torchlite.dtype):
            continue
        if f"{path}.{name}".lstrip(".") in HELPERS:
            continue
        if own.split(".")[0] in ("torch", "torchlite", "") and "absent" not in str(type(value).__module__):
            yield name, value


def plain(value: Any) -> Any:
    return value._tl_fn if type(value) is torchlite._C.Function else value


def object_entry(where: str, value: Any, written: dict[str, Any]) -> Entry | None:
    """A class or a function; None without a docstring: it is nobody's business then."""
    value = plain(value)
    doc = inspect.cleandoc(value.__doc__) if isinstance(value.__doc__, str) else ""
    if isinstance(value, type) and doc == inspect.getdoc(value.__mro__[1]):
        doc = ""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        text = "(...)"
    text = re.sub(r"<(?:function|class|object)[^>]*?'?([\w.]*)'?(?: at 0x[0-9a-f]+)?>", r"\1", text)
    text = re.sub(r"<module '([\w.]+)'[^>]*>", r"\1", text)  # with a path of this machine
    text = re.sub(r" at 0x[0-9a-f]+| = NotImplemented", "", text).replace("torchlite.", "torch.")
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    head = f"{'class ' if isinstance(value, type) else ''}{where}{text.replace('(self, ', '(').replace('(self)', '()')}"
    example = None
    if where in written:
        example = op_examples.finished(written[where])
    if not doc and not example:
        return None
    section = str(getattr(value, "__module__", "")).rpartition(".")[2]
    return Entry(where, [head.removesuffix(" -> None")], doc, [], example, link(where), section)


# ---- Markdown --------------------------------------------------------------------------------------------------------
def prose(text: str) -> str:
    """A docstring as HTML: paragraphs, and `names` as code."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        body = html.escape(paragraph, quote=False)
        if re.search(r"^ {2,}", paragraph, re.M) or ">>>" in paragraph:
            out.append(f"<pre><code>{body}</code></pre>")
            continue
        out.append("<p>" + re.sub(r"``?([^`\n]+)``?", r"<code>\1</code>", body) + "</p>")
    return "".join(out)


def markdown(entry: Entry, level: str) -> str:
    title = entry.where.replace("_", "\\_")
    label = entry.where.rpartition(".")[2]
    lines = [f"{level} {title} {{ #{entry.where} data-toc-label='{label}' }}", ""]
    lines += ['<div class="entry">']
    signatures = "\n".join(html.escape(s, quote=False) for s in entry.signatures)
    lines += [f'<pre class="signature"><code>{signatures}</code></pre>']
    lines += [prose(entry.doc)] if entry.doc else []
    facts = [f"<dt>{key}</dt><dd>{value}</dd>" for key, value in entry.facts if value]
    if entry.link:
        facts.append(
            f'<dt>PyTorch</dt><dd><a href="https://docs.pytorch.org/docs/stable/{entry.link}">{entry.where}</a></dd>'
        )
    lines += [f"<dl>{''.join(facts)}</dl>"] if facts else []
    lines += ["</div>", ""]
    if entry.example:
        code, result = entry.example
        text = "\n".join(f">>> {line}" for line in code) + "\n" + result
        lines += ["```pycon", *text.splitlines(), "```", ""]
    return "\n".join(lines)


def ops_by_page() -> dict[str, dict[str, list[Any]]]:
    """Declared ops by page: {page: {where: declarations}}. Ops of torch are told apart by their family's file."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name, group in op_list.by_name().items():
        place = home(name, group[0])
        where = name
        if place == "internal" and not hasattr(torchlite.ops.aten, name):
            continue  # not PyTorch's, and nobody's to call; support.md lists them
        if place == "torch.nn.functional" and name.startswith("torch.") and not name.startswith(place):
            where = "torch.nn.functional." + name.removeprefix("torch.")
        page = place
        if place == "torch":
            page = next((p for p, files in TORCH_GROUPS.items() if family(group[0]) in files), "torch-other")
        found.setdefault(page, {})[where] = group
    return found


def family(spec: Any) -> str:
    """The file in torchlite/ops that declares an op."""
    code = next((c for f in (spec.body, spec.samples) if (c := getattr(f, "__code__", None))), None)
    if code and "/ops/_" not in code.co_filename:
        return pathlib.Path(code.co_filename).stem
    pattern = re.compile(rf"""["']{re.escape(spec.name)}[.(]""")
    return next((name for name, text in sources().items() if pattern.search(text)), "")


@functools.cache
def sources() -> dict[str, str]:
    files = sorted((op_list.ROOT / "torchlite" / "ops").glob("[a-z]*.py"))
    return {file.stem: file.read_text() for file in files}


def entries(
    page: Page, ops: dict[str, dict[str, list[Any]]], known: dict[str, str], written: dict[str, Any]
) -> list[Entry]:
    here = ops.get(page.ops, {})
    declared = {where for group in ops.values() for where in group}
    found = {where: op_entry(where, group, known, written) for where, group in here.items()}
    for path in page.modules:
        for name, value in members(path):
            where = f"torch.{path}.{name}" if path else f"torch.{name}"
            if where in found or where in declared or type(value).__name__ in ("Op", "OpMethod"):
                continue
            entry = object_entry(where, value, written)
            if entry:
                found[where] = entry
    for name in page.methods:
        value = getattr(torchlite.Tensor, name, None)
        entry = object_entry(f"Tensor.{name}", value, written) if value is not None else None
        if entry:
            found.setdefault(entry.where, entry)
    return sorted(found.values(), key=lambda e: e.where.rpartition(".")[2].lower())


def elsewhere(page: Page, pages: dict[str, str], here: set[str]) -> str:
    """Methods of tensors that are functions of torch as well: a line of links."""
    if page.name != "Tensor":
        return ""
    lines = []
    for where, slug in sorted(pages.items(), key=lambda item: item[0].rpartition(".")[2].lower()):
        short = where.rpartition(".")[2]
        if f"Tensor.{short}" not in here and where.count(".") == 1 and callable(getattr(torchlite.Tensor, short, None)):
            lines.append(f"[{short}]({slug}.md#{where})")
    return "## Methods that are functions as well\n\n" + ", ".join(lines) + "\n\n## Methods of tensors only\n\n"


def sections(found: list[Entry], plan: dict[str, tuple[str, ...]], level: str) -> str:
    """The entries under headings, in the plan's order; those of no heading come last."""
    if not plan:
        return "\n".join(markdown(e, level) for e in found)
    left = {e.where: e for e in found}
    lines = []
    for title, what in plan.items():
        lines += [f"## {title}", ""]
        for key in what:  # a name, or the file of some
            here = [e for e in left.values() if key in (e.section, e.where.rpartition(".")[2])]
            lines += [markdown(left.pop(e.where), "###") for e in here]
    return "\n".join([*lines, "## More", "", *(markdown(e, "###") for e in left.values())])


def build() -> dict[str, str]:
    """{file name: Markdown} of all pages, and the list of them."""
    known, written, ops = measured(), op_examples.written(), ops_by_page()
    made = [(page, entries(page, ops, known, written)) for page in PAGES]
    places = {e.where: page.name for page, found in made for e in found}
    texts, rows = {}, []
    for page, found in made:
        extra = elsewhere(page, places, {e.where for e in found})
        body = sections(found, SECTIONS.get(page.name, {}), "###" if extra else "##")
        examples = sum(e.example is not None for e in found)
        texts[f"{page.name}.md"] = f"# {page.title}\n\n{page.lead}\n\n{extra}{body}"
        rows.append(f"| [{page.title}]({page.name}.md) | {page.lead.split('. ')[0]} | {len(found)} | {examples} |")
    intro = (pathlib.Path(__file__).parent / "reference_intro.md").read_text()
    texts["index.md"] = intro + "\n".join(["", "| page | what | names | examples |", "|---|---|---|---|", *rows, ""])
    return texts


def declared_anchors() -> list[str]:
    """The entry that each declared op should have."""
    return [where for page in ops_by_page().values() for where in page]


def main() -> int:
    texts = build()
    if "--json" in sys.argv:  # for the tests
        print(json.dumps([texts, declared_anchors(), list(op_examples.written())]))
        return 0
    count = sum(len(re.findall(r"^##+ .* \{ #", text, re.M)) for text in texts.values())
    examples = sum(text.count("```pycon") for text in texts.values())
    print(f"{len(texts)} pages, {count} entries, {examples} examples, {sum(map(len, texts.values())) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
