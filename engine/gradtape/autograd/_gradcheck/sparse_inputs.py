"""Checking functions of sparse tensors: their values are what is moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.sparse.create import sparse_coo_tensor
from .case import Function, as_tuple, filled


def over_values(
    func: Function, inputs: Sequence[Any], masked: bool
) -> tuple[Function, tuple[Any, ...]]:
    """Return a function of the values of sparse inputs, and these values.

    Where ``masked``, elements that a sparse input does not specify stay zero; otherwise
    they are moved, too.
    """
    given, rebuild = list(inputs), dict[int, Callable[[Tensor], Tensor]]()
    for at, each in enumerate(inputs):
        if isinstance(each, Tensor) and each.is_sparse and each.requires_grad:
            given[at], rebuild[at] = _parts(each.detach(), masked)
    if not rebuild:
        return func, tuple(given)

    def dense(*args: Any) -> Any:
        return func(
            *(rebuild[at](arg) if at in rebuild else arg for at, arg in enumerate(args))
        )

    return dense, tuple(given)


def _parts(sparse: Tensor, masked: bool) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return a sparse tensor's values and the function that makes it of them."""
    whole = sparse if masked else filled(sparse)
    indices, coalesced = whole._indices(), whole.is_coalesced()

    def made(values: Tensor) -> Tensor:
        return sparse_coo_tensor(indices, values, sparse.shape, is_coalesced=coalesced)

    return whole._values().clone().requires_grad_(), made


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Return a gradcheck that takes functions with sparse results, too.

    >>> import gradtape as torch
    >>> gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> gradcheck(lambda x: x * 2, x)
    True
    """

    def check(func: Function, inputs: Any, **options: Any) -> Any:
        masked = options.pop("masked", False)
        inner, given = over_values(func, as_tuple(inputs), masked)

        def dense(*args: Any) -> Any:
            found = inner(*args)
            results = tuple(
                each.to_dense(masked_grad=masked)
                if isinstance(each, Tensor) and each.is_sparse and each.requires_grad
                else each
                for each in as_tuple(found)
            )
            return results if isinstance(found, tuple | list) else results[0]

        return gradcheck(dense, given, **options)

    return check
