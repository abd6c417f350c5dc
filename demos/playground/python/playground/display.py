"""Where pictures and tables go: to the page, which cleans the HTML before it shows it; on a desktop nowhere."""

_send = None  # the page's function


def connect(send):
    """`send(html, key)` shows HTML; a piece with a key replaces the last one with that key."""
    global _send
    _send = send


def emit(html, key=None):
    if _send is not None:
        _send(html, key)


def show(*values, key=None):
    """Shows values as a cell shows its last expression."""
    from .rich import html_of

    if _send is not None:
        for value in values:
            emit(html_of(value), key)
