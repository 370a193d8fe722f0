"""Rprop: resilient propagation."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    check_rate,
    filled_beside,
    options_of,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters


class Rprop(RuledOptimizer):
    """Step by a length of each element's own, in the direction of the gradient's sign.

    The length grows by ``etas[1]`` while the sign stays and shrinks by ``etas[0]`` when
    it turns, within ``step_sizes``; on a turn the element does not move. Riedmiller and
    Braun, "A Direct Adaptive Method for Faster Backpropagation Learning", 1993. Raises
    ValueError for options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        names = "lr etas step_sizes foreach maximize differentiable capturable"
        super().__init__(params, options_of(locals(), names))

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        return {
            "step": scalar(0.0),
            "prev": zeros_beside(param),
            "step_size": filled_beside(param, float(group["lr"])),
        }

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        (down, up), (least, most) = group["etas"], group["step_sizes"]
        before, length = state["prev"], state["step_size"]
        # Sums are copies: what a product needs for its derivative outlives the writes.
        factor = F.sign(grad * (before + 0))
        factor[factor > 0] = up
        factor[factor < 0] = down
        factor[factor == 0] = 1
        length[...] = ((length + 0) * factor).clip(least, most)
        grad = grad + 0
        grad[factor == down] = 0
        param -= F.sign(grad) * (length + 0)
        before[...] = grad
        return 1
