"""Converting a parameter and its gradient: in place, by a new one, or by a swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import __future__ as switches
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops.memory.swap import swap_tensors
from ..parameter import Parameter, UninitializedBuffer


def converted(where: str, parameter: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return what takes a parameter's place after ``fn``; most times it is itself.

    :mod:`gradtape.__future__` says whether the parameter keeps being the object that
    it was. ``where`` names it in the RuntimeError for one that cannot be swapped.
    """
    gradient = parameter.grad
    with no_grad():
        found = fn(parameter)
        if switches.get_swap_module_params_on_conversion():
            return _swapped(where, parameter, found, fn)
        if _kept(parameter, found):
            parameter.data = found
            target = parameter
        else:
            target = Parameter(found, parameter.requires_grad)
        if gradient is not None:
            made = fn(gradient)
            if _kept(gradient, made):
                gradient.data = made
                target.grad = gradient
            else:
                target.grad = made.requires_grad_(gradient.requires_grad)
    return target


def converted_buffer(buffer: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return what takes a buffer's place; one without a shape goes on waiting."""
    found = fn(buffer)
    if isinstance(buffer, UninitializedBuffer):
        found.__class__ = type(buffer)
    return found


def _kept(old: Tensor, new: Tensor) -> bool:
    """Tell whether a tensor takes over what it was converted to."""
    overwrites = switches.get_overwrite_module_params_on_conversion()
    alike = (old.is_sparse, old.is_meta) == (new.is_sparse, new.is_meta)
    return not overwrites and alike


def _swapped(where: str, parameter: Tensor, found: Any, fn: Any) -> Tensor:
    gradient = parameter.grad
    try:
        parameter.grad = None
        swap_tensors(parameter, Parameter(found, parameter.requires_grad))
        if gradient is not None:
            made = fn(gradient)
            if made is not gradient:
                swap_tensors(gradient, made.requires_grad_(gradient.requires_grad))
            parameter.grad = gradient
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {where}") from error
    return parameter
