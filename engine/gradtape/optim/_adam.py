"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

from .._backend import backend_of
from .._mode import mode
from .._tensor import Tensor, wrap
from ._optimizer import Group, Optimizer, Parameters, gradient_of


class Adam(Optimizer):
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

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
        _check_options(lr, betas, eps, weight_decay)
        options = {
            "lr": lr,
            "betas": betas,
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

    def update(self, group: Group) -> None:
        """Step the parameters of one group."""
        shrinks = group["weight_decay"] and group["decoupled_weight_decay"]
        for param in group["params"]:
            if param._grad is not None:
                state = self._state_of(param, group)
                grad = gradient_of(param, group["maximize"])
                mode.run(_step, group, param._data, grad, state)
                self.wrote(param, 2 if shrinks else 1)

    def _state_of(self, param: Tensor, group: Group) -> dict[str, Any]:
        state = self.state[param]
        if not state:
            xp = backend_of(param._data).xp
            state["step"] = wrap(xp.zeros((), "float32"))
            state["exp_avg"] = wrap(xp.zeros_like(param._data))
            state["exp_avg_sq"] = wrap(xp.zeros_like(param._data))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = wrap(xp.zeros_like(param._data))
        return state


class AdamW(Adam):
    """Adam with weight decay applied to the weights, not to the gradient.

    Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def _check_options(
    lr: float, betas: tuple[float, float], eps: float, weight_decay: float
) -> None:
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")


def _step(group: Group, data: Any, grad: Any, state: dict[str, Any]) -> None:
    """Update one parameter's raw memory and its moments, in PyTorch's order."""
    beta1, beta2 = group["betas"]
    rate, decay = float(group["lr"]), group["weight_decay"]
    state["step"]._data += 1
    count = int(state["step"]._data)
    if decay and group["decoupled_weight_decay"]:
        data *= 1 - rate * decay
    elif decay:
        grad = grad + decay * data
    mean, square = state["exp_avg"]._data, state["exp_avg_sq"]._data
    mean += (1 - beta1) * (grad - mean)
    square *= beta2
    square += (1 - beta2) * (grad * grad.conj())
    if group["amsgrad"]:
        largest = state["max_exp_avg_sq"]._data
        largest[...] = backend_of(data).xp.maximum(largest, square)
        square = largest
    root = square**0.5
    root /= math.sqrt(1 - beta2**count)
    root += group["eps"]
    root = mean / root
    root *= rate / (1 - beta1**count)
    data -= root
