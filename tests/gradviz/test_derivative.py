"""check_derivative(): right formulas pass, wrong ones are told by entry and ratio."""

from __future__ import annotations

from typing import Any

import pytest

import gradviz


@pytest.fixture(params=["gradtape", "torch"])
def lib(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def cube(lib: Any, factor: float) -> Any:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * factor * x**2

    return Cube.apply


def test_a_right_derivative_agrees(lib: Any):
    report = gradviz.check_derivative(cube(lib, 3.0), lib.tensor([2.0, -1.0]))
    assert report
    assert repr(report) == "The derivative agrees with finite differences."


def test_a_wrong_one_is_told_by_entry_and_ratio(lib: Any):
    x = lib.tensor([[2.0, -1.0]], requires_grad=True)
    report = gradviz.check_derivative(cube(lib, 2.0), x)
    assert not report
    assert report.ratio == pytest.approx(2 / 3, rel=1e-4)
    assert repr(report).startswith("Input 0, element [0, 0]: backward gives 8, finite")
    assert x.grad is None


def test_an_error_of_three_hundredths_is_seen(lib: Any):
    assert not gradviz.check_derivative(cube(lib, 3.09), lib.tensor([2.0]))


def test_nothing_to_differentiate_is_said(lib: Any):
    with pytest.raises(gradviz.CaptureError, match="nothing to differentiate"):
        gradviz.check_derivative(lib.exp, lib.tensor([1, 2]))
