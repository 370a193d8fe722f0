"""Refusing shapes and parameters that normalisation cannot use, as PyTorch says it."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .matrix_product import scalar_name


def check_normalized(
    input: Tensor, shape: tuple[int, ...], gap: str = ", ", **scales: Tensor | None
) -> None:
    """Refuse a shape that is not that of the input's last dimensions, or of a scale.

    ``gap`` is what PyTorch writes between the star and the numbers.
    """
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing "
            "at least one element, but got normalized_shape = []"
        )
    for name, tensor in scales.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got "
                f"{name} of shape {list(tensor.shape)} and normalized_shape = "
                f"{list(shape)}"
            )
    if tuple(input.shape[input.dim() - len(shape) :]) != shape:
        ends = gap + ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*{ends}], but got input of size{list(input.shape)}"
        )


def check_mixed(input: Any, *parameters: Any) -> None:
    """Refuse parameters of another dtype than the input, but float32 beside 16 bits.

    The first that is given decides which sentence PyTorch has for the others.
    """
    given = [each.dtype for each in parameters if each is not None]
    if all(dtype == input.dtype for dtype in given):
        return
    if given[0] == input.dtype:
        other = next(p for p in parameters if p is not None and p.dtype != input.dtype)
        raise RuntimeError(
            f"expected scalar type {scalar_name(input)} but found {scalar_name(other)}"
        )
    if any(dtype.char != "f" for dtype in given):
        raise RuntimeError(
            "mixed dtype (CPU): expect parameter to have scalar type of Float"
        )
    if input.dtype.itemsize != 2:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
