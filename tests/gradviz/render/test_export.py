"""Exports are whole or not there; what cannot be read or written is one sentence."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import gradviz
import gradviz.errors as errors
from gradviz import export, ir, snapshots
from gradviz.errors import ExportError, SnapshotError
from gradviz.ir import columns as ir_columns
from tests.gradviz import samples

pytestmark = pytest.mark.usefixtures("bundle")


@pytest.mark.parametrize("form", ["html", "json", "gvc"])
@pytest.mark.parametrize("name", samples.SAMPLES)
def test_what_is_exported_loads_again(tmp_path: Path, name: str, form: str):
    snapshot = samples.SAMPLES[name]()
    path = export.write_as(form, snapshot, tmp_path / f"x.{form}")
    assert repr(snapshots.load(path)) == repr(snapshot)


def test_packed_columns_load_too(tmp_path: Path):
    path = tmp_path / "x.bin"
    path.write_bytes(ir_columns.pack(samples.cnn()))
    assert snapshots.load(path) == samples.cnn()


@pytest.mark.parametrize(
    ("function", "start"),
    [
        (export.export_html, "<!DOCTYPE html>"),
        (export.export_json, '{"format": "gradviz"'),
        (export.export_svg, "<svg "),
        (export.export_dot, "digraph"),
    ],
)
def test_each_function_writes_its_format(tmp_path: Path, function, start: str):
    path = tmp_path / "out"
    assert function(samples.mlp(), str(path)) == path
    assert path.read_text(encoding="utf-8").startswith(start)


class Holder:
    """Like a recorder: not a snapshot, but has one."""

    def __init__(self, snapshot: ir.Snapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> ir.Snapshot:
        return self._snapshot


def test_a_recorder_is_asked_for_its_snapshot(tmp_path: Path):
    path = export.export_json(Holder(samples.mlp()), tmp_path / "x.json")
    assert snapshots.load(path) == samples.mlp()


def test_anything_else_is_captured(tmp_path: Path, monkeypatch):
    seen = []

    def capture(x: object) -> ir.Snapshot:
        seen.append(x)
        return samples.mlp()

    monkeypatch.setattr("gradviz._capture.capture", capture, raising=False)
    tensor = object()
    export.export_json(tensor, tmp_path / "x.json")
    assert seen == [tensor]


def test_a_snapshot_that_contradicts_itself_is_not_written(tmp_path: Path):
    with pytest.raises(SnapshotError, match="roots"):
        export.export_html(ir.Snapshot("p", roots=(7,)), tmp_path / "x.html")
    assert list(tmp_path.glob("x*")) == []


# ---- what cannot be written ----


def refused(path: Path) -> str:
    """Return the sentence with which writing to the path is refused."""
    with pytest.raises(ExportError) as caught:
        export.export_json(samples.mlp(), path)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a_missing_folder_is_named(tmp_path: Path):
    assert "there is no folder" in refused(tmp_path / "no" / "x.json")


def test_a_folder_is_not_a_file(tmp_path: Path):
    assert "is a folder" in refused(tmp_path)


def test_a_file_is_not_a_folder(tmp_path: Path):
    (tmp_path / "file").touch()
    assert "is not a folder" in refused(tmp_path / "file" / "x.json")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs /proc")
def test_a_folder_that_takes_no_files_is_refused():
    assert "cannot be written" in refused(Path("/proc/x.json"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path: Path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    assert "read-only" in refused(folder / "x.json")


def test_a_folder_found_read_only_is_refused_early(tmp_path: Path, monkeypatch):
    # As root, every folder passes os.access; this is what other users get.
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "the folder is read-only" in refused(tmp_path / "x.json")


@pytest.mark.parametrize("step", ["replace", "fdopen"])
def test_a_failure_halfway_leaves_the_old_file(tmp_path: Path, monkeypatch, step: str):
    path = tmp_path / "x.json"
    path.write_text("precious")
    monkeypatch.setattr(os, step, fail)
    assert "no space left" in refused(path)
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.glob("*x.json*")] == ["x.json"]


def fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", ["x" * 300 + ".json", "a\0b", "~nobody_at_all/x.json"])
def test_impossible_names_are_refused(tmp_path: Path, name: str):
    path = Path(name) if name.startswith("~") else tmp_path / name
    assert "cannot be written" in refused(path)
    with pytest.raises(SnapshotError, match="cannot be read"):
        snapshots.load(path)


# ---- what is kept ----


def test_permissions_are_those_of_a_new_or_the_old_file(tmp_path: Path):
    path = export.export_json(samples.mlp(), tmp_path / "x.json")
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    export.export_json(samples.mlp(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real.json").touch()
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    export.export_json(samples.mlp(), link)
    assert link.is_symlink()
    assert snapshots.load(tmp_path / "real.json") == samples.mlp()


def test_a_device_is_written_not_replaced():
    export.export_json(samples.mlp(), "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


# ---- what cannot be read ----


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1"),
        (b"hello", "not a gradviz snapshot"),
        (b"\xff\xfe\x00", "not text"),
        (b"<html></html>", "not a page made by gradviz"),
        (b"<html>\xff</html>", "not a page made by gradviz"),
        (b"GVC1", "truncated"),
        (b"xx", "damaged"),
        (b'{"schema": [9, 0], "producer": ""}', "newer gradviz"),
    ],
)
def test_a_file_that_is_no_snapshot_is_named(
    tmp_path: Path, content: bytes, words: str
):
    path = tmp_path / "odd"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=words) as caught:
        snapshots.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_damaged_page_is_refused(tmp_path: Path):
    path = export.export_html(samples.mlp(), tmp_path / "x.html")
    page = path.read_text()
    start = page.index(">", page.index('id="gradviz-data"')) + 1
    for damaged in (page[: start + 40], page[:start] + "!" + page[start:]):
        path.write_text(damaged)
        with pytest.raises(SnapshotError):
            snapshots.load(path)


def test_missing_files_and_folders_are_named(tmp_path: Path):
    with pytest.raises(SnapshotError, match="no such file"):
        snapshots.load(tmp_path / "none.json")
    with pytest.raises(SnapshotError, match="is a directory"):
        snapshots.load(tmp_path)


def test_an_oversized_file_is_refused_unread(tmp_path: Path):
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(2**40)  # sparse: takes no room
    with pytest.raises(SnapshotError, match="larger than"):
        snapshots.load(path)


def test_every_error_is_a_gradviz_error():
    assert issubclass(SnapshotError, errors.GradvizError)
    assert issubclass(ExportError, errors.GradvizError)


# ---- show ----


def test_show_prints_a_table_where_no_window_is(monkeypatch, capsys):
    monkeypatch.setattr("gradviz.showing.browser.open_page", lambda _: False)
    gradviz.show(samples.mlp())
    printed = capsys.readouterr().out
    assert "matmul" in printed
    page = Path(printed.rsplit("Page: ", 1)[1].strip())
    assert snapshots.load(page) == samples.mlp()


def test_show_opens_the_page_where_one_is(monkeypatch, capsys):
    opened: list[Path] = []
    monkeypatch.setattr(
        "gradviz.showing.browser.open_page", lambda p: not opened.append(p)
    )
    gradviz.show(samples.mlp())
    assert snapshots.load(opened[0]) == samples.mlp()
    assert "matmul" not in capsys.readouterr().out
