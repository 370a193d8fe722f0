"""Refusing shapes over which nothing can be normalised, in PyTorch's words."""

from __future__ import annotations

from .._tensor import Tensor


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
