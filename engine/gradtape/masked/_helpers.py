"""What tests and libraries take from torch.masked beside the operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dtypes import float32
from .._tensor.tensor import Tensor
from ..ops.creation.from_data import tensor
from ._mask import dims_of, filled, identity, mask_of

_REDUCTIONS = frozenset(
    (
        *("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm"),
        *("prod", "std", "sum", "var"),
    )
)
_ALONG = frozenset(
    ("cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin")
)


def input_mask(input: Tensor, *_: Any, **options: Any) -> Tensor:
    """Return the option ``mask`` as bools, of the input's shape and layout.

    Raises ValueError where it is missing.
    """
    if options.get("mask") is None:
        raise ValueError("_input_mask requires explicit mask")
    return mask_of(input, options["mask"])


def output_mask(
    op: Callable[..., Any], input: Tensor, *args: Any, **options: Any
) -> Tensor:
    """Return where a masked operation has a result: something was left in.

    Raises ValueError for what is no masked operation.
    """
    if not callable(op):
        raise ValueError(
            f"_output_mask expected masked operation (got {type(op).__name__} object)"
        )
    name = getattr(op, "__name__", "")
    if name in _ALONG:
        return input_mask(input, **options)
    if name not in _REDUCTIONS:
        raise ValueError(
            "_output_mask expected masked operation (got callable "
            f"{op.__module__}.{name})"
        )
    rest = args[1:] if name == "norm" else args
    found = input_mask(input, **options)
    dim = rest[0] if rest else options.get("dim")
    for each in reversed(dims_of(dim, input.dim())):
        found = found.any(each, bool(options.get("keepdim", False)))
    return found


def reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """Return what a reduction ignores, as a 0-d tensor; None where that depends."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "std", "var"):
        return None
    value = identity(name, input.dtype, *args[:1])
    as_float = name == "median" and not input.is_floating_point()
    return tensor(
        value, dtype=float32 if as_float else input.dtype, device=input.device
    )


def combine_input_and_mask(
    op: Callable[..., Any], input: Tensor, mask: Tensor | None, *args: Any
) -> Tensor:
    """Return the input with what ``op`` ignores where it is masked out.

    Raises ValueError where ``op`` is no operation.
    """
    if mask is not None and not callable(op):
        raise ValueError(
            "_combine_input_and_mask expected masked operation (got "
            f"{type(op).__name__} object)"
        )
    return filled(input, mask, op.__name__, *args[:1])
