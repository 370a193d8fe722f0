"""What optimizers that offer ``fused=True`` check. The step itself is the same."""

from __future__ import annotations

from .._tensor.tensor import Tensor
from ..utils._foreach_utils import fused_devices


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
