"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

from .._sparse.array import SparseArray
from .._tensor.tensor import Tensor
from ._helpers import check_fused, check_fused_member
from ._rules import (
    RuledOptimizer,
    check_not_negative,
    check_rate,
    filled_beside,
    options_of,
    scalar,
)
from .optimizer import Group, Parameters


class Adagrad(RuledOptimizer):
    """Step by the gradient over the root of the sum of all its squares.

    Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization", 2011. Raises ValueError for options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(
            {
                "lr_decay value": lr_decay,
                "weight_decay value": weight_decay,
                "initial_accumulator_value value": initial_accumulator_value,
                "epsilon value": eps,
            }
        )
        names = (
            "lr lr_decay eps weight_decay initial_accumulator_value foreach "
            "maximize differentiable fused"
        )
        super().__init__(params, options_of(locals(), names))
        if fused:
            check_fused(foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self.fresh_state(param, group))

    def share_memory(self) -> None:
        """Move the sums to memory that processes share."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        start = self.defaults["initial_accumulator_value"]
        if hasattr(param, "refuse"):
            param.refuse("full_like")  # pyright: ignore[reportAttributeAccessIssue]
        return {
            "step": scalar(0.0, group["fused"]),
            "sum": filled_beside(param, start),
        }

    def step_group(self, group: Group) -> None:
        """Step the parameters of one group."""
        if group["fused"]:
            for param in group["params"]:
                check_fused_member(param)
        super().step_group(group)

    def check_grad(self, param: Tensor, group: Group) -> None:
        """Refuse a sparse gradient where weights decay too."""
        grad = param._grad
        sparse = grad is not None and type(grad._data) is SparseArray
        if sparse and group["weight_decay"]:
            raise RuntimeError(
                "weight_decay option is not compatible with sparse gradients"
            )

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        total = state["sum"]
        rate = lr / (1 + (state["step"].item() - 1) * group["lr_decay"])
        if type(grad) is SparseArray:
            kept = grad.coalesce()
            at = kept.places
            total[at] += kept.values * kept.values
            param[at] += -rate * kept.values / (F.sqrt(total[at]) + group["eps"])
            return 1
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * param
        total += grad * grad
        param += (-rate * grad) / (F.sqrt(total) + group["eps"])
        return 1
