"""Whatever happens to a file: a valid snapshot comes out, or SnapshotError."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gradviz import snapshots
from gradviz.errors import SnapshotError
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.ir.validate import validate
from gradviz.render.html import to_html
from tests.fuzz import damaged, peak_of
from tests.gradviz import samples

ROOM = 24 << 20  # bytes: what the bounds let a small file take, and a few buffers
FILES: dict[str, tuple[Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "columns": (lambda: ir_columns.encode(samples.cnn()), bytes),
    "inside": (lambda: ir_columns.encode(samples.cnn()), zlib.compress),
    "deflated": (lambda: ir_columns.pack(samples.cnn()), bytes),
    "json": (lambda: ir_json.dumps(samples.cnn()).encode(), bytes),
    "page": (lambda: to_html(samples.cnn()).encode(), bytes),
}
"""What is damaged, and what is done to it afterwards."""


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_file_is_refused_or_valid_and_never_large(kind: str, tmp_path: Path):
    path = tmp_path / "damaged"

    def load() -> None:
        try:
            snapshot = snapshots.load(path)
        except SnapshotError as error:  # and nothing else
            sentences.append(str(error))
        else:
            validate(snapshot)

    valid, completed = FILES[kind]
    sentences: list[str] = []
    tracemalloc.start()
    try:
        for data in damaged(valid()):
            path.write_bytes(completed(data))
            assert peak_of(load) < ROOM
    finally:
        tracemalloc.stop()
    assert sentences
    for sentence in sentences:
        assert sentence.endswith(".")
        assert "\n" not in sentence
