"""Links of the docs, as the site has them: to pages, to the demos beside it, and to files that are not in it."""

import pathlib
import sys

import pytest

pytest.importorskip("mkdocs", reason="mkdocs-material builds the docs: make setup")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "demos" / "docs"))
try:
    import hooks
finally:
    sys.path.pop(0)

KNOWN = {"porting.md", "wheels.md", "decisions/README.md", "howto/gpu.md"}


@pytest.mark.parametrize(
    "source, uri, link, wanted",
    [
        ("demos/docs/index.md", "index.md", "[a](porting.md#x)", "[a](porting.md#x)"),
        ("demos/docs/howto/gpu.md", "howto/gpu.md", "[a](../porting.md)", "[a](../porting.md)"),
        ("demos/docs/howto/gpu.md", "howto/gpu.md", "[a](../../../wheels/README.md#y)", "[a](../wheels.md#y)"),
        ("wheels/README.md", "wheels.md", "[a](../demos/docs/howto/gpu.md)", "[a](howto/gpu.md)"),
        ("demos/docs/index.md", "index.md", "[a](../digits/index.html)", '<a href="../digits/index.html">a</a>'),
        ("demos/docs/howto/gpu.md", "howto/gpu.md", "[a](../../pyscript)", '<a href="../../pyscript/index.html">a</a>'),
        ("demos/docs/index.md", "index.md", "[name](../../torchlite/hub.py)", "`torchlite/hub.py`"),
        ("demos/docs/index.md", "index.md", "[two words](../../torchlite/hub.py)", "two words"),
    ],
)
def test_link(source, uri, link, wanted):
    assert hooks.LINK.sub(lambda match: hooks.fitted(match, source, uri, KNOWN), link) == wanted


def test_a_link_to_no_page_is_warned_of(caplog):
    match = hooks.LINK.match("[a](nowhere.md)")
    hooks.fitted(match, "demos/docs/index.md", "index.md", KNOWN)
    assert "no page nowhere.md" in caplog.text
