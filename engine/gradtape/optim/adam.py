"""Adam."""

from __future__ import annotations

from typing import Any, ClassVar

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ._helpers import check_fused, check_fused_member, number_of, scalar_of
from ._rules import (
    RuledOptimizer,
    average_square,
    check_betas,
    check_not_negative,
    move_towards,
    scalar,
    zeros_beside,
)
from .optimizer import Group, Parameters

_AS_TENSOR = "{} as a Tensor is not supported for capturable=False and foreach=True"


class Adam(RuledOptimizer):
    """Step by the mean of the gradient over the root of the mean of its square.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015. ``amsgrad`` keeps
    the largest second moment (Reddi et al., 2018); ``decoupled_weight_decay`` shrinks
    the weights themselves (Loshchilov and Hutter, 2019), as AdamW does.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        **RuledOptimizer.later_options,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        unsupported = bool(foreach) and not capturable
        if isinstance(lr, Tensor):
            if unsupported:
                raise ValueError(_AS_TENSOR.format("lr"))
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay})
        _check_kinds(betas, unsupported)
        options = {
            "lr": lr,
            "betas": tuple(scalar_of(beta) for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, options)
        if fused:
            check_fused(foreach, differentiable)

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        if group["fused"]:
            check_fused_member(param)
        state = {
            "step": scalar(0.0, group["fused"]),
            "exp_avg": zeros_beside(param),
            "exp_avg_sq": zeros_beside(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_beside(param)
        return state

    def step_group(self, group: Group) -> None:
        """Step the parameters of one group."""
        unsupported = group["foreach"] and not group["capturable"]
        if unsupported and isinstance(group["lr"], Tensor):
            raise RuntimeError(_AS_TENSOR.format("lr"))
        super().step_group(group)

    def _step_tensors(self, group: Group, param: Tensor) -> None:
        if group["differentiable"]:
            step_recorded(group, param, self.state[param])
        else:
            super()._step_tensors(group, param)

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        beta1, beta2 = (number_of(beta) for beta in group["betas"])
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        count = state["step"].item()
        if decay and decoupled:
            param *= 1 - lr * decay
        elif decay:
            grad = grad + decay * param
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        move_towards(mean, grad, 1 - beta1)
        average_square(square, grad, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest[...] = F.maximum(largest, square)
            square = largest
        root = F.sqrt(square)
        root /= (1 - beta2**count) ** 0.5
        root += group["eps"]
        delta = (-lr / (1 - beta1**count)) * mean
        delta /= root
        param += delta
        return 2 if decay and decoupled else 1


def _check_kinds(betas: Any, unsupported: bool) -> None:
    kinds = [isinstance(beta, Tensor) for beta in betas[:2]]
    if not all(kinds) and not all(isinstance(beta, float) for beta in betas[:2]):
        raise ValueError("betas must be either both floats or both Tensors")
    for index in (0, 1):
        if kinds[index]:
            if unsupported:
                raise ValueError(_AS_TENSOR.format(f"betas[{index}]"))
            if betas[index].numel() != 1:
                raise ValueError(f"Tensor betas[{index}] must be 1-element")


# ---- adam's step on tensors, in the form that can be differentiated ----------


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
