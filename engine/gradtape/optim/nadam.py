"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any, ClassVar

from .._tensor.tensor import Tensor
from ._rules import (
    RuledOptimizer,
    average_square,
    check_betas,
    check_not_negative,
    check_rate,
    move_towards,
    options_of,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters


class NAdam(RuledOptimizer):
    """Adam that looks one step of its momentum ahead.

    Dozat, "Incorporating Nesterov Momentum into Adam", 2016. The momentum of step t is
    ``beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)``. ``decoupled_weight_decay``
    shrinks the weights themselves. Raises ValueError for options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8944], requires_grad=True)
    """

    capturable_what = "params, mu_products and state_steps"
    later_options: ClassVar[dict[str, Any]] = {
        **RuledOptimizer.later_options,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative({"epsilon value": eps})
        check_betas(betas)
        check_not_negative(
            {
                "weight_decay value": weight_decay,
                "momentum_decay value": momentum_decay,
            }
        )
        names = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay "
            "maximize foreach capturable differentiable"
        )
        super().__init__(params, options_of(locals(), names))

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        return {
            "step": scalar(0.0),
            "mu_product": scalar(1.0),
            "exp_avg": zeros_beside(param),
            "exp_avg_sq": zeros_beside(param),
        }

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        beta1, beta2 = group["betas"]
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        count = state["step"].item()
        if decay and decoupled:
            param *= 1 - lr * decay
        elif decay:
            grad = grad + decay * param
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (count * group["momentum_decay"]))
        ahead = beta1 * (1.0 - 0.5 * 0.96 ** ((count + 1) * group["momentum_decay"]))
        product = state["mu_product"]
        product *= mu
        past = product if group["differentiable"] else product.item()
        move_towards(state["exp_avg"], grad, 1 - beta1)
        average_square(state["exp_avg_sq"], grad, beta2)
        root = F.sqrt(state["exp_avg_sq"] / (1 - beta2**count)) + group["eps"]
        param += (-lr * (1.0 - mu) / (1.0 - past) * grad) / root
        param += (-lr * ahead / (1.0 - past * ahead) * state["exp_avg"]) / root
        return 3 if decay and decoupled else 2
