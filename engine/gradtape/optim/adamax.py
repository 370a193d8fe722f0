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
    scalar,
    zeros_beside,
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
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, options)

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        return {
            "step": scalar(0.0),
            "exp_avg": zeros_beside(param),
            "exp_inf": zeros_beside(param),
        }

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
