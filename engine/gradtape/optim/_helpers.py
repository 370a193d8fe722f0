"""Small things that optimizers written elsewhere import from PyTorch's base module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _dtypes
from .._dispatch.declare import FUNCTIONS
from .._dtypes.arithmetic import get_default_dtype
from .._modes.grad_mode import enable_grad, no_grad
from .._tensor.tensor import Tensor
from ..nn.parameter import Parameter
from ..utils import _foreach_utils
from ..utils._foreach_utils import fused_devices


def use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a step so that it is recorded only where ``differentiable`` is set."""

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with enable_grad() if self.defaults["differentiable"] else no_grad():
            return step(self, *args, **kwargs)

    return wrapper


def number_of(value: Any) -> Any:
    """Return the number in a tensor of one element; other values as they are."""
    return value.item() if isinstance(value, Tensor) else value


def scalar_of(value: Any) -> Any:
    """Return a tensor of one element without its dimensions; others as they are."""
    if isinstance(value, Tensor) and value.dim():
        return FUNCTIONS["squeeze"](value)
    return value


def scalar_dtype(is_fused: bool | None = None) -> _dtypes.dtype:
    """Return the dtype of counters: float32, or float64 where that is the default."""
    if not is_fused and get_default_dtype() is _dtypes.float64:
        return _dtypes.float64
    return _dtypes.float32


def view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex parameters, and what is listed beside them, by real views."""
    real = FUNCTIONS["view_as_real"]
    for index, param in enumerate(params):
        if param.dtype.is_complex:
            params[index] = real(param)
            for each in state_and_grads:
                each[index] = real(each[index])


def fused_or_foreach(
    params: Sequence[Tensor | None], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Tell whether PyTorch would step by a fused kernel, and whether by lists."""

    def served(devices: Sequence[str], floating: bool) -> bool:
        return all(
            type(p) in (Tensor, Parameter)
            and p.device.type in devices
            and (not floating or p.dtype.is_floating_point)
            for p in params
            if p is not None
        )

    if differentiable:
        return False, False
    fused = use_fused and served(
        _foreach_utils._get_fused_kernels_supported_devices(), True
    )
    lists = _foreach_utils._get_foreach_kernels_supported_devices()
    return fused, not fused and served(lists, False)


def capturable_devices(supports_xla: bool = True) -> list[str]:
    """Return the kinds of devices whose graphs can hold an optimizer's step."""
    return [
        "cuda",
        "xpu",
        "hpu",
        _foreach_utils.other_backend(),
        *["xla"] * supports_xla,
    ]


# ---- what optimizers that offer ``fused=True`` check. The step itself is the same ----


def check_fused(foreach: bool | None, differentiable: bool) -> None:
    """Refuse options that exclude each other."""
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused_member(param: Tensor) -> None:
    """Refuse a parameter that no fused kernel of PyTorch takes."""
    supported = fused_devices()
    if not (param.dtype.is_floating_point and param.device.type in supported):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {supported} but {param.dtype} and {param.device.type}"
        )
