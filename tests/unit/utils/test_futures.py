"""torch.futures, and torch.jit.fork and wait."""

import io
import threading

import pytest

import torchlite as torch
from torchlite.futures import Future, collect_all, wait_all


def test_a_value_comes_once():
    future, seen = Future(), []
    later = future.then(lambda f: (seen.append("then"), f.value() + 1)[1])
    future.add_done_callback(lambda f: seen.append(f.value()))
    assert not future.done() and not later.done()
    with pytest.raises(RuntimeError, match=r"completed\(\)"):
        future.value()
    future.set_result(2)
    assert (future.done(), future.wait(), later.wait(), seen) == (True, 2, 3, ["then", 2])
    assert future.then(lambda f: f.wait() * 10).wait() == 20
    with pytest.raises(RuntimeError, match="Attempting to mark a completed Future as complete again"):
        future.set_result(3)
    assert isinstance(later, torch.Future) and isinstance(future, torch._C.Future) and torch.jit.Future is Future


def test_errors(caplog):
    future = Future()
    failed = future.then(lambda f: f.wait())
    none = future.then(lambda: 1)
    future.add_done_callback(lambda f: 1 / 0)
    with pytest.raises(AssertionError, match="3 is of type <class 'int'>, not an Exception"):
        future.set_exception(3)
    future.set_exception(ValueError("oops"))
    assert "ZeroDivisionError: division by zero" in caplog.text
    for call, error, text in [
        (future.wait, ValueError, "oops"),
        (future.value, ValueError, "oops"),
        (failed.wait, RuntimeError, "Got the following error when running the callback: ValueError: oops\n\nAt:\n"),
        (none.wait, RuntimeError, "takes 0 positional arguments but 1 was given"),
        (lambda: torch.save(future, io.BytesIO()), RuntimeError, "Can not pickle torch.futures.Future"),
        (lambda: Future(devices=["cpu"]), ValueError, "Expected devices to have indices, got cpu"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_several():
    a, b = Future(), Future()
    both = collect_all([a, b])
    a.set_result(1)
    assert not both.done()
    b.set_result(2)
    assert [f.value() for f in both.wait()] == wait_all([a, b]) == [1, 2]
    assert collect_all([]).wait() == wait_all([]) == []
    bad = Future()
    bad.set_exception(KeyError("k"))
    with pytest.raises(KeyError):
        wait_all([a, bad])
    for call in (collect_all, wait_all, lambda futures: torch.jit.wait(futures[0])):
        with pytest.raises(RuntimeError, match="Future can't be None"):
            call((None,))


def test_wait_for_another_thread():
    future = Future()
    thread = threading.Thread(target=lambda: future.set_result(5))
    try:
        thread.start()
    except RuntimeError:  # no threads: a wait that nothing can end is an error
        with pytest.raises(RuntimeError, match="no other thread"):
            future.wait()
    else:
        assert future.wait() == 5
        thread.join()


def test_fork_and_wait():
    future = torch.jit.fork(lambda x, y=1: x.neg() + y, torch.ones(2), y=5)
    assert future.done() and torch.jit.wait(future).tolist() == [4, 4]
    assert torch.jit.wait(torch.jit.fork(torch.nn.ReLU(), torch.ones(1))).tolist() == [1]
    with pytest.raises(ZeroDivisionError):
        torch.jit.fork(lambda: 1 / 0)
    for call in (lambda: torch.jit.wait(3), lambda: torch.jit.fork(3)):
        with pytest.raises(TypeError):
            call()
