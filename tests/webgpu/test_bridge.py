"""The bridge's Python interface over a process of its own: streams, uploads, reads, errors, loss.
And torch.webgpu's names."""

from __future__ import annotations

import array
import asyncio
import subprocess
import sys

import dawn
import pytest
import remote
import torchlite as torch
from torchlite.webgpu.transport import bridge as _bridge
from torchlite.webgpu.transport.bridge import ALLOC, COPY, FILL, FREE, WRITE, command


@pytest.fixture
def own():
    try:
        bridge = remote.RemoteBridge()
    except dawn.runtime.Missing as e:
        pytest.skip(str(e))
    yield bridge
    bridge.close()


def words(bridge, handle, count):
    return array.array("I", bridge.read(handle, 0, 4 * count)).tolist()


def test_stream(own):
    own.run(
        command(ALLOC, 1, 32)
        + command(FILL, 1, 0, 32, 0xFFFFFFFF)
        + command(ALLOC, 2, 32)
        + command(COPY, 1, 0, 2, 0, 32)
    )
    own.run(command(WRITE, 2, 4, 8, 5, 6))
    assert words(own, 2, 4) == [0xFFFFFFFF, 5, 6, 0xFFFFFFFF]
    own.run(command(FREE, 1) + command(FREE, 2))
    assert own.stats()["slots"] == 0


@pytest.mark.parametrize("size", [0, 1, 5, 4096, (1 << 20) + 3])
def test_upload_and_read(own, size):
    data = bytes(i * 7 % 251 for i in range(size))
    own.alloc(1, size)  # sizes that are no multiple of 4 must reach to the end
    own.upload(1, 0, memoryview(data))
    assert bytes(own.read(1, 0, size)) == data
    assert asyncio.run(own.read_async(1, 0, size)) == data
    part = own.read(1, 4, size - 4) if size > 8 else data[4:]
    assert bytes(part) == data[4:]


def test_uploads_of_other_shapes(own):
    own.alloc(1, 64)
    own.upload(1, 0, array.array("d", [1.0, 2.0]))
    own.upload(1, 16, memoryview(bytes(range(16))).cast("B", (4, 4)))
    assert array.array("d", own.read(1, 0, 16)).tolist() == [1.0, 2.0] and own.read(1, 16, 16) == bytes(range(16))


def test_errors_of_streams_show_at_the_next_answer(own):
    own.alloc(1, 16)
    own.run(command(COPY, 1, 0, 99, 0, 16))
    with pytest.raises(RuntimeError, match="slot 99"):
        own.synchronize()
    own.synchronize()  # raised once
    own.run(command(0x7F))
    with pytest.raises(RuntimeError, match="no command"):
        own.read(1, 0, 16)
    assert len(own.read(1, 0, 16)) == 16


def test_unsupported_plan(own):
    for key in ("nonsense:{}", "softmax:{}"):
        with pytest.raises(_bridge.Unsupported):
            own.plan(key)


def test_out_of_memory_leaves_the_number_free(own):
    with pytest.raises(torch.OutOfMemoryError):
        own.alloc(1, 1 << 45)
    own.alloc(1, 1 << 20)
    own.set_budget(2 << 20)
    with pytest.raises(torch.OutOfMemoryError, match="budget"):
        own.alloc(2, 4 << 20)
    own.set_budget(0)
    own.alloc(2, 4 << 20)
    stats = own.stats()
    assert stats["allocated"] == 5 << 20 and stats["slots"] == 2
    own.run(command(FREE, 2))
    own.empty_cache()
    assert own.stats()["reserved"] < 2 << 20
    own.reset_peaks()
    assert own.stats()["allocated_peak"] == 1 << 20


def test_loss_and_reset(own):
    own.alloc(1, 16)
    assert (own.state(), own.epoch(), own.reason()) == (_bridge.READY, 1, "")
    own.lose()
    assert own.state() == _bridge.LOST and own.reason()
    own.run(command(FILL, 1, 0, 16, 1))
    for call in (lambda: own.read(1, 0, 4), lambda: own.alloc(2, 16), own.synchronize):
        with pytest.raises(_bridge.DeviceLostError, match="reset"):
            call()
    assert asyncio.run(own.reset()) and own.epoch() == 2
    own.alloc(1, 16)
    own.run(command(FILL, 1, 0, 16, 3))
    assert words(own, 1, 1) == [3]


def test_small_device(own):
    small = remote.RemoteBridge(limits={"maxBufferSize": 1 << 20}, without=["subgroups"])
    with pytest.raises(torch.OutOfMemoryError, match="limit"):
        small.alloc(1, 2 << 20)
    info = small.info()
    assert "subgroups" not in info["features"] and info["limits"]["maxBufferSize"] == 1 << 20
    small.close()


def test_an_ended_process_is_an_error(own):
    own._process.kill()
    with pytest.raises(RuntimeError, match="ended"):
        own.stats()


# ---- torch.webgpu and torch.accelerator ------------------------------------------------------------------------------


def test_public_names_of_the_device(bridge):
    w = torch.webgpu
    assert (
        w.is_available()
        and w.is_initialized()
        and w.device_count() == 1
        and w.current_device() == 0
        and w.why_not() == ""
    )
    assert asyncio.run(w.ready()) is True and asyncio.run(torch.ready()) is True
    p = w.get_device_properties("webgpu:0")
    assert p.name == w.get_device_name() and p.limits["maxBufferSize"] == p.max_buffer_size and p.name in repr(p)
    with w.device(0):
        w.set_device("webgpu")
    for wrong in ("webgpu:1", 1):
        with pytest.raises(RuntimeError, match="one GPU"):
            w.get_device_name(wrong)
    with pytest.raises(ValueError, match="webgpu"):
        w.get_device_name("cpu")
    w.init()
    w.synchronize()
    asyncio.run(w.synchronize_async())


def test_accelerator(bridge):
    a = torch.accelerator
    assert (
        a.is_available()
        and a.device_count() == 1
        and a.current_accelerator() == torch.device("webgpu")
        and a.current_device_index() == 0
    )
    with a.device_index(0):
        a.synchronize()
    assert torch.float32 in a.get_device_capability()["supported_dtypes"]
    with pytest.raises(NotImplementedError, match="streams"):
        a.current_stream()
    assert torch.device(0) == torch.device("webgpu", 0)


def test_memory(bridge):
    w = torch.webgpu
    w.synchronize()
    before = w.memory_allocated()
    w.reset_peak_memory_stats()
    x = torch.ones(1 << 20).to("webgpu")
    assert w.memory_allocated() == torch.accelerator.memory_allocated() == before + (4 << 20)
    assert w.memory_reserved() >= w.memory_allocated() and w.memory_stats()["allocated_bytes.all.current"] == before + (
        4 << 20
    )
    del x
    assert w.memory_allocated() == before and w.max_memory_allocated() >= before + (4 << 20)
    w.empty_cache()
    assert w.max_memory_reserved() >= w.memory_reserved() and "in tensors" in w.memory_summary()


def test_budget(bridge):
    w = torch.webgpu
    w.empty_cache()
    with pytest.raises(NotImplementedError, match="budget"):
        w.mem_get_info()
    w.set_memory_budget(w.memory_reserved() + (8 << 20))
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.ones(4 << 20).to("webgpu")
        free, total = w.mem_get_info()
        assert 0 < free <= 8 << 20 and total == w.get_memory_budget()
    finally:
        w.set_memory_budget(None)
    assert torch.ones(4 << 20).to("webgpu").sum().item() == 4 << 20
    with pytest.raises(ValueError):
        w.set_memory_budget(-1)
    with pytest.raises(NotImplementedError, match="set_memory_budget"):
        w.set_per_process_memory_fraction(0.5)


def script(code):
    """Runs code in a process of its own, on a device of its own."""
    head = f"import sys; sys.path[:0] = {[str(remote.HERE), str(remote.ROOT)]!r}\nimport torchlite as torch\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_without_a_device():
    out = script("""
print(torch.webgpu.is_available(), torch.webgpu.device_count(), torch.accelerator.is_available(),
      torch.accelerator.current_accelerator())
print(torch.webgpu.memory_allocated(), torch.webgpu.memory_stats(), torch.webgpu.is_initialized())
torch.webgpu.empty_cache()
refused = "device webgpu is not available", "Cannot access accelerator device when none is available"
for f in (torch.webgpu.synchronize, torch.webgpu.current_device, lambda: torch.ones(2, device="webgpu"),
          torch.accelerator.synchronize):
    try:
        f()
        print("no error")
    except RuntimeError as e:
        print(str(e).startswith(refused))
""")
    assert out == ["False 0 False None", "0 {} False", *["True"] * 4, ""]


def test_tensors_of_a_lost_device(bridge):
    out = script("""
import asyncio, remote
bridge = remote.install()
x = torch.arange(4.0).to("webgpu")
y = x + 1
print(y.tolist())
bridge.lose()
for f in (lambda: x.sum().item(), lambda: torch.ones(3, device="webgpu").tolist()):
    try:
        print("no error", f())
    except torch.webgpu.DeviceLostError:
        print("lost")
print(asyncio.run(torch.webgpu.reset()))
z = torch.ones(3, device="webgpu") * 2
for f in (lambda: x.sum().item(), lambda: (x + 1).tolist(), y.tolist, lambda: x.cpu(), lambda: x.fill_(1).tolist()):
    try:
        print("no error", f())
    except torch.webgpu.DeviceLostError:
        print("lost")
print(z.tolist())
""")
    assert out == ["[1.0, 2.0, 3.0, 4.0]", *["lost"] * 2, "True", *["lost"] * 5, "[2.0, 2.0, 2.0]", ""]
