"""Pictures by Graphviz: drawn where it is there, a sentence where it is not."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import gradviz
from gradviz.errors import ExportError
from tests.gradviz import samples


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz has no program here")
@pytest.mark.parametrize(
    ("function", "suffix", "start"),
    [
        (gradviz.export_dot, "png", b"\x89PNG"),
        (gradviz.export_png, "png", b"\x89PNG"),
        (gradviz.export_dot, "pdf", b"%PDF"),
        (gradviz.export_dot, "svg", b"<?xml"),
    ],
)
@pytest.mark.parametrize("sample", ["cnn", "hostile"])
def test_graphviz_draws(tmp_path: Path, sample, function, suffix: str, start: bytes):
    path = function(samples.SAMPLES[sample](), tmp_path / f"graph.{suffix}")
    assert path.read_bytes().startswith(start)


def test_the_package_gets_the_dot_text_and_the_format(tmp_path: Path, monkeypatch):
    class Source:
        def __init__(self, text: str) -> None:
            self.text = text

        def pipe(self, **options: str) -> bytes:
            return f"{options['format']}: {self.text}".encode()

    fake = SimpleNamespace(
        Source=Source, ExecutableNotFound=OSError, CalledProcessError=ValueError
    )
    monkeypatch.setitem(sys.modules, "graphviz", fake)
    drawn = gradviz.export_png(samples.mlp(), tmp_path / "graph.png").read_text()
    written = gradviz.export_dot(samples.mlp(), tmp_path / "graph.dot").read_text()
    assert drawn == f"png: {written.rstrip()}"


def test_without_the_package_a_sentence_says_what_to_do(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ExportError, match=r"A PNG is drawn by Graphviz.*pip install"):
        gradviz.export_png(samples.mlp(), tmp_path / "graph.png")
    assert list(tmp_path.iterdir()) == []


def test_without_the_program_a_sentence_says_what_to_do(tmp_path: Path, monkeypatch):
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match=r"its program `dot` is not installed"):
        gradviz.export_png(samples.mlp(), tmp_path / "graph.png")


def test_a_graph_on_which_graphviz_hangs_is_refused(tmp_path: Path):
    snapshot = samples.mlp()
    large = replace(snapshot, nodes=snapshot.nodes[:1] * 2000, edges=())
    with pytest.raises(ExportError, match=r"2,000 nodes.*export menu"):
        gradviz.export_dot(large, tmp_path / "graph.pdf")
