"""Old files hold the source of their modules: a change is told as in PyTorch."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import gradtape

torch = pytest.importorskip("torch")

_SAVED = "from {engine} import nn\nclass Net(nn.Module):\n    dump_patches = {dumps}\n"
_NOW = _SAVED + "    changed = True\n"


def _written(folder: Path, text: str) -> None:
    (folder / "a_saved_net.py").write_text(text)
    sys.modules.pop("a_saved_net", None)


def _loaded(
    t: Any,
    name: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    saver: Any = torch,
    **options: Any,
) -> tuple[list[tuple[str, str]], str]:
    """Return what loading says of a class that has changed, and the patch it writes."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    _written(folder, _SAVED.format(engine=saver.__name__, **options))
    from a_saved_net import Net  # pyright: ignore[reportMissingImports]

    file = io.BytesIO()
    saver.save(Net(), file, _use_new_zipfile_serialization=False)
    _written(folder, _NOW.format(engine=name, **options))
    file.seek(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        t.load(file, weights_only=False)
    patch = folder / "Net.patch"
    text = patch.read_text() if patch.exists() else ""
    return [(w.category.__name__, str(w.message)) for w in said], text


@pytest.mark.parametrize("dumps", [True, False])
def test_a_changed_class_is_told(
    dumps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    for t, name in ((gradtape, "gradtape"), (torch, "torch")):
        folder = tmp_path / name
        folder.mkdir()
        said, patch = _loaded(t, name, folder, monkeypatch, dumps=dumps)
        found.append((said, patch.replace(str(folder), "")))
        _written(folder, "")
    assert found[0] == found[1]
    assert found[0][0][0][0] == "SourceChangeWarning"
    assert bool(found[0][1]) == dumps


def test_a_class_is_saved_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, _ = _loaded(
        *(gradtape, "gradtape", tmp_path, monkeypatch), saver=gradtape, dumps=False
    )
    assert [name for name, _ in said] == ["SourceChangeWarning"]
    _written(tmp_path, "")


def test_layers_of_the_engine_are_saved_without_source() -> None:
    file = io.BytesIO()
    layers = gradtape.nn.Sequential(gradtape.nn.Linear(2, 1), gradtape.nn.Linear(1, 2))
    gradtape.save(layers, file, _use_new_zipfile_serialization=False)
    for t in (gradtape, torch):
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert isinstance(t.load(file, weights_only=False)[1], t.nn.Linear)
