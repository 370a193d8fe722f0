"""Whole models give the same graph on PyTorch and gradtape, with all that is saved."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import pytest
import torch

import gradtape
import gradviz
from gradviz import ir
from gradviz.ir.validate import validate
from tests.gradviz.capture.pytorch.whole_models import MODELS

# Slots that one engine has and the other has not, with the reason.
ONLY_TORCH = {
    ("NativeBatchNormBackward0", "_saved_running_mean"): "gradtape updates it apart",
    ("NativeBatchNormBackward0", "_saved_running_var"): "gradtape updates it apart",
    ("NllLossBackward0", "_saved_total_weight"): "gradtape keeps it as a result",
    ("MulBackward0", "_saved_other", ()): "PyTorch wraps a Python number as a tensor",
}
ONLY_GRADTAPE = {
    ("NllLossBackward0", "_saved_result1"): "PyTorch calls it total_weight",
}

# Results that have a gradient, where gradtape's node counts also those that have none:
# indices, the mean and spread that a norm computes, the sum of a loss's weights.
WITH_GRADIENT = {
    "MaxPool2DWithIndicesBackward0": 1,
    "NativeBatchNormBackward0": 1,
    "NativeLayerNormBackward0": 1,
    "NllLossBackward0": 1,
}


def captured(t: Any, build: Any) -> ir.Snapshot:
    t.manual_seed(0)
    return gradviz.capture(build(t))


def recorded(t: Any, build: Any) -> ir.Snapshot:
    engine: Any = t.__name__
    t.manual_seed(0)
    with gradviz.record(engine=engine, findings=False, values=False) as rec:
        build(t).backward()
    return rec.snapshot()


def _outputs(node: ir.OpNode) -> tuple[int, ...]:
    return node.outputs[: WITH_GRADIENT.get(node.name)]


def nodes_of(s: ir.Snapshot) -> Counter[Any]:
    """Count nodes by name, kind, and the layout of every result."""
    return Counter(
        (
            node.name,
            node.kind == "accumulate",
            *(
                (out.shape, out.strides, out.dtype)
                for out in (s.tensors[row] for row in _outputs(node))
            ),
        )
        for node in s.nodes
    )


def edges_of(s: ir.Snapshot) -> Counter[Any]:
    """Count edges by both ends: name, place, and shape of the first result."""

    def end(row: int) -> Any:
        node = s.nodes[row]
        return node.name, s.tensors[node.outputs[0]].shape

    return Counter((end(e.source), e.output, end(e.target), e.input) for e in s.edges)


def saved_of(s: ir.Snapshot) -> Counter[Any]:
    """Count what is saved by node, slot and layout; known differences left out."""
    found: Counter[Any] = Counter()
    known = {*ONLY_TORCH, *ONLY_GRADTAPE}
    for row in s.saved:
        name, tensor = s.nodes[row.node].name, s.tensors[row.tensor]
        slot = name, row.slot
        if slot not in known and (*slot, tensor.shape) not in known:
            found[*slot, tensor.shape, tensor.strides] += 1
    return found


@pytest.mark.parametrize("way", [captured, recorded])
@pytest.mark.parametrize("name", MODELS)
def test_both_engines_draw_the_same_model(way: Any, name: str):
    theirs, ours = way(torch, MODELS[name]), way(gradtape, MODELS[name])
    validate(theirs)
    assert len(theirs.nodes) > 300
    assert nodes_of(theirs) == nodes_of(ours)
    assert edges_of(theirs) == edges_of(ours)
    assert saved_of(theirs) == saved_of(ours)


def gradients_of(loss: torch.Tensor) -> list[Any]:
    """Differentiate; return the gradients of the leaves in the order of a walk."""
    waiting: list[Any] = [loss.grad_fn]
    leaves: dict[int, Any] = {}
    seen: set[Any] = set()
    for node in waiting:
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [behind for behind, _ in node.next_functions]
        if hasattr(node, "variable"):
            leaves.setdefault(id(node.variable), node.variable)
    loss.backward()
    return [leaf.grad for leaf in leaves.values()]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_the_same_and_is_let_go(name: str):
    def train() -> tuple[float, list[Any], list[Any]]:
        torch.manual_seed(0)
        loss = MODELS[name](torch)
        gradviz.capture(loss)
        gradients = gradients_of(loss)
        kept = [weakref.ref(loss), *map(weakref.ref, gradients)]
        return loss.item(), [each.clone() for each in gradients], kept

    torch.manual_seed(0)
    plain = MODELS[name](torch)
    bits = gradients_of(plain)
    session = gradviz.record(engine="torch", findings=False)
    with session:
        value, gradients, kept = train()
    gc.collect()
    assert value == plain.item()
    assert all(map(torch.equal, gradients, bits))
    assert len(gradients) == len(bits) > 3
    assert [each() for each in kept if each() is not None] == []
    assert session.snapshot().nodes
