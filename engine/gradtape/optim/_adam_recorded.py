"""Adam's step on tensors, in the form that can be differentiated."""

from __future__ import annotations

from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ._helpers import scalar_of
from .optimizer import Group


def step_recorded(group: Group, param: Tensor, state: dict[str, Tensor]) -> None:
    """Step one parameter; options that are tensors may need gradients themselves.

    What later writes would spoil is kept as a copy: means, counters, parameters.
    """
    count = state["step"]
    if count.requires_grad:
        raise RuntimeError(
            "`requires_grad` is not supported for `step` in differentiable mode"
        )
    count += 1
    beta1, beta2 = (scalar_of(beta) for beta in group["betas"])
    rate = scalar_of(group["lr"])
    target, grad = param, param._grad
    assert grad is not None
    if group["maximize"]:
        grad = -grad
    grad = _decayed(group, param, grad, rate)
    moments = [state["exp_avg"], state["exp_avg_sq"]]
    if group["amsgrad"]:
        moments.append(state["max_exp_avg_sq"])
    if param.dtype.is_complex:
        real = FUNCTIONS["view_as_real"]
        target, grad, moments = real(param), real(grad), [real(m) for m in moments]
    mean, square = moments[:2]
    mean.lerp_(grad, 1 - beta1)
    if isinstance(beta2, Tensor) and beta2.requires_grad:
        square.lerp_(grad * grad, 1 - beta2)
    else:
        share = (1 - beta2).item() if isinstance(beta2, Tensor) else 1 - beta2
        square.mul_(beta2).addcmul_(grad, grad, value=share)
    if group["amsgrad"]:
        largest = moments[2]
        largest.copy_(FUNCTIONS["maximum"](largest.clone(), square))
        square = largest
    turn = (rate / (1 - beta1 ** count.clone())).neg()
    spread = (1 - beta2 ** count.clone()).sqrt()
    root = (square.sqrt() / (spread * turn)) + group["eps"] / turn
    target.addcdiv_(mean.clone(), root)


def _decayed(group: Group, param: Tensor, grad: Tensor, rate: Any) -> Tensor:
    decay = group["weight_decay"]
    if not isinstance(decay, Tensor) and decay == 0:
        return grad
    if group["decoupled_weight_decay"]:
        param.mul_(1 - rate * decay)
        return grad
    if isinstance(decay, Tensor):
        if decay.requires_grad:
            return grad.addcmul_(param.clone(), decay)
        decay = decay.item()
    return grad.add(param, alpha=decay)
