"""Adamax."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    check_betas,
    check_not_negative,
    check_rate,
    move_towards,
    options_of,
)
from .optimizer import Group, Parameters


class Adamax(RuledOptimizer):
    """Adam with the largest recent gradient in place of the root of the mean square.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, section 7.1.
    Raises ValueError for options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    means = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative({"epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay})
        names = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options_of(locals(), names))

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * param
        move_towards(mean, grad, 1 - beta1)
        largest[...] = F.maximum(largest * beta2, abs(grad) + group["eps"])
        rate = lr / (1 - beta1 ** state["step"].item())
        param += (-rate * mean) / largest
        return 1
