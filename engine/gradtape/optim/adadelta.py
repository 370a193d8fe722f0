"""Adadelta."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    average_square,
    check_not_negative,
    check_rate,
    options_of,
)
from .optimizer import Group, Parameters


class Adadelta(RuledOptimizer):
    """Step by the gradient times the ratio of two running roots of mean squares.

    The upper root is that of past steps, so that a step has the parameter's unit.
    Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012. Raises ValueError for
    options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], eps=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.6877], requires_grad=True)
    """

    capturable_more = ""

    means = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative({"epsilon value": eps, "weight_decay value": weight_decay})
        names = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, options_of(locals(), names))

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        square, past, eps = state["square_avg"], state["acc_delta"], group["eps"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * param
        average_square(square, grad, group["rho"])
        delta = F.sqrt(past + eps) / F.sqrt(square + eps) * grad
        average_square(past, delta, group["rho"])
        param += -lr * delta
        return 1
