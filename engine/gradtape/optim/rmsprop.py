"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    average_square,
    check_not_negative,
    check_rate,
    move_towards,
    options_of,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters


class RMSprop(RuledOptimizer):
    """Step by the gradient over the root of the mean of its square.

    Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012. ``centered`` takes
    the mean gradient's square off the mean square (Graves, 2013). Raises ValueError for
    options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.1, alpha=0.75)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0,
        "centered": False,
        **RuledOptimizer.later_options,
    }

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(
            {
                "epsilon value": eps,
                "momentum value": momentum,
                "weight_decay value": weight_decay,
                "alpha value": alpha,
            }
        )
        names = (
            "lr momentum alpha eps centered weight_decay capturable foreach "
            "maximize differentiable"
        )
        super().__init__(params, options_of(locals(), names))

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        state = {"step": scalar(0.0), "square_avg": zeros_beside(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_beside(param)
        if group["centered"]:
            state["grad_avg"] = zeros_beside(param)
        return state

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        alpha, momentum = group["alpha"], group["momentum"]
        square = state["square_avg"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * param
        average_square(square, grad, alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            move_towards(mean, grad, 1 - alpha)
            square = square - mean * mean
        root = F.sqrt(square) + group["eps"]
        if momentum > 0:
            velocity = state["momentum_buffer"]
            velocity *= momentum
            velocity += grad / root
            param += -lr * velocity
        else:
            param += (-lr * grad) / root
        return 1
