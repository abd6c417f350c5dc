"""torch.utils.weak."""

import copy
import gc

import pytest
import torchlite as torch
from torchlite.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_keys_by_identity_that_go_away():
    a, b = torch.ones(2), torch.ones(2)
    found = WeakTensorKeyDictionary({a: 1})
    found[b] = 2
    assert (found[a], found[b], len(found), a in found, torch.ones(2) in found) == (1, 2, 2, True, False)
    assert [k is a for k in found] == [True, False] and list(found.values()) == [1, 2]
    with pytest.raises(KeyError):
        found[torch.ones(2)]
    del b
    gc.collect()
    assert len(found) == 1 and [ref() is a for ref in found.keyrefs()] == [True]
    assert found.pop(a) == 1 and not found and found.pop(a, 7) == 7
    assert found.setdefault(a, 3) == 3 and found.get(a) == 3 and found.popitem()[1] == 3
    assert 3 not in found


def test_copies_and_sums():
    a, b = torch.ones(2), torch.ones(2)
    one, two = WeakIdKeyDictionary({a: [1]}), WeakIdKeyDictionary({b: [2], a: [3]})
    assert (one | two)[a] == [3] and ({a: [4]} | one)[a] == [1] and len(one | two) == 2
    assert one.copy() == one and one != two and copy.copy(one)[a] is one[a]
    deep = copy.deepcopy(one)
    assert deep == one and deep[a] is not one[a]
    one |= two
    assert one == two


def test_references():
    a = torch.ones(2)
    assert WeakIdRef(a) == WeakIdRef(a) and hash(WeakIdRef(a)) == id(a)
    b = torch.ones(2)
    assert not WeakIdRef(a) == WeakIdRef(b)
    weak = TensorWeakRef(a)
    assert weak() is a
    del a
    gc.collect()
    assert weak() is None
    with pytest.raises(AssertionError, match="expected torch.Tensor"):
        TensorWeakRef(3)
