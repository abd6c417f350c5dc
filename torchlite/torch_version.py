"""torch.__version__ is a string that compares as a version, with strings and with tuples of numbers."""

from __future__ import annotations

from ._core import absent as _absent
from .version import __version__ as internal_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TorchVersion"]

_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FORM = r"""\s*v?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<stage>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<number>\d*))?
    (?:-(?P<patch>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post>\d*))?
    (?P<dev>[-_.]?dev[-_.]?(?P<day>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*"""


def _key(text: str) -> Any:
    """What a version is ordered by, as the packaging standard says; None of what is no version."""
    import re

    found = re.fullmatch(_FORM, text, re.VERBOSE | re.IGNORECASE)
    if found is None:
        return None
    release = [int(n) for n in found["release"].split(".")]
    while len(release) > 1 and not release[-1]:
        release.pop()
    none, most = (-1,), (1 << 62,)
    stage = (found["stage"] or "").lower()
    post = found["patch"] if found["post"] is None else found["post"] or "0"
    pre: Any = most if stage == "" else (1, _STAGES.get(stage, stage), int(found["number"] or 0))
    if stage == "" and post is None and found["dev"]:
        pre = none  # 1.0.dev1 comes before 1.0a1
    local = re.split("[-_.]", found["local"].lower()) if found["local"] else []
    parts = [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in local]
    dev = most if found["dev"] is None else (int(found["day"] or 0),)
    return release, pre, none if post is None else (int(post),), dev, (1, parts) if parts else (0, [])


class TorchVersion(str):
    """A version, also a string."""

    __slots__ = ()

    def _pair(self, other: Any) -> tuple[Any, Any]:
        if isinstance(other, (tuple, list)):
            other = ".".join(str(n) for n in other)
        if not isinstance(other, str):
            return None, None
        mine, its = _key(str(self)), _key(str(other))
        return (str(self), str(other)) if mine is None or its is None else (mine, its)

    def __eq__(self, other: object) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine == its)

    def __ne__(self, other: object) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine != its)

    def __lt__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine < its)

    def __le__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine <= its)

    def __gt__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine > its)

    def __ge__(self, other: Any) -> bool:
        mine, its = self._pair(other)
        return NotImplemented if mine is None else bool(mine >= its)

    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
__getattr__ = _absent.of(__name__)
