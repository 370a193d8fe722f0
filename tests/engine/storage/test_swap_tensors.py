"""Tensors that change places, and modules whose parameters are replaced or swapped."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gradtape

from .._engines import OURS, Engine, needs_torch, theirs


@pytest.fixture(params=["ours", pytest.param("theirs", marks=needs_torch)])
def torch(request: pytest.FixtureRequest) -> Iterator[Any]:
    engine: Engine = OURS if request.param == "ours" else theirs()
    yield engine.module
    engine.module.__future__.set_overwrite_module_params_on_conversion(False)
    engine.module.__future__.set_swap_module_params_on_conversion(False)


def test_everything_changes_places(torch: Any) -> None:
    a, b = torch.zeros(2), torch.ones(3, requires_grad=True)
    b.grad, b.mark = torch.full((3,), 2.0), "b"
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [1.0, 1.0, 1.0]
    assert a.requires_grad
    assert a.mark == "b"
    assert a.grad.tolist() == [2.0, 2.0, 2.0]
    assert b.tolist() == [0.0, 0.0]
    assert not b.requires_grad
    assert not hasattr(b, "mark")


def test_graphs_of_a_swapped_leaf_refuse_to_run(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    loss = (leaf * 2).sum()
    torch.utils.swap_tensors(leaf, torch.zeros(2))
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        loss.backward()


def test_weak_references_forbid_a_swap(torch: Any) -> None:
    a = torch.ones(2)
    reference = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        torch.utils.swap_tensors(a, torch.zeros(2))
    assert reference() is a


def test_a_converted_parameter_stays_the_same_object(torch: Any) -> None:
    module = torch.nn.Linear(2, 2)
    before = module.weight
    module.double()
    assert module.weight is before
    assert before.dtype == torch.float64


def test_overwriting_leaves_old_parameters_alone(torch: Any) -> None:
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    module = torch.nn.Linear(2, 2)
    before = module.weight
    before.grad = torch.ones(2, 2)
    module.double()
    assert before.dtype == torch.float32
    assert before.grad.dtype == torch.float32
    assert module.weight.dtype == torch.float64
    assert module.weight.grad.dtype == torch.float64
    assert isinstance(module.weight, torch.nn.Parameter)


def test_swapping_keeps_the_object_and_its_gradient(torch: Any) -> None:
    torch.__future__.set_swap_module_params_on_conversion(True)
    module = torch.nn.Linear(2, 2)
    before = module.weight
    before.grad = torch.ones(2, 2)
    module.double()
    assert module.weight is before
    assert before.dtype == torch.float64
    assert before.grad.dtype == torch.float64


def test_sparse_parameters_replace_dense_ones(torch: Any) -> None:
    module = torch.nn.Linear(2, 2, bias=False)
    before = module.weight
    module._apply(lambda tensor: tensor.to_sparse())
    assert not before.is_sparse
    assert module.weight.is_sparse


def test_slots_must_agree() -> None:
    class Slotted(gradtape.Tensor):
        __slots__ = ("mine",)

    with pytest.raises(RuntimeError, match="different slots"):
        gradtape.utils.swap_tensors(gradtape.zeros(2), Slotted(2))
