"""Tensors laid end to end in one, as programs that exchange gradients do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._dispatch.declare import FUNCTIONS
from ._tensor.tensor import Tensor


def flatten_dense_tensors(tensors: Sequence[Any]) -> Tensor:
    """Return the elements of all tensors in one dimension.

    >>> import gradtape as torch
    >>> from gradtape._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([torch.ones(1, 2), torch.tensor(3.0)])
    tensor([1., 1., 3.])
    """
    return FUNCTIONS["cat"]([tensor.reshape(-1) for tensor in tensors])


def unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Tensor, ...]:
    """Return the parts of ``flat`` in the shapes of the tensors, as views.

    >>> import gradtape as torch
    >>> from gradtape._utils import _unflatten_dense_tensors
    >>> like = [torch.ones(1, 2), torch.tensor(3.0)]
    >>> _unflatten_dense_tensors(torch.arange(3.0), like)
    (tensor([[0., 1.]]), tensor(2.))
    """
    found: list[Tensor] = []
    begin = 0
    for tensor in tensors:
        count = tensor.numel()
        found.append(flat.narrow(0, begin, count).view_as(tensor))
        begin += count
    return tuple(found)
