"""A model on the meta device has no values; its graph is recorded all the same."""

from __future__ import annotations

from typing import Any

import gradtape as torch
import gradviz


def test_models_without_values_are_recorded(lib: Any, engine: str) -> None:
    nn = lib.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to("meta")
    with gradviz.record(engine=engine) as recorder:
        net(lib.empty(3, 4, device="meta")).sum().backward()
    snapshot = recorder.snapshot()
    assert snapshot.notes == ()
    assert "ReluBackward0" in [node.name for node in snapshot.nodes]
    leaves = [tensor for tensor in snapshot.tensors if tensor.is_leaf]
    assert {tensor.device for tensor in leaves} == {"meta"}
    assert (8, 4) in [tensor.shape for tensor in leaves]
    assert not recorder.diagnose()


def test_results_that_nobody_saw_are_on_the_device_of_what_they_came_from() -> None:
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    snapshot = gradviz.capture(((x + 1) + 2).exp().sum())
    assert {tensor.device for tensor in snapshot.tensors} == {"meta"}
    assert {storage.device for storage in snapshot.storages} == {"meta"}
