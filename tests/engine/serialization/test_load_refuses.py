"""Malicious and broken files: refused in one sentence, nothing run, no memory taken."""

from __future__ import annotations

import pickle
import sys
import tracemalloc
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import gradtape

from ._files import loaded, record, saved, with_pickle
from .refused_files import BOMBS, FILES, GOOD, PICKLE, text

ROOM = 8 << 20
"""Bytes that reading may take beside the file: buffers, and what Python keeps."""


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sentence, build = FILES[name]
    content = build()
    monkeypatch.chdir(tmp_path)  # where a command would leave its trace
    "".encode("cp437")  # zipfile imports it when it first reads names
    known = set(sys.modules)
    tracemalloc.start()
    try:
        with pytest.raises((pickle.UnpicklingError, RuntimeError, ValueError)) as error:
            loaded(gradtape, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sentence in str(error.value)
    assert peak < ROOM + 4 * len(content)
    assert list(tmp_path.iterdir()) == []
    assert set(sys.modules) == known


@pytest.mark.parametrize("name", BOMBS)
def test_what_a_file_builds_is_bounded_by_its_size(name: str):
    content = BOMBS[name]()
    assert len(content) < 1_100_000
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError, match="builds far more than its"):
            loaded(gradtape, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (32 << 20) + 120 * len(content)


def test_a_tensor_larger_than_its_storage_is_not_moved():
    t = gradtape
    inside = record(saved(t, t.ones(1).expand(10**6, 10**6)), "data.pkl")[2:-1]
    move = b"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n("
    end = b"ctorch\nfloat64\n" + text("cpu") + b"\x89tR."
    file = with_pickle(b"\x80\2" + move + inside + end, saved(t, t.ones(1)))
    with pytest.raises(pickle.UnpicklingError, match="larger than its storage"):
        loaded(t, file)


def test_a_file_of_many_small_things_is_read():
    t = gradtape
    small = [{"step": n, "flags": [], "more": OrderedDict(a=())} for n in range(20_000)]
    tensors = {f"layer.{n}.weight": t.nn.Parameter(t.ones(2)) for n in range(500)}
    shared = [t.ones(8)[i % 8 :] for i in range(500)]
    back = loaded(t, saved(t, [small, tensors, shared, [[]] * 1000, {*range(9)}]))
    assert back[0] == small
    assert list(back[1]) == list(tensors)


def test_the_good_file_is_read():
    whole, part = loaded(gradtape, GOOD)
    assert whole.tolist() == [0, 1, 2, 3, 4, 5]
    assert part.tolist() == [1, 2, 3, 4, 5]


def test_an_expanded_tensor_is_no_attack():
    big = gradtape.ones(1).expand(10**6, 10**6)
    found = loaded(gradtape, saved(gradtape, big))
    assert found.shape == (10**6, 10**6)
    assert found.untyped_storage().nbytes() == 4


@pytest.mark.parametrize("bit", ["conj", "neg"])
def test_bits_of_an_expanded_tensor_cost_no_memory(bit: str):
    t = gradtape
    good = saved(t, t.ones(1, dtype=t.complex64).expand(10**6, 10**6))
    inside = record(good, "data.pkl")
    end = inside.rindex(b"tq")
    flag = b"}" + text(bit) + b"\x88s"
    found = loaded(t, with_pickle(inside[:end] + flag + inside[end:], good))
    assert found[0, 0].item() == (1 if bit == "conj" else -1)
    assert found.untyped_storage().nbytes() == 8


def test_every_cut_of_a_file_is_refused():
    for length in range(4, len(GOOD), 7):
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            loaded(gradtape, GOOD[:length])


def test_random_damage_is_refused_or_harmless():
    random = np.random.default_rng(0)
    plain = bytearray(GOOD)
    for _ in range(1500):
        content = plain.copy()
        content[random.integers(4, len(content))] = random.integers(256)
        try:
            loaded(gradtape, bytes(content))
        except (pickle.UnpicklingError, RuntimeError, ValueError, AssertionError):
            continue


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_random_damage_to_a_pickle_is_refused_or_harmless():
    random = np.random.default_rng(1)
    for _ in range(1500):
        content = bytearray(PICKLE)
        for _ in range(random.integers(1, 4)):
            content[random.integers(2, len(content))] = random.integers(256)
        file = with_pickle(bytes(content), GOOD)
        try:
            loaded(gradtape, file)
        except (pickle.UnpicklingError, RuntimeError, ValueError, AssertionError):
            continue
