"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    check_not_negative,
    check_rate,
    options_of,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters


class ASGD(RuledOptimizer):
    """Step down the gradient at a falling rate and keep the parameters' average.

    The average, ``state[p]["ax"]``, begins after ``t0`` steps. Polyak and Juditsky,
    "Acceleration of Stochastic Approximation by Averaging", 1992. Raises ValueError for
    options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.25, lambd=0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    capturable_what = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative({"weight_decay value": weight_decay})
        names = (
            "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        )
        super().__init__(params, options_of(locals(), names))

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        return {
            "step": scalar(0.0),
            "eta": scalar(float(group["lr"])),
            "mu": scalar(1.0),
            "ax": zeros_beside(param),
        }

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        count, rate = state["step"].item(), state["eta"].item()
        mu, average = state["mu"].item(), state["ax"]
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * param
        param *= 1 - group["lambd"] * rate
        param += -rate * grad
        if mu != 1:
            average += (param - average) * mu
        else:
            average[...] = param
        state["eta"][...] = lr / (1 + group["lambd"] * lr * count) ** group["alpha"]
        state["mu"][...] = 1 / max(1, count - group["t0"])
        return 2
