"""The reference of the ops, made from their declarations: demos/docs/_site/index.html, one static page.

python demos/docs/reference.py
"""

from __future__ import annotations

import html
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import op_list

SITE = op_list.ROOT / "demos" / "docs" / "_site"

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
input { font: inherit; width: 100%; padding: .5rem .75rem; box-sizing: border-box;
  border: 1px solid var(--line); border-radius: 6px;
  background: transparent; color: inherit; position: sticky; top: .5rem; backdrop-filter: blur(8px); }
article { border-top: 1px solid var(--line); padding: .9rem 0; scroll-margin-top: 4rem; }
h2 { font-size: 1.05rem; margin: 0; } h2 a { color: inherit; text-decoration: none; }
pre { margin: .4rem 0; white-space: pre-wrap; font-size: .85rem; opacity: .85; } p { margin: .4rem 0; }
.tags span { font-size: .75rem; border: 1px solid var(--line); border-radius: 99px; padding: .05rem .55rem;
  margin-right: .35rem; }
"""
SCRIPT = """
const box = document.querySelector('input'), rows = [...document.querySelectorAll('article')];
const show = () => { const q = box.value.toLowerCase(); rows.forEach(r => r.hidden = !r.dataset.name.includes(q)); };
box.addEventListener('input', show);
"""


def facts(spec) -> list[str]:
    out = ["C kernel" if spec.kernel else "", "composite" if spec.body else "primitive"]
    if spec.differentiable and spec.grad != {}:
        through_body = "gradient through the body" if spec.body else ""
        out.append(through_body if spec.grad is None else "gradient")
    out += ["view" if spec.view else "", "in place" if spec.inplace else "", "out=" if spec.out else ""]
    return [f for f in out if f]


def article(spec) -> str:
    name = op_list.public_name(spec)
    also = ", ".join(op_list.aliases(spec))
    return (
        f'<article id="{html.escape(name)}" data-name="{html.escape((name + " " + also).lower())}">'
        f'<h2><a href="#{html.escape(name)}">{html.escape(name)}</a></h2>'
        f"<pre>{html.escape(chr(10).join(spec.schemas))}</pre><p>{html.escape(' '.join((spec.doc or '').split()))}</p>"
        + (f"<p>Also {html.escape(also)}.</p>" if also else "")
        + '<p class="tags">'
        + "".join(f"<span>{html.escape(f)}</span>" for f in facts(spec))
        + "</p></article>"
    )


def main() -> int:
    import torchlite

    specs = [spec for group in op_list.by_name().values() for spec in group]
    count = {k: sum(k in facts(s) for s in specs) for k in ("C kernel", "composite", "primitive")}
    SITE.mkdir(parents=True, exist_ok=True)
    page = SITE / "index.html"
    head = (
        f"<p>{len(specs)} declared ops: {count['composite']} composites of other ops, {count['primitive']} primitives, "
        f"{count['C kernel']} with a C kernel. Every signature is PyTorch's own schema.</p>"
    )
    page.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>torchlite ops</title><style>{STYLE}</style></head>"
        f"<body><h1>torchlite {html.escape(torchlite.__version__)}: ops</h1>{head}"
        f'<input type="search" placeholder="Filter by name" aria-label="Filter by name">{"".join(map(article, specs))}'
        f"<script>{SCRIPT}</script></body></html>\n"
    )
    print(f"{page.relative_to(op_list.ROOT)}: {len(specs)} ops")
    return 0


if __name__ == "__main__":
    sys.exit(main())
