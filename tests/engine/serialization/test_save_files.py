"""Files on disk and in memory: their layout, how they are opened, and where they go."""

from __future__ import annotations

import gzip
import io
import mmap
import pickle
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape.utils.serialization import config

from ..oracle import assert_close, assert_same, describe
from ._files import loaded, record, rezipped, saved

torch = pytest.importorskip("torch")


# ---- layout ----


def layout_of(content: bytes) -> list[tuple[Any, ...]]:
    """Return names, flags, sizes and places of an archive's records."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [
            (i.filename, i.flag_bits, i.file_size, i.header_offset, i.CRC, i.extra)
            for i in archive.infolist()
        ][:-1]  # the last is a fingerprint, which is everyone's own


def things(t: Any) -> list[Any]:
    x = t.arange(100.0)
    return [
        x,
        x[3:],
        t.empty(0),
        t.ones(3, dtype=t.bfloat16),
        t.nn.Parameter(t.ones(7)),
    ]


def test_the_archive_is_laid_out_as_pytorchs():
    assert layout_of(saved(gradtape, things(gradtape))) == layout_of(
        saved(torch, things(torch))
    )


def test_the_pickle_is_pytorchs_byte_for_byte():
    mine = record(saved(gradtape, things(gradtape)), "data.pkl")
    assert mine == record(saved(torch, things(torch)), "data.pkl")


def test_storages_begin_at_multiples_of_64_bytes():
    content = saved(gradtape, [gradtape.full((n,), float(n)) for n in (1, 5, 1000)])
    for n in (1, 5, 1000):
        assert content.index(np.full(n, n, np.float32).tobytes()) % 64 == 0


@pytest.mark.parametrize("name", ["model.pth", "a.b.pt", "bare", "modèle.pt"])
def test_the_folder_in_the_archive_is_named_after_the_file(name: str, tmp_path: Path):
    folders: list[str] = []
    for engine in (gradtape, torch):
        path = tmp_path / engine.__name__ / name
        path.parent.mkdir()
        engine.save(engine.ones(2), path)
        with zipfile.ZipFile(path) as archive:
            folders.append(archive.namelist()[0])
        assert gradtape.load(path).tolist() == [1, 1]
    assert folders[0] == folders[1]


def test_wide_numbers_are_written_where_an_archive_needs_them():
    """What an archive of more than 4 GiB needs, tried with a lower limit."""
    from gradtape.serialization import _zip_writer

    limit, _zip_writer._FULL = _zip_writer._FULL, 1000
    try:
        content = saved(gradtape, [gradtape.arange(300), gradtape.arange(3)])
    finally:
        _zip_writer._FULL = limit
    # Readers know wide numbers by the largest narrow one in their stead.
    wide = content.replace((1000).to_bytes(4, "little"), b"\xff" * 4)
    assert loaded(gradtape, wide)[1].tolist() == [0, 1, 2]
    assert [x.tolist() for x in loaded(torch, wide)] == [list(range(300)), [0, 1, 2]]


@pytest.mark.parametrize("engine", [gradtape, torch], ids=["gradtape", "torch"])
def test_a_file_of_the_other_byte_order_is_swapped(engine: Any):
    x = engine.arange(3, dtype=engine.int32)
    swapped = np.arange(3, dtype=">i4").tobytes()
    foreign = rezipped(saved(engine, x), {"data/0": swapped, "byteorder": b"big"})
    assert loaded(gradtape, foreign).tolist() == [0, 1, 2]
    unmarked = rezipped(foreign, drop=["byteorder"])
    serialization = gradtape.serialization
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert loaded(gradtape, unmarked).tolist() == [0, 1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    little = sys.byteorder == "little"
    assert (loaded(gradtape, unmarked).tolist() != [0, 1, 2]) is little


def test_checksums_can_be_left_out():
    gradtape.serialization.set_crc32_options(False)
    try:
        content = saved(gradtape, gradtape.ones(3))
    finally:
        gradtape.serialization.set_crc32_options(True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {entry.CRC for entry in archive.infolist()} == {0}
    assert loaded(gradtape, content).tolist() == [1, 1, 1]
    assert loaded(torch, content).tolist() == [1, 1, 1]


# ---- how files are opened ----


class Bare:
    """A file with no more than saving and loading ask for."""

    def __init__(self, content: bytes = b"") -> None:
        self._file = io.BytesIO(content)
        self.write = self._file.write
        self.flush = self._file.flush
        self.read = self._file.read
        self.readline = self._file.readline
        self.seek = self._file.seek
        self.tell = self._file.tell


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_any_kind_of_file_will_do(zipped: bool, tmp_path: Path):
    x = gradtape.arange(5.0)
    options = {"_use_new_zipfile_serialization": zipped}
    gradtape.save(x, tmp_path / "a.pt", **options)
    gradtape.save(x, str(tmp_path / "b.pt"), **options)
    with open(tmp_path / "c.pt", "wb") as file:
        gradtape.save(x, file, **options)
    with gzip.open(tmp_path / "d.gz", "wb") as packed:
        gradtape.save(x, packed, **options)
    bare = Bare()
    gradtape.save(x, bare, **options)
    bare.seek(0)
    assert gradtape.load(bare).tolist() == x.tolist()
    for name in ("a.pt", "b.pt", "c.pt"):
        assert gradtape.load(tmp_path / name).tolist() == x.tolist()
        assert torch.load(tmp_path / name).tolist() == x.tolist()
    with gzip.open(tmp_path / "d.gz", "rb") as packed:
        assert gradtape.load(packed).tolist() == x.tolist()


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_a_file_may_begin_with_something_else(zipped: bool):
    file = io.BytesIO()
    pickle.dump("before", file)
    gradtape.save([gradtape.arange(5.0)], file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    assert pickle.load(file) == "before"
    start = file.tell()
    assert gradtape.load(file)[0].tolist() == [0, 1, 2, 3, 4]
    file.seek(start)
    assert torch.load(file)[0].tolist() == [0, 1, 2, 3, 4]


def test_old_files_lie_one_after_the_other():
    file = io.BytesIO()
    for n in range(3):
        gradtape.save(gradtape.ones(n), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [gradtape.load(file).numel() for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("shared", [False, True], ids=["private", "shared"])
def test_mapped_files_are_read_when_used(shared: bool, tmp_path: Path):
    path = tmp_path / "x.pt"
    torch.save([torch.arange(4.0), torch.zeros(2)], path)
    flags = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE
    with gradtape.serialization.set_default_mmap_options(flags):
        found = gradtape.load(str(path), mmap=True)
    found[0].mul_(2)
    assert found[0].tolist() == [0, 2, 4, 6]
    assert found[0].untyped_storage().nbytes() == 16
    del found
    again = [0, 2, 4, 6] if shared else [0, 1, 2, 3]
    assert torch.load(path)[0].tolist() == again
    assert config.load.mmap_flags == mmap.MAP_PRIVATE


def test_storages_may_be_left_out_and_filled_in_later():
    t = gradtape
    with t.serialization.skip_data():
        content = saved(t, [t.full((2,), 7.0), t.arange(3)])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        place = archive.getinfo("archive/data/1")
        assert (place.file_size, place.CRC) == (24, 0)
    assert [x.tolist() for x in loaded(t, content)] == [[0, 0], [0, 0, 0]]
    assert [x.tolist() for x in loaded(torch, content)] == [[0, 0], [0, 0, 0]]
    good = saved(t, t.ones(2))
    with t.serialization.skip_data():
        assert loaded(t, good).shape == (2,)


def test_another_pickle_module_and_protocol():
    wanted = describe(loaded(torch, saved(torch, things(torch))))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        content = saved(gradtape, things(gradtape), pickle_protocol=protocol)
        for engine in (gradtape, torch):
            found = loaded(engine, content, weights_only=False)
            assert_close(describe(found), wanted, 0, "loaded")
    content = saved(gradtape, things(gradtape), pickle_module=pickle)
    assert loaded(gradtape, content, pickle_module=pickle)[0].shape == (100,)


def test_text_that_looks_like_a_name_stays_as_it_is():
    line = "cgradtape.ops.rebuild\n_rebuild_tensor_v2\n"
    other = "cgradtape.nn.modules._linear\nLinear\n"
    given = [line, gradtape.ones(2), gradtape.nn.Linear(1, 1), other]
    for engine in (gradtape, torch):
        found = loaded(engine, saved(gradtape, given), weights_only=False)
        assert found[::3] == [line, other]
        assert found[1].tolist() == [1, 1]
        assert type(found[2]) is engine.nn.Linear


def test_what_has_no_name_is_refused():
    with pytest.raises((pickle.PicklingError, AttributeError), match="<lambda>"):
        saved(gradtape, lambda: None)


# ---- where tensors go ----


@pytest.mark.parametrize(
    "where",
    ["cpu", gradtape.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, None],
    ids=["text", "device", "dict", "other-dict", "none"],
)
def test_locations_that_are_here(where: Any):
    assert loaded(gradtape, saved(torch, torch.ones(2)), map_location=where).sum() == 2


def test_a_function_sees_every_storage_once():
    seen: list[tuple[int, str]] = []

    def look(storage: Any, location: str) -> Any:
        seen.append((storage.nbytes(), location))
        return storage if len(seen) == 1 else None

    x = torch.ones(4)
    found = loaded(gradtape, saved(torch, [x, x[1:], torch.ones(2)]), map_location=look)
    assert seen == [(16, "cpu"), (8, "cpu")]
    assert [y.sum().item() for y in found] == [4, 3, 2]


def from_a_gpu(t: Any, where: Any = None) -> Any:
    """Load a file that says its tensor was on a CUDA device."""
    content = saved(t, t.ones(2))
    inside = record(content, "data.pkl").replace(
        b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"
    )
    return loaded(t, rezipped(content, {"data.pkl": inside}), map_location=where)


def test_tensors_of_a_gpu_come_to_the_cpu_when_asked():
    assert from_a_gpu(gradtape, "cpu").tolist() == [1, 1]
    assert from_a_gpu(gradtape, {"cuda:0": "cpu"}).tolist() == [1, 1]
    assert from_a_gpu(gradtape, lambda storage, location: storage).tolist() == [1, 1]


# ---- sentences ----


def unpickled(t: Any, operations: bytes) -> Any:
    content = saved(t, [t.ones(2)])
    return loaded(t, rezipped(content, {"data.pkl": b"\x80\x02" + operations + b"."}))


REFUSALS = {
    "gpu": lambda t: from_a_gpu(t),
    "device": lambda t: loaded(t, saved(t, t.ones(1)), map_location="nowhere"),
    "cuda": lambda t: loaded(t, saved(t, t.ones(1)), map_location="cuda:1"),
    "no function": lambda t: loaded(t, saved(t, t.ones(1)), map_location=3),
    "save to number": lambda t: t.save(t.ones(1), 3),
    "load from number": lambda t: t.load(3),
    "no such file": lambda t: t.load("nowhere/x.pt"),
    "no such folder": lambda t: t.save(t.ones(1), "nowhere/x.pt"),
    "mmap of a file object": lambda t: loaded(t, saved(t, 1), mmap=True),
    "module with weights_only": lambda t: loaded(
        t, saved(t, 1), weights_only=True, pickle_module=pickle
    ),
    "skip in the old format": lambda t: skipped_old(t),
    "mmap flags": lambda t: t.serialization.set_default_mmap_options(77),
    "endianness": lambda t: t.serialization.set_default_load_endianness("big"),
    "small record": lambda t: loaded(
        t, rezipped(saved(t, t.ones(3)), {"data/0": b"x"})
    ),
    "byte order": lambda t: loaded(t, rezipped(saved(t, 1), {"byteorder": b"what"})),
    "magic number": lambda t: loaded(t, b"\x80\x02K\x01."),
    "two dtypes": lambda t: saved(t, two_dtypes(t)),
    "two dtypes in the old format": lambda t: saved(
        t, two_dtypes(t), _use_new_zipfile_serialization=False
    ),
    "blocked": lambda t: unpickled(t, b"cposix\nsystem\n"),
    "global": lambda t: unpickled(t, b"cfractions\nFraction\n"),
    "builtin": lambda t: unpickled(t, b"c__builtin__\neval\n"),
    "operation": lambda t: unpickled(t, b"\x95"),
    "reduce": lambda t: unpickled(t, b"K\x01)R"),
    "new object": lambda t: unpickled(t, b"K\x01)\x81"),
    "build": lambda t: unpickled(t, b"K\x01}b"),
    "append": lambda t: unpickled(t, b"}K\x01a"),
    "extend": lambda t: unpickled(t, b"}(K\x01e"),
    "set item": lambda t: unpickled(t, b"]K\x01K\x01s"),
    "set items": lambda t: unpickled(t, b"](K\x01K\x01u"),
    "id": lambda t: unpickled(t, b"K\x01Q"),
    "other id": lambda t: unpickled(t, b"X\1\0\0\0aK\1\x86Q"),
    "protocol": lambda t: unpickled(t, b"\x80\x04N"),
}


def skipped_old(t: Any) -> None:
    with t.serialization.skip_data():
        saved(t, t.ones(1), _use_new_zipfile_serialization=False)


def two_dtypes(t: Any) -> Any:
    x = t.ones(4)
    return [x, x.view(t.int32)]


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_pytorchs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert_same(REFUSALS[name])


def test_files_that_are_cut_or_empty_say_so():
    for content in (b"", b"\x80\x02"):
        with pytest.raises(EOFError, match="The file's pickle ends in the middle"):
            loaded(gradtape, content)
    with pytest.raises(RuntimeError, match="failed finding central directory"):
        loaded(gradtape, saved(torch, torch.ones(99))[:500])


def test_options_of_the_pickler_are_for_files_one_trusts():
    with pytest.warns(UserWarning, match="pickle_load_args only works"):
        loaded(gradtape, saved(gradtape, 1), errors="strict")
    assert (
        loaded(gradtape, saved(gradtape, 1), weights_only=False, errors="strict") == 1
    )


def test_the_environment_decides_where_nobody_says(monkeypatch: pytest.MonkeyPatch):
    content = saved(gradtape, gradtape.nn.ReLU())
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert repr(loaded(gradtape, content)) == "ReLU()"
    with pytest.raises(pickle.UnpicklingError):
        loaded(gradtape, content, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        loaded(gradtape, content)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        loaded(gradtape, content, weights_only=False)


def test_saving_tensors_with_hooks_warns_as_pytorch():
    def program(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        x.register_hook(str)
        return loaded(t, saved(t, x))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(program)
