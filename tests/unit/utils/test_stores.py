"""torch.distributed's stores in one process; the values were compared with PyTorch's HashStore."""

import datetime
import sys
import threading

import pytest

import torchlite.distributed as dist


def made(kind, tmp_path):
    if kind == "tcp":
        return dist.TCPStore("127.0.0.1", 0, 1, True)
    if kind == "prefix":
        return dist.PrefixStore("before", dist.HashStore())
    return dist.FileStore(str(tmp_path / "store"), 1) if kind == "file" else dist.HashStore()


@pytest.mark.parametrize("kind", ("hash", "tcp", "file", "prefix"))
def test_values(kind, tmp_path):
    s = made(kind, tmp_path)
    s.set("a", "x")
    assert (s.get("a"), s.add("n", 2), s.add("n", 3), s.get("n")) == (b"x", 2, 5, b"5")
    assert s.check(["a", "n"]) and not s.check(["q"])
    assert (s.num_keys(), s.delete_key("a"), s.delete_key("zz")) == (2, True, False)
    sets = s.compare_set("c", "", "v1"), s.compare_set("c", "v1", "v2"), s.compare_set("c", "bad", "v3")
    assert sets == (b"v1", b"v2", b"v2") and s.compare_set("new", "exp", "des") == b"exp" and not s.check(["new"])
    s.append("c", "++")
    s.multi_set(["p", "q"], ["1", "2"])
    assert s.get("c") == b"v2++" and s.multi_get(["p", "q"]) == [b"1", b"2"]
    s.queue_push("w", "1")
    s.queue_push("w", "2")
    assert (s.queue_pop("w"), s.queue_len("w")) == (b"1", 1)
    with pytest.raises(ValueError, match="stoll"):
        s.add("c", 1)
    with pytest.raises(TypeError):
        s.set("k", 1)


def test_waiting():
    s = dist.HashStore()
    s.set_timeout(datetime.timedelta(seconds=0.01))
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        s.get("nope")
    if sys.platform != "emscripten":
        s.set_timeout(datetime.timedelta(seconds=20))
        other = threading.Timer(0.05, s.set, ("late", "x"))
        other.start()
        assert s.get("late") == b"x"
        other.join()


def test_addresses_and_prefixes(tmp_path):
    master = dist.TCPStore("127.0.0.1", 1234, 1, True)
    dist.TCPStore("127.0.0.1", 1234, is_master=False).set("a", "x")
    assert master.get("a") == b"x" and master.clone().get("a") == b"x"
    with pytest.raises(dist.DistNetworkError, match="no master in this process"):
        dist.TCPStore("127.0.0.1", 4321)
    with pytest.raises(dist.DistStoreError, match="one process"):
        dist.TCPStore("127.0.0.1", 1, 2, True)
    inner = dist.HashStore()
    dist.PrefixStore("p", inner).set("k", "v")
    assert inner.get("p/k") == b"v"
    dist.FileStore(str(tmp_path / "f")).set("k", "v")
    assert dist.FileStore(str(tmp_path / "f")).get("k") == b"v"
