"""Sparse tensors that the tests of sparse tensors share."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def settle() -> None:
    """Let PyTorch warn, which it does once per process, before anything is compared.

    Its warning is about reading outside of memory, which cannot happen here.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_coo_tensor([[0]], [1.0], (1,))


def repeated(torch: Any, **options: Any) -> Any:
    """Return a matrix that has one of its places twice.

    ::

        4  0  0
        0  0  3 + 5
    """
    at = torch.tensor([[1, 0, 1], [2, 0, 2]])
    return torch.sparse_coo_tensor(at, torch.tensor([3.0, 4.0, 5.0]), (2, 3), **options)


def unordered(torch: Any, **options: Any) -> Any:
    """Return a matrix without repeated places that is not known to be coalesced."""
    at = torch.tensor([[0, 1, 1], [2, 0, 2]])
    return torch.sparse_coo_tensor(at, torch.tensor([3.0, 4.0, 5.0]), (2, 3), **options)


def rows(torch: Any, **options: Any) -> Any:
    """Return a matrix of which whole rows are kept, one of them twice."""
    values = torch.tensor([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    at = torch.tensor([[1, 0, 1]])
    return torch.sparse_coo_tensor(at, values, (3, 2), **options)


def none(torch: Any, **options: Any) -> Any:
    """Return a matrix of zeros."""
    return torch.sparse_coo_tensor((2, 3), **options)


MATRICES = {"repeated": repeated, "unordered": unordered, "rows": rows, "none": none}


def table(torch: Any, **options: Any) -> Any:
    """Return an embedding with sparse gradients and five known rows."""
    weight = torch.arange(15.0).reshape(5, 3) / 10
    return torch.nn.Embedding(5, 3, sparse=True, _weight=weight, **options)
