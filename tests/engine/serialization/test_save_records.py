"""Records of saved files one by one, as PyTorch's internal readers and writers do."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import gradtape

torch = pytest.importorskip("torch")
ENGINES = {"gradtape": gradtape, "torch": torch}


@pytest.mark.parametrize("writer", ENGINES)
@pytest.mark.parametrize("reader", ENGINES)
def test_records_go_both_ways(writer: str, reader: str):
    t, other = ENGINES[writer], ENGINES[reader]
    file = io.BytesIO()
    with t.serialization._open_zipfile_writer(file) as archive:
        archive.write_record("text", "abc", 3)
        archive.write_record("bytes", b"x\0y", 3)
        archive.write_record("data/0", t.arange(3.0).untyped_storage(), 12)
    content = file.getvalue()
    with other.serialization._open_zipfile_reader(io.BytesIO(content)) as archive:
        assert archive.has_record("text")
        assert not archive.has_record("nothing")
        assert archive.get_record("text") == b"abc"
        assert archive.get_record("bytes") == b"x\0y"
        assert set(archive.get_all_records()) >= {"text", "bytes", "data/0", "version"}
        place = archive.get_record_offset("data/0")
        assert content[place : place + 12] == bytes(t.arange(3.0).untyped_storage())


def test_files_are_read_by_path(tmp_path: Path):
    path = tmp_path / "x.pt"
    torch.save(torch.arange(3.0), path)
    records: list[Any] = [
        t._C.PyTorchFileReader(str(path)).get_record("data/0")
        for t in (gradtape, torch)
    ]
    assert records[0] == records[1]
    found = gradtape._C.PyTorchFileReader(path)
    assert found.get_storage_from_record("data/0", 3, gradtape.float32).tolist() == [
        *(0.0, 1.0, 2.0)
    ]
    assert found.serialization_id().isdigit()


def test_writers_by_path_and_room_for_later(tmp_path: Path):
    path = tmp_path / "x.pt"
    writer = gradtape._C.PyTorchFileWriter(str(path))
    writer.write_record_metadata("later", 5)
    writer.write_end_of_file()
    found = gradtape._C.PyTorchFileReader(path)
    assert found.get_record("later") == bytes(5)
    with pytest.raises(RuntimeError, match="failed locating file nothing"):
        found.get_record("nothing")
