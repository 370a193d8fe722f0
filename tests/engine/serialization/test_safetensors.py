"""Files of safetensors, beside ``safetensors.torch``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradtape
from gradtape import safetensors as ours

from ..oracle import assert_close

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("safetensors.torch")

DTYPES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
)
SIDES = {"gradtape": (gradtape, ours), "torch": (torch, theirs)}


def tensors(t: Any) -> dict[str, Any]:
    found = {name: t.ones(2, 3).to(getattr(t, name)) for name in DTYPES}
    return {**found, "empty": t.empty(0, 2), "scalar": t.tensor(2.5)}


def content(found: dict[str, Any]) -> dict[str, Any]:
    """Return the dtypes, shapes and values of named tensors."""
    return {
        name: (str(found[name].dtype), found[name].shape, found[name].tolist())
        for name in sorted(found)
    }


@pytest.mark.parametrize("writer", SIDES)
@pytest.mark.parametrize("reader", SIDES)
def test_files_go_both_ways(writer: str, reader: str, tmp_path: Path):
    module, library = SIDES[writer]
    path = tmp_path / "x.safetensors"
    library.save_file(tensors(module), path, metadata={"made": "here"})
    wanted = content(theirs.load_file(path))
    library = SIDES[reader][1]
    assert content(library.load_file(path)) == wanted
    assert content(library.load(path.read_bytes())) == wanted
    assert content(gradtape.load(path)) == content(torch.load(path)) == wanted


def test_parts_of_a_file_are_read(tmp_path: Path):
    path = tmp_path / "x.safetensors"
    ours.save_file({"x": gradtape.arange(6.0).reshape(3, 2)}, path, {"a": "b"})
    with ours.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["x"]
        assert file.metadata() == {"a": "b"}
        part = file.get_slice("x")
        assert (part.get_shape(), part.get_dtype()) == ([3, 2], "F32")
        assert part[1:, :1].tolist() == [[2.0], [4.0]]
        assert file.get_tensor("x").tolist() == [[0, 1], [2, 3], [4, 5]]


def test_what_is_loaded_can_be_written_and_trained():
    found = ours.load(ours.save({"x": gradtape.ones(3, dtype=gradtape.bfloat16)}))["x"]
    found.requires_grad_()
    (found * 2).sum().backward()
    assert found.grad is not None
    with gradtape.no_grad():
        found.add_(1)
    assert found.tolist() == [2, 2, 2]


WRONG = {
    "not contiguous": lambda t: {"x": t.ones(2, 3).t()},
    "no tensor": lambda t: {"x": 3},
    "no dict": lambda t: [t.ones(2)],
    "sparse": lambda t: {"x": t.eye(2).to_sparse()},
    "shared": lambda t: (lambda x: {"x": x, "y": x[1:]})(t.ones(3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_saved_is_refused_as_there(name: str):
    with pytest.raises((ValueError, RuntimeError)) as wanted:
        theirs.save(WRONG[name](torch))
    with pytest.raises(wanted.type) as found:
        ours.save(WRONG[name](gradtape))
    assert " ".join(str(found.value).split()) == " ".join(str(wanted.value).split())


@pytest.mark.parametrize("content", [b"", b"123", b"\xff" * 100], ids=["0", "3", "100"])
def test_broken_files_are_refused(content: bytes):
    with pytest.raises(Exception, match="deserializing: header too"):
        ours.load(content)


def tied(t: Any) -> Any:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    model[1].weight = model[0].weight
    return model


@pytest.mark.parametrize("writer", SIDES)
@pytest.mark.parametrize("reader", SIDES)
def test_models_with_tied_weights(writer: str, reader: str, tmp_path: Path):
    path = tmp_path / "x.safetensors"
    module, library = SIDES[writer]
    model = tied(module)
    library.save_model(model, str(path))
    t, other = SIDES[reader]
    found = tied(t)
    with t.no_grad():
        found[0].weight.zero_()
    missing, unexpected = other.load_model(found, path)
    assert (set(missing), list(unexpected)) == (set(), [])
    assert_close(found[1].weight.tolist(), model[0].weight.tolist(), 1e-6, "weight")


def test_a_model_of_another_shape_is_refused_as_there(tmp_path: Path):
    path = tmp_path / "x.safetensors"
    theirs.save_file({"weight": torch.ones(2, 2), "more": torch.ones(1)}, path)
    with pytest.raises(RuntimeError) as wanted:
        theirs.load_model(torch.nn.Linear(2, 2), path)
    with pytest.raises(RuntimeError) as found:
        ours.load_model(gradtape.nn.Linear(2, 2), path)
    assert str(found.value) == str(wanted.value)
