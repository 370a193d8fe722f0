"""Memory shared by DLPack, buffers and NumPy arrays, beside PyTorch."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape

from ..oracle import assert_same

torch = pytest.importorskip("torch")


def written(t: Any, make: Callable[[Any], Any], **options: Any) -> Any:
    source = make(t)
    found = t.from_dlpack(source, **options).fill_(7)
    return found, np.asarray(source).tolist()


PROGRAMS = {
    "tensor": lambda t: written(t, lambda t: t.arange(3.0)),
    "array": lambda t: written(t, lambda t: np.arange(3)),
    "copied": lambda t: written(t, lambda t: t.arange(3.0), copy=True),
    "to a device": lambda t: written(t, lambda t: np.arange(3.0), device="cpu"),
    "strided": lambda t: t.from_dlpack(t.arange(6.0).reshape(2, 3).t()),
    "bfloat16": lambda t: t.from_dlpack(t.ones(2, dtype=t.bfloat16)),
    "bool": lambda t: t.from_dlpack(np.array([True, False])),
    "complex": lambda t: t.from_dlpack(np.ones(2, np.complex64)),
    "bfloat16 capsule": lambda t: t.from_dlpack(
        t.to_dlpack(t.arange(6, dtype=t.bfloat16).reshape(2, 3).t())
    ),
    "versioned bfloat16": lambda t: t.from_dlpack(
        t.ones(2, dtype=t.bfloat16).__dlpack__(max_version=(1, 0))
    ),
    "scalar": lambda t: t.from_dlpack(t.tensor(3.0)),
    "empty": lambda t: t.from_dlpack(t.empty(0, 3)),
    "capsule": lambda t: t.from_dlpack(t.to_dlpack(t.arange(3.0))),
    "of utils": lambda t: t.utils.dlpack.from_dlpack(np.arange(3)),
    "read by NumPy": lambda t: np.from_dlpack(t.arange(3.0)).tolist(),
    "device": lambda t: [int(part) for part in t.ones(1).__dlpack_device__()],
    "gradient": lambda t: t.from_dlpack(t.ones(2, requires_grad=True)),
    "detached": lambda t: t.from_dlpack(t.ones(2, requires_grad=True).detach()),
    "number": lambda t: t.from_dlpack(3),
    "sparse": lambda t: t.eye(2).to_sparse().__dlpack__(),
    "stream": lambda t: t.ones(2).__dlpack__(stream=1),
    "buffer": lambda t: t.frombuffer(bytearray(b"\1\0\2\0"), dtype=t.int16),
    "part of a buffer": lambda t: t.frombuffer(
        bytearray(range(8)), dtype=t.uint8, offset=2, count=3
    ),
    "array of ints": lambda t: t.frombuffer(array.array("i", [1, 2]), dtype=t.int32),
    "buffer with gradient": lambda t: t.frombuffer(
        bytearray(8), dtype=t.float32, requires_grad=True
    ),
    "integers with gradient": lambda t: t.frombuffer(
        bytearray(8), dtype=t.int32, requires_grad=True
    ),
    "odd buffer": lambda t: t.frombuffer(bytearray(7), dtype=t.int32),
    "short buffer": lambda t: t.frombuffer(bytearray(8), dtype=t.int32, count=5),
    "late offset": lambda t: t.frombuffer(bytearray(8), dtype=t.int32, offset=9),
    "no buffer": lambda t: t.frombuffer(3, dtype=t.int32),
    "from_numpy": lambda t: t.from_numpy(np.arange(3)),
    "reversed": lambda t: t.from_numpy(np.arange(3)[::-1]),
    "text": lambda t: t.from_numpy(np.array(["a"])),
    "list": lambda t: t.from_numpy([1, 2]),
    "NumPy's number": lambda t: t.from_numpy(np.float64(3)),
    "big-endian": lambda t: t.from_numpy(np.arange(3, dtype=">i4")),
    "field": lambda t: t.from_numpy(np.zeros(2, [("a", "i4"), ("b", "i1")])["a"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_shared_or_refused_as_in_pytorch(name: str):
    assert_same(PROGRAMS[name])


def test_memory_goes_to_pytorch_and_back():
    mine = gradtape.arange(6.0).reshape(2, 3)[:, 1:]
    theirs = torch.from_dlpack(mine)
    theirs.mul_(10)
    assert mine.tolist() == theirs.tolist() == [[10, 20], [40, 50]]
    again = gradtape.from_dlpack(theirs)
    again.zero_()
    assert mine.tolist() == [[0, 0], [0, 0]]
    assert again.stride() == (3, 1)


def test_bfloat16_goes_to_pytorch_and_back():
    mine = gradtape.arange(6.0).bfloat16().reshape(2, 3)[:, 1:]
    theirs = torch.from_dlpack(mine)
    theirs.mul_(10)
    assert mine.tolist() == theirs.tolist() == [[10, 20], [40, 50]]
    again = gradtape.from_dlpack(theirs)
    again.zero_()
    assert (again.dtype, mine.tolist()) == (gradtape.bfloat16, [[0, 0], [0, 0]])


def test_a_capsule_is_used_once():
    capsule = gradtape.to_dlpack(gradtape.ones(2))
    gradtape.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        gradtape.from_dlpack(capsule)
