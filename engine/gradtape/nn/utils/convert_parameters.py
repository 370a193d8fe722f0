"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all values of all parameters in one vector.

    >>> import gradtape as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(1, 2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    return FUNCTIONS["cat"]([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters the values of a vector, in order, sharing its memory."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    begin = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = vec[begin : begin + size].view_as(parameter).data
        begin += size
