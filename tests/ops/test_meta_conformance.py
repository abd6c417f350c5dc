"""What PyTorch recorded, on the meta device: see meta_conformance.py, which prints each difference."""

import meta_conformance
import pytest


@pytest.mark.skipif(meta_conformance.folder() is None, reason="no fixtures beside the project")
def test_geometry_of_recorded_answers():
    counts, notes = meta_conformance.judged(meta_conformance.run())
    found: dict[str, int] = {}
    for note in notes:
        found[note.split()[0]] = found.get(note.split()[0], 0) + 1
    assert {k: n for k, n in found.items() if n > meta_conformance.KNOWN.get(k, 0)} == {}
    most = {"fwd": 254, "bwd": 76, "inplace": 0, "out": 58}
    assert {check: n for check, (_, n, _) in counts.items() if n > most[check]} == {}
    assert sum(total for _, _, total in counts.values()) > 30000
