"""Stochastic gradient descent, with momentum and Nesterov's variant."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np

from .._backend.compiled import kernel_for
from .._dispatch.operands import as_array
from .._modes.grad_mode import mode
from .._sparse.array import SPARSE_PLUS_DENSE
from .._tensor.tensor import Tensor, wrap
from .._tensor.write_observers import before_write
from ._helpers import check_fused, check_fused_member, number_of, scalar_of
from ._rules import RuledOptimizer, is_plain, options_of
from .optimizer import Group, Parameters


def _check_sparse(group: Group) -> None:
    """Refuse what PyTorch does not do with a sparse gradient."""
    if group["fused"]:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    if group["weight_decay"]:
        raise RuntimeError(SPARSE_PLUS_DENSE)


class SGD(RuledOptimizer):
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

    later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        names = (
            "lr momentum dampening weight_decay nesterov maximize foreach "
            "differentiable fused"
        )
        super().__init__(params, options_of(locals(), names))
        if fused:
            check_fused(foreach, differentiable)

    def step_group(self, group: Group) -> None:
        """Step the parameters of one group."""
        recorded = group["differentiable"] or isinstance(group["weight_decay"], Tensor)
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            if group["fused"]:
                check_fused_member(param)
            if grad.is_sparse:
                _check_sparse(group)
            if recorded or not is_plain(param):
                self._step_recorded(group, param, -grad if group["maximize"] else grad)
                continue
            for look in before_write:
                look(param)
            towards = -grad._data if group["maximize"] else grad._data
            mode.run(self._step_raw, group, param, towards)
            self.wrote(param)

    # ---- on raw memory ------------------------------------------------------------

    def _step_raw(self, group: Group, param: Tensor, grad: Any) -> None:
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
            # 0-d arithmetic gives NumPy's scalars, whose copies cannot be written to
            buffer = state["momentum_buffer"] = wrap(as_array(grad).copy(order="K"))
        else:
            buffer._data *= momentum
            add_scaled(buffer._data, grad, 1 - group["dampening"])
        if group["nesterov"]:
            return grad + momentum * buffer._data
        return buffer._data

    # ---- on tensors, so that the step can be differentiated -----------------------

    def _step_recorded(self, group: Group, param: Tensor, grad: Tensor) -> None:
        momentum, rate = group["momentum"], scalar_of(group["lr"])
        decay = group["weight_decay"]
        if isinstance(decay, Tensor) and decay.requires_grad:
            grad.addcmul_(param.clone(), decay)
        elif decay != 0:
            grad = grad.add(param, alpha=number_of(decay))
        if momentum != 0:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(rate, Tensor) and rate.requires_grad:
            param.addcmul_(grad, rate, value=-1)
        else:
            param.add_(grad, alpha=-number_of(rate))


# ---- adding a multiple of an array in one pass ----

# SciPy brings an OpenBLAS of its own beside NumPy's. For longer arrays it takes
# threads, which wait busily and take the cores from NumPy's: a step of LeNet took four
# times as long on two cores.
_PIECE = 10_000


def add_scaled(target: Any, array: Any, factor: float) -> None:
    """Compute ``target += factor * array`` for raw arrays of one shape.

    NumPy needs a temporary and two passes; BLAS has ``axpy``, which takes half the time
    on large arrays and a quarter on small ones, and numba, where it is installed, does
    the large ones at once. Other layouts and dtypes go to NumPy.
    """
    axpy = _axpy().get(target.dtype.char)
    if (
        axpy is not None
        and type(target) is type(array) is np.ndarray
        and target.dtype is array.dtype
        and target.flags.c_contiguous
        and array.flags.c_contiguous
        and target.size
    ):
        source, sums = array.reshape(-1), target.reshape(-1)
        run = kernel_for("pointwise.add_scaled", sums, source)
        if run is not None:
            run(sums, source, factor)
            return
        for start in range(0, sums.size, _PIECE):
            stop = start + _PIECE
            axpy(source[start:stop], sums[start:stop], a=factor)
    else:
        target += factor * array


@cache
def _axpy() -> dict[str, Any]:
    from scipy.linalg import blas  # 0.1 s, so not before the first step

    return {name: getattr(blas, f"{prefix}axpy") for name, prefix in ("fs", "dd")}
