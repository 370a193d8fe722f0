"""Putting a tensor of a checkpoint in the place of a parameter or buffer."""

from __future__ import annotations

import warnings
from typing import Any

from ... import __future__ as switches
from ..._common.site import user_stacklevel
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops.memory.swap import swap_tensors
from ..parameter import Parameter, is_lazy

_FAILED = (
    'While {action} the parameter named "{key}", whose dimensions in the model are '
    "{own} and whose dimensions in the checkpoint are {given}, an exception occurred "
    ": {args}."
)
_NOT_COPIED = (
    "for {key}: copying from a non-meta parameter in the checkpoint to a meta "
    "parameter in the current model, which is a no-op. (Did you mean to pass "
    "`assign=True` to assign items in the state dictionary to their corresponding key "
    "in the module instead of copying them in place?)"
)
_OWN_RETURNED = (
    "module_load returned one of self or other, please .detach() the result if "
    "returning one of the inputs in module_load"
)


def load_one(
    module: Any, name: str, own: Tensor, key: str, given: Any, assign: bool
) -> str:
    """Load one tensor; return what was wrong, or ""."""
    if not isinstance(given, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or '
            f"Tensor-like object from checkpoint but received {type(given)}"
        )
    lazy = is_lazy(own)  # then both wait for a shape
    if not lazy and own.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]  # files from before 0-d tensors
    if not lazy and given.shape != own.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} "
            f"from checkpoint, the shape in current model is {own.shape}."
        )
    if own.is_meta and not given.is_meta and not assign:
        warnings.warn(_NOT_COPIED.format(key=key), stacklevel=user_stacklevel())
    swaps = switches.get_swap_module_params_on_conversion()
    try:
        with no_grad():
            if swaps:
                _swap(own, given, assign)
            elif assign:
                setattr(module, name, _as_kept(own, given))
            else:
                own.copy_(given)
    except Exception as error:
        return _FAILED.format(
            action="swapping" if swaps else "copying",
            key=key,
            own=own.size(),
            given=given.size(),
            args=error.args,
        )
    return ""


def _swap(own: Any, given: Tensor, assign: bool) -> None:
    """Let ``own`` stay the object it is and become what ``module_load`` makes."""
    found = own.module_load(given, assign=assign)
    if found is given or found is own:
        raise RuntimeError(_OWN_RETURNED)
    swap_tensors(own, _as_kept(own, found))


def _as_kept(own: Tensor, given: Tensor) -> Tensor:
    """Return ``given`` in the role that ``own`` has: a parameter stays one."""
    if not isinstance(own, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(own.requires_grad)
    return Parameter(given, requires_grad=own.requires_grad)
