"""`device` parses, prints, compares and refuses as PyTorch's."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from gradtape._backend import device as _device
from gradtape._backend.device import default_device, device, set_default_device

torch = pytest.importorskip("torch")

GOOD: tuple[tuple[Any, ...], ...] = (
    *(("cpu",), ("cpu:0",), ("cpu", 0), ("cpu", None), ("cuda",), ("cuda:0",)),
    *(("cuda", 1), ("cuda:12",), ("meta",), ("mps",), ("xpu:1",), ("privateuseone",)),
)
BAD: tuple[tuple[Any, ...], ...] = (
    *(("",), ("foo",), ("foo:1",), ("foo bar",), ("CUDA",), ("cuda:",), (":1",)),
    *(("cuda:-1",), ("cuda:01",), ("cuda:a",), ("cpu:1:2",), ("cuda: 1",)),
    *(("cuda:+1",), ("cuda:1000000000000",), ("cuda:0", 1), ("cuda", -1)),
    *(("cpu", "cpu"), (None,), (1.5,), (True,), (0,), (-1,)),
)


@pytest.mark.parametrize("arguments", GOOD)
def test_reads_and_prints_as_pytorch(arguments: tuple[Any, ...]) -> None:
    ours, theirs = device(*arguments), torch.device(*arguments)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)
    assert (ours.type, ours.index) == (theirs.type, theirs.index)


@pytest.mark.parametrize("arguments", BAD)
def test_refuses_with_pytorchs_sentence(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((RuntimeError, TypeError)) as theirs:
        torch.device(*arguments)
    with pytest.raises(type(theirs.value)) as ours:
        device(*arguments)
    assert str(ours.value) == str(theirs.value)


def test_an_index_alone_means_the_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_device.sys.modules, "cupy", _device)
    assert device(1) == device("cuda", 1)


def test_equality_and_hash_go_by_type_and_index() -> None:
    assert device("cuda:1") == device("cuda", 1)
    assert device("cuda") != device("cuda:0")
    assert device("cpu") != "cpu"
    assert len({device("cpu"), device("cpu"), device("cpu:0")}) == 2


def test_copies_of_every_kind_are_equal() -> None:
    where = device("cuda:1")
    assert device(where) == where
    assert device(device="cuda:1") == where
    assert device(type="cuda", index=1) == where
    assert pickle.loads(pickle.dumps(where)) == where
    assert pickle.loads(pickle.dumps(device("cpu"))).index is None


def test_attributes_cannot_be_changed() -> None:
    with pytest.raises(
        AttributeError, match=r"'index' of 'torch\.device' objects is not"
    ):
        device("cpu").index = 1


def test_blocks_nest_and_may_reuse_one_device() -> None:
    meta, cuda = device("meta"), device("cuda")
    with meta as entered:
        assert entered is meta
        with cuda, meta:
            assert default_device() == meta
        assert default_device() == meta
    assert default_device() == device("cpu")


def test_default_device_is_set_for_this_thread_only() -> None:
    seen: list[device] = []
    set_default_device("meta")
    try:
        thread = threading.Thread(target=lambda: seen.append(default_device()))
        thread.start()
        thread.join()
        assert default_device() == device("meta")
    finally:
        set_default_device(None)
    assert seen == [device("cpu")]
    assert default_device() == device("cpu")
