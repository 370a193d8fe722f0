"""Stochastic gradient descent, with momentum and Nesterov's variant."""

from __future__ import annotations

from typing import Any

from .._mode import mode
from .._tensor import Tensor, wrap
from ._optimizer import Group, Optimizer, Parameters, gradient_of
from ._scaled import add_scaled


class SGD(Optimizer):
    """Step down the gradient: ``p -= lr * v``, ``v = momentum * v + g``.

    Sutskever et al., "On the importance of initialization and momentum in deep
    learning", 2013, with PyTorch's placing of the learning rate.

    >>> import gradtape as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, options)

    def update(self, group: Group) -> None:
        """Step the parameters of one group."""
        for param in group["params"]:
            if param._grad is not None:
                grad = gradient_of(param, group["maximize"])
                mode.run(self._step, group, param, grad)
                self.wrote(param)

    def _step(self, group: Group, param: Tensor, grad: Any) -> None:
        data = param._data
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * data
        if group["momentum"]:
            grad = self._velocity(group, param, grad)
        add_scaled(data, grad, -float(group["lr"]))

    def _velocity(self, group: Group, param: Tensor, grad: Any) -> Any:
        state, momentum = self.state[param], group["momentum"]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = wrap(grad.copy())
        else:
            buffer._data *= momentum
            add_scaled(buffer._data, grad, 1 - group["dampening"])
        if group["nesterov"]:
            return grad + momentum * buffer._data
        return buffer._data
