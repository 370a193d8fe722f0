"""Tensors made of another library's: PyTorch's, by value."""

from __future__ import annotations

import pytest

import gradtape

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "bool", "bfloat16", "float16", "complex64"]
)
@pytest.mark.parametrize("make", ["tensor", "as_tensor", "asarray"])
def test_the_values_and_the_dtype_of_pytorchs_tensor(make: str, dtype: str) -> None:
    given = torch.tensor([[1, 0], [1, 1]], dtype=getattr(torch, dtype))
    found = getattr(gradtape, make)(given)
    assert str(found.dtype) == f"torch.{dtype}"
    assert found.tolist() == given.tolist()


def test_a_tensor_made_of_pytorchs_has_memory_of_its_own() -> None:
    given = torch.zeros(2, requires_grad=True)
    found = gradtape.tensor(given).fill_(1.0)
    assert given.tolist() == [0, 0]
    assert not found.requires_grad


def test_numbers_without_dimensions_alone_and_in_lists() -> None:
    assert gradtape.tensor(torch.tensor(3)).item() == 3
    found = gradtape.tensor([torch.tensor(1.5), torch.tensor(2.0)])
    assert found.tolist() == [1.5, 2.0]
    assert gradtape.tensor(torch.ones(2), dtype=gradtape.int32).tolist() == [1, 1]
