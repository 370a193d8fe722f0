"""Tensors and storages over files: what is shared, what is private, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same, outcome

ONE = b"\0\0\x80\x3f"

PROGRAMS = [
    lambda t, p: t.from_file(p, size=3),
    lambda t, p: t.from_file(p, size=3, dtype=t.int32, requires_grad=False),
    lambda t, p: t.from_file(p, size=2, requires_grad=True),
    lambda t, p: t.from_file(p, size=4),
    lambda t, p: t.from_file(p, shared=True, size=4),
    lambda t, p: t.from_file(p + "x", size=4),
    lambda t, p: t.from_file(p),
    lambda t, p: t.from_file(p, size=-1),
    lambda t, p: t.from_file(3, size=1),
    lambda t, p: t.from_file(p, True, 3).resize_(50),
    lambda t, p: t.from_file(p, True, 3)[1:].untyped_storage().filename,
    lambda t, p: t.from_file(p, False, 3).untyped_storage().filename,
    lambda t, p: t.ones(2).untyped_storage().filename,
    lambda t, p: t.UntypedStorage.from_file(p, True, 8).filename,
    lambda t, p: t.UntypedStorage.from_file(p).nbytes(),
    lambda t, p: t.UntypedStorage.from_file(p, False, 800),
    lambda t, p: t.FloatStorage.from_file(p, True, 3).tolist(),
]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_is_read_as_in_pytorch(program: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers"

    def run(t: Any) -> Any:
        path.write_bytes(3 * ONE)
        return program(t, str(path))

    assert_same(run)


@pytest.mark.parametrize("shared", [True, False])
def test_writes_reach_a_shared_file_alone(shared: bool, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(3 * ONE)
    gradtape.from_file(str(path), shared, 3).fill_(5.0)
    assert (path.read_bytes() == 3 * ONE) is not shared


def test_two_tensors_over_a_shared_file_see_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers")
    first, second = (gradtape.from_file(path, True, 2) for _ in range(2))
    first.fill_(3.0)
    assert second.tolist() == [3.0, 3.0]
    assert outcome(lambda t: t.from_file(path, size=2), gradtape)[1]["values"] == [3, 3]
