"""Sparse gradients and tensors in captures and recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtape as torch
import gradviz
from gradtape._sparse.array import SparseArray
from gradviz._capture.statistics.summary import statistics
from gradviz.ir.validate import validate


def model() -> Any:
    torch.manual_seed(0)
    table = torch.nn.Embedding(10, 4, sparse=True)
    return torch.nn.Sequential(table, torch.nn.Linear(4, 1))


def loss_of(model: Any) -> Any:
    return model(torch.tensor([1, 2, 1])).pow(2).mean()


def product() -> Any:
    values = torch.ones(3, requires_grad=True)
    x = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], values, (2, 3))
    return (torch.sparse.mm(x + x * 2, torch.ones(3, 2)) ** 2).sum()


@pytest.mark.parametrize(
    "make", [lambda: loss_of(model()), product], ids=["rows", "mm"]
)
def test_graphs_with_sparse_tensors_are_captured_and_exported(
    make: Any, tmp_path: Path
) -> None:
    snapshot = gradviz.capture(make())
    validate(snapshot)
    gradviz.export_json(snapshot, tmp_path / "graph.json")
    assert gradviz.load(tmp_path / "graph.json") == snapshot
    assert gradviz.export_html(snapshot, tmp_path / "graph.html").stat().st_size
    assert gradviz.export_svg(snapshot, tmp_path / "graph.svg").stat().st_size


def test_a_training_step_with_sparse_gradients_is_recorded(tmp_path: Path) -> None:
    layers = model()
    optimizers = [
        torch.optim.SparseAdam(layers[0].parameters()),
        torch.optim.SGD(layers[1].parameters(), lr=0.1),
    ]
    layers[0].weight.register_hook(lambda grad: grad * 2)
    with gradviz.record() as recorder:
        for _ in range(2):
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=False)
            loss_of(layers).backward()
            for optimizer in optimizers:
                optimizer.step()
    snapshot = recorder.snapshot()
    validate(snapshot)
    gradviz.export_html(snapshot, tmp_path / "graph.html")
    accumulated = [
        snapshot.statistics[event.statistics]
        for event in snapshot.events
        if event.kind == "accumulate" and event.statistics is not None
    ]
    assert 8 in {found.count for found in accumulated}  # two rows of four were met


def test_sparse_tensors_are_recorded() -> None:
    with gradviz.record() as recorder:
        product().backward()
    snapshot = recorder.snapshot()
    validate(snapshot)
    names = {node.name for node in snapshot.nodes}
    assert {"SparseCooTensorWithDimsAndTensorsBackward0", "AddBackward0"} <= names


def test_statistics_count_each_place_once() -> None:
    indices = np.array([[1, 0, 1], [2, 0, 2]])
    found = statistics(SparseArray(indices, np.array([3.0, 4.0, -3.0]), (2, 3)))
    assert (found.count, found.minimum, found.maximum) == (2, 0.0, 4.0)
    assert (found.norm, found.zeros) == (4.0, 1)


def test_the_first_bad_element_of_a_sparse_array_has_its_place() -> None:
    values = np.array([[1.0, 2.0], [3.0, np.nan]])
    found = statistics(SparseArray(np.array([[3, 1]]), values, (5, 2)))
    assert (found.nans, found.first_bad) == (1, (1, 1))


def test_statistics_of_no_elements() -> None:
    assert statistics(SparseArray(np.zeros((1, 0), int), np.zeros(0), (3,))).count == 0
