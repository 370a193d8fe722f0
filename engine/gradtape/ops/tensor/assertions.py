"""Checks that programs make: ``_check`` and its kin, ``_assert``, ``_assert_async``.

They have no place in PyTorch's documentation, but libraries call them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import public
from ..._dtypes import bool_
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor

Message = Callable[[], object] | None

_PLAIN = (
    "Expected cond to be True, but got False. (Could this error message be improved? "
    "If so, please report an enhancement request to PyTorch.)"
)
_ALL_WANTED = (
    "cond must be a bool, but got a Tensor. For tensor conditions, use "
    "torch._check_tensor_all() to assert that all elements are true."
)
_NOT_CALLABLE = "message must be a callable"


def _check_with(error: type[Exception], cond: bool, message: Message = None) -> None:
    if not isinstance(cond, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        if isinstance(cond, Tensor):
            raise TypeError(_ALL_WANTED)
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error(_PLAIN)
    if not callable(message):
        raise TypeError(_NOT_CALLABLE)
    raise error(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError, with what ``message`` returns, unless ``cond`` holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError unless ``cond`` holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError unless ``cond`` holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError unless ``cond`` holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError unless ``cond`` holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError for what is no size: negative, or greater than ``max``."""
    warnings.warn(
        "_check_is_size will be removed in a future PyTorch release along with "
        "guard_size_oblivious.     Use _check(i >= 0) instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(
    error: type[Exception], cond: Tensor, message: Message = None
) -> None:
    if not isinstance(cond, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error, bool(cond._data.all()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a bool tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: str) -> None:
    """Assert what may also be a tensor with one element."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise RuntimeError unless the only element of a tensor is not zero."""
    values = check_tensor(input, "_assert_async")._data
    if values.size != 1:
        amount = "more than one value" if values.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
    if not values.any():
        raise RuntimeError(
            assert_msg or "Expected Tensor with single nonzero value, but got zero"
        )


for _each in (
    *(_check, _check_index, _check_value, _check_type, _check_not_implemented),
    *(_check_is_size, _check_with, _check_tensor_all, _check_tensor_all_with),
    *(_assert, _assert_async),
):
    public(_each)
