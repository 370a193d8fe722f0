"""Tensors that layers begin with, and the keywords that say how to make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dtypes import dtype as DType
from .._dtypes import get_default_dtype
from .._tensor.tensor import Tensor
from ..ops._support.arguments import sizes
from ..ops._support.new_tensor import made, module_on
from .parameter import Parameter


def empty(
    shape: int | Sequence[int], device: Any = None, dtype: DType | None = None
) -> Tensor:
    """Return a tensor whose values are whatever was in memory."""
    kind = get_default_dtype() if dtype is None else dtype
    given: Any = (shape,) if hasattr(shape, "__index__") else shape
    return made(module_on(device).empty(sizes(given, "empty"), kind.numpy))


def parameter(
    shape: int | Sequence[int], device: Any = None, dtype: DType | None = None
) -> Parameter:
    """Return a parameter whose values are whatever was in memory."""
    return Parameter(empty(shape, device, dtype))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keywords of a layer that go on to what makes its tensors.

    Raises TypeError for other keywords, and for one that is there twice.

    >>> from gradtape import nn
    >>> nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': 1}
    """
    given = dict(kwargs or {})
    found = dict(given.pop("factory_kwargs", {}))
    unknown = given.keys() - {"device", "dtype", "memory_format"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    for name, value in given.items():
        if name in found:
            where = "in **kwargs and in factory_kwargs"
            raise TypeError(f"{name} specified twice, {where}")
        found[name] = value
    return found
