"""Optimizers that meet sparse gradients, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_same
from ._sparse_programs import settle, table

settle()

STEPS = ((1, 2, 1), (0, 1), (3,), (2, 2, 4, 0))

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD, momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD, Nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD, dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    "SGD, maximize": ("SGD", {"lr": 0.1, "maximize": True}),
    "SGD, foreach": ("SGD", {"lr": 0.1, "momentum": 0.9, "foreach": True}),
    "SGD, differentiable": ("SGD", {"lr": 0.1, "differentiable": True}),
    "SGD, weight decay": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "SGD, fused": ("SGD", {"lr": 0.1, "fused": True}),
    "Adagrad": ("Adagrad", {"lr": 0.1}),
    "Adagrad, decay": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.3},
    ),
    "Adagrad, maximize": ("Adagrad", {"lr": 0.1, "maximize": True}),
    "Adagrad, weight decay": ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}),
    "SparseAdam": ("SparseAdam", {"lr": 0.1}),
    "SparseAdam, betas": (
        "SparseAdam",
        {"lr": 0.1, "betas": (0.5, 0.6), "eps": 1e-3},
    ),
    "SparseAdam, maximize": ("SparseAdam", {"lr": 0.1, "maximize": True}),
    **{
        name: (name, {})
        for name in (
            *("Adadelta", "Adafactor", "Adam", "Adamax", "AdamW", "ASGD", "NAdam"),
            *("RAdam", "RMSprop", "Rprop"),
        )
    },
}


@pytest.mark.parametrize("name", RUNS)
def test_steps_with_sparse_gradients_follow_pytorch(name: str) -> None:
    """Or are refused: most optimizers know dense gradients only."""

    def program(torch: Any) -> Any:
        kind, options = RUNS[name]
        layer = table(torch)
        optimizer = getattr(torch.optim, kind)(layer.parameters(), **options)
        for rows in STEPS:
            optimizer.zero_grad()
            layer(torch.tensor(rows)).pow(2).sum().backward()
            optimizer.step()
        return layer.weight, layer.weight.grad, optimizer.state_dict()["state"]

    assert_same(program)


def test_accumulated_gradients_are_stepped_once() -> None:
    def program(torch: Any) -> Any:
        layer = table(torch)
        optimizer = torch.optim.SparseAdam(layer.parameters(), lr=0.1)
        for rows in STEPS:
            layer(torch.tensor(rows)).pow(2).sum().backward()
        optimizer.step()
        return layer.weight, layer.weight._version

    assert_same(program)


def test_states_can_be_saved_and_loaded() -> None:
    def program(torch: Any) -> Any:
        layer = table(torch)
        first, then = (torch.optim.SparseAdam(layer.parameters()) for _ in "ab")
        layer(torch.tensor([1, 1])).sum().backward()
        first.step()
        then.load_state_dict(first.state_dict())
        then.step()
        return layer.weight, then.state_dict()

    assert_same(program)


def leaf(torch: Any) -> Any:
    return torch.ones(2, requires_grad=True)


def sparse_leaf(torch: Any) -> Any:
    return torch.sparse_coo_tensor([[0]], [1.0], (2,), requires_grad=True)


MADE: dict[str, Callable[[Any], Any]] = {
    "negative rate": lambda torch: torch.optim.SparseAdam([leaf(torch)], lr=-1.0),
    "no rate": lambda torch: torch.optim.SparseAdam([leaf(torch)], lr=0.0),
    "rates": lambda torch: torch.optim.SparseAdam(
        [leaf(torch)], lr=torch.tensor([1.0, 2.0])
    ),
    "negative eps": lambda torch: torch.optim.SparseAdam([leaf(torch)], eps=-1.0),
    "first beta": lambda torch: torch.optim.SparseAdam([leaf(torch)], betas=(1.0, 0.9)),
    "other beta": lambda torch: torch.optim.SparseAdam([leaf(torch)], betas=(0.1, 1.9)),
    "sparse parameter": lambda torch: torch.optim.SparseAdam([sparse_leaf(torch)]),
    "sparse parameter of a group": lambda torch: torch.optim.SparseAdam(
        [{"params": [leaf(torch), sparse_leaf(torch)]}]
    ),
    "complex parameter": lambda torch: torch.optim.SparseAdam(
        [leaf(torch).detach().to(torch.complex64).requires_grad_()]
    ),
    "no parameter": lambda torch: torch.optim.SparseAdam([]),
    "shown": lambda torch: repr(torch.optim.SparseAdam([leaf(torch)])),
    "dense gradient": lambda torch: dense_step(torch),
    "closure": lambda torch: closure_step(torch),
}


def dense_step(torch: Any) -> None:
    weight = leaf(torch)
    weight.sum().backward()
    torch.optim.SparseAdam([weight]).step()


def closure_step(torch: Any) -> Any:
    layer = table(torch)
    optimizer = torch.optim.SparseAdam(layer.parameters())

    def closure() -> Any:
        optimizer.zero_grad()
        loss = layer(torch.tensor([1])).sum()
        loss.backward()
        return loss

    return optimizer.step(closure).detach(), layer.weight


@pytest.mark.parametrize("name", MADE)
def test_sparse_adam_takes_and_refuses_what_pytorch_does(name: str) -> None:
    assert_same(MADE[name])
