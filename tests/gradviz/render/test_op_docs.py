"""What the view says of operations is true: formulas by number, pages by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradviz._capture.names.tensors import op_name

torch = pytest.importorskip("torch")
F = torch.nn.functional

DOCS: dict[str, Any] = json.loads(
    Path("extension/src/state/op-docs.json").read_text(encoding="utf-8")
)
FORMULAS = sorted(name for name, row in DOCS.items() if "gives" in row)


def rand(*shape: int) -> Any:
    """Numbers between 0.2 and 0.8: inside every domain, away from kinks."""
    generator = torch.Generator().manual_seed(sum(shape))
    values = torch.rand(*shape, generator=generator, dtype=torch.float64)
    return (0.2 + 0.6 * values).requires_grad_()


Case = tuple[dict[str, Any], dict[str, Any], Callable[..., Any]]


def case(inputs: dict[str, Any], call: Callable[..., Any], **numbers: Any) -> Case:
    return inputs, numbers, call


SELF = {"self": rand(3, 4)}
PAIR = {"self": rand(3, 4), "other": rand(3, 4).detach().flip(0).requires_grad_()}
TARGET = rand(3, 4).detach() + 0.3

CASES: dict[str, Case] = {
    "add": case(PAIR, lambda self, other: torch.add(self, other, alpha=2), alpha=2),
    "sub": case(PAIR, lambda self, other: torch.sub(self, other, alpha=2), alpha=2),
    "pow": case(SELF, lambda self: self**3, exponent=3),
    "lerp": case(
        {"self": rand(3, 4), "end": rand(3, 4)},
        lambda self, end: torch.lerp(self, end, 0.3),
        weight=0.3,
    ),
    "where": case(
        PAIR,
        lambda self, other: torch.where(TARGET > 0.8, self, other),
        condition=TARGET > 0.8,
    ),
    "leaky_relu": case(
        {"self": rand(3, 4).detach().sub(0.5).requires_grad_()},
        lambda self: F.leaky_relu(self, 0.1),
        negative_slope=0.1,
    ),
    "elu": case(
        {"self": rand(3, 4).detach().sub(0.5).requires_grad_()}, F.elu, alpha=1.0
    ),
    "gelu": case(SELF, F.gelu),
    "silu": case(SELF, F.silu),
    "softplus": case(SELF, F.softplus),
    "hardtanh": case(
        SELF, lambda self: F.hardtanh(self, 0.3, 0.6), min_val=0.3, max_val=0.6
    ),
    "softmax": case(SELF, lambda self: self.softmax(1), dim=1),
    "log_softmax": case(SELF, lambda self: self.log_softmax(1), dim=1),
    "logsumexp": case(SELF, lambda self: self.logsumexp(1), dim=1),
    "clamp": case(SELF, lambda self: self.clamp(0.3, 0.6), min=0.3, max=0.6),
    "masked_fill": case(
        SELF, lambda self: self.masked_fill(TARGET > 0.8, 5), mask=TARGET > 0.8
    ),
    "mm": case({"self": rand(3, 4), "mat2": rand(4, 2)}, torch.mm),
    "bmm": case({"self": rand(2, 3, 4), "mat2": rand(2, 4, 2)}, torch.bmm),
    "mv": case({"self": rand(3, 4), "vec": rand(4)}, torch.mv),
    "dot": case({"self": rand(4), "other": rand(4)}, torch.dot),
    "addmm": case(
        {"self": rand(2), "mat1": rand(3, 4), "mat2": rand(4, 2)}, torch.addmm
    ),
    "linear": case(
        {"input": rand(3, 4), "weight": rand(2, 4), "bias": rand(2)}, F.linear
    ),
    "matmul": case({"self": rand(2, 3, 4), "other": rand(2, 4, 2)}, torch.matmul),
    "cumsum": case(SELF, lambda self: self.cumsum(1), dim=1),
    "linalg_vector_norm": case(SELF, torch.linalg.vector_norm),
    "amax": case(SELF, torch.amax),
    "transpose": case(SELF, lambda self: self.transpose(0, 1), dim0=0, dim1=1),
    "view": case(SELF, lambda self: self.view(2, 6)),
    "unsafe_view": case(SELF, lambda self: torch.ops.aten._unsafe_view(self, [2, 6])),
    "reshape": case(SELF, lambda self: self.reshape(2, 6)),
    "expand": case({"self": rand(1, 4)}, lambda self: self.expand(3, 4)),
    "squeeze": case({"self": rand(3, 1)}, lambda self: self.squeeze()),
    "unsqueeze": case(SELF, lambda self: self.unsqueeze(1), dim=1),
    "tril": case(SELF, torch.tril, diagonal=0),
    "triu": case(SELF, torch.triu, diagonal=0),
    "alias": case(SELF, torch.ops.aten.alias),
    "mse_loss": case(SELF, lambda self: F.mse_loss(self, TARGET), target=TARGET),
    "l1_loss": case(SELF, lambda self: F.l1_loss(self, TARGET), target=TARGET),
    "smooth_l1_loss": case(
        SELF, lambda self: F.smooth_l1_loss(self, TARGET), target=TARGET
    ),
    "binary_cross_entropy_with_logits": case(
        SELF,
        lambda self: F.binary_cross_entropy_with_logits(self, TARGET.clamp(0, 1)),
        target=TARGET.clamp(0, 1),
    ),
    "cross_entropy": case(
        SELF,
        lambda self: F.cross_entropy(self, torch.tensor([0, 3, 1])),
        target=torch.tensor([0, 3, 1]),
    ),
}
# What is called under this name makes nodes of other names.
CALLS = {"cross_entropy", "linear", "matmul", "reshape", "square", "l1_loss"}


def case_of(name: str) -> Case:
    if name in CASES:
        return CASES[name]
    first = next(iter(DOCS[name]["gives"]))
    assert first == "self", name
    inputs = PAIR if "other" in DOCS[name]["gives"] else SELF
    return case(inputs, getattr(torch, name))


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_gives_the_gradient_that_backward_gives(name: str):
    inputs, numbers, call = case_of(name)
    result = call(*inputs.values())
    grad = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64)
    grad = grad.reshape(result.shape)
    wanted = DOCS[name]["gives"]
    got = torch.autograd.grad(result, [inputs[each] for each in wanted], grad)
    names = {"torch": torch, "math": math, "one_hot": F.one_hot, "grad": grad}
    names |= numbers | inputs | {"result": result}
    with torch.no_grad():
        for each, expected in zip(wanted, got, strict=True):
            found = eval(wanted[each], dict(names))
            torch.testing.assert_close(found.expand(expected.shape), expected)


@pytest.mark.parametrize("name", sorted(set(FORMULAS) - CALLS))
def test_the_name_is_that_of_the_node(name: str):
    inputs, _, call = case_of(name)
    made = op_name(call(*inputs.values()).grad_fn.name())
    assert made.replace("_", "") == name.replace("_", "")


@pytest.mark.parametrize("name", sorted(DOCS))
def test_the_page_is_about_something_that_exists(name: str):
    found: Any = torch
    for part in DOCS[name].get("page", f"torch.{name}").split(".")[1:]:
        found = getattr(found, part)
    assert callable(found)
    assert DOCS[name]["what"].endswith(".")
    assert ("gives" in DOCS[name]) != ("says" in DOCS[name])
