"""RAdam: rectified Adam."""

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
)
from .optimizer import Group, Parameters


class RAdam(RuledOptimizer):
    """Adam that trusts the mean square only once it has seen enough gradients.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020. While
    the estimate's length is at most 5, the step is the corrected mean itself.
    ``decoupled_weight_decay`` shrinks the weights themselves. Raises ValueError for
    options out of range.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.125)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    later_options: ClassVar[dict[str, Any]] = {
        **RuledOptimizer.later_options,
        "decoupled_weight_decay": False,
    }

    means = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        check_not_negative({"weight_decay value": weight_decay})
        names = (
            "lr betas eps weight_decay maximize foreach capturable "
            "decoupled_weight_decay differentiable"
        )
        super().__init__(params, options_of(locals(), names))

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        beta1, beta2 = group["betas"]
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        count = state["step"].item()
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        if decay and decoupled:
            param *= 1 - lr * decay
        elif decay:
            grad = grad + decay * param
        move_towards(mean, grad, 1 - beta1)
        average_square(square, grad, beta2)
        rest = 1 - beta2**count
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * count * beta2**count / rest
        delta = mean / (1 - beta1**count) * lr
        if length > 5.0:
            gained = (length - 4) * (length - 2) * longest
            rectified = (gained / ((longest - 4) * (longest - 2) * length)) ** 0.5
            delta = delta * (rest**0.5 / (F.sqrt(square) + group["eps"])) * rectified
        param -= delta
        return 2 if decay and decoupled else 1
