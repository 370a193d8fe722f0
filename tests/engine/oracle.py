"""Run one program under gradtape and under PyTorch and compare all that can be seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import gradtape

Program = Callable[[Any], Any]


def assert_same(program: Program, *, rtol: float = 1e-5) -> None:
    """Assert that ``program(torch)`` gives the same with either module.

    Compared are values, dtypes, strides, leaf flags and node names of every
    tensor returned, the warnings, and the type and sentence of an error.
    """
    torch = pytest.importorskip("torch")
    ours, theirs = outcome(program, gradtape), outcome(program, torch)
    assert_close(ours, theirs, rtol, "result")


def assert_equal(program: Program) -> None:
    """Assert that ``program(torch)`` returns equal plain data with either module."""
    torch = pytest.importorskip("torch")
    assert program(gradtape) == program(torch)


def outcome(program: Program, module: Any) -> Any:
    """Return what a program returned, or what it raised, as plain data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # PyTorch's first dual tensor compiles parts of it, and says how dated that is.
        warnings.filterwarnings("ignore", ".*torch.jit.script")
        try:
            result = describe(program(module))
        except Exception as error:
            return "raised", type(error).__name__, first_sentence(error)
    said = [f"{w.category.__name__}: {str(w.message)[:60]}" for w in caught]
    return "returned", result, said


def first_sentence(error: Exception) -> str:
    """Return the error's text up to PyTorch's notes about its C++ stack and builds."""
    text = str(error).split("\nException raised from")[0]
    return text.split(" If you are a Facebook")[0].strip()


def describe(value: Any) -> Any:
    """Turn tensors, nodes and containers into data that compares."""
    if isinstance(value, dict):
        return {key: describe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [describe(each) for each in value]
    if type(value).__name__ in ("Tensor", "Parameter"):
        return describe_tensor(value)
    if hasattr(value, "next_functions"):
        return type(value).__name__
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    return str(value)


def describe_tensor(tensor: Any) -> dict[str, Any]:
    """Return everything about a tensor that both libraries must agree on."""
    node = tensor.grad_fn
    if tensor.is_sparse:
        return describe_sparse(tensor)
    return {
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "is_view": tensor._is_view(),
        "node": None if node is None else type(node).__name__,
        "values": tensor.detach().tolist(),
    }


def describe_sparse(tensor: Any) -> dict[str, Any]:
    """Return the coordinates and values of a sparse tensor, and what it remembers."""
    node = tensor.grad_fn
    return {
        "shape": list(tensor.shape),
        "coalesced": tensor.is_coalesced(),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "node": None if node is None else type(node).__name__,
        "dtype": str(tensor.dtype),
        "indices": tensor.detach()._indices().tolist(),
        "values": tensor.detach()._values().tolist(),
    }


def assert_close(ours: Any, theirs: Any, rtol: float, where: str) -> None:
    """Compare nested data; say where the first difference is."""
    assert type(ours) is type(theirs), f"{where}: ours {ours!r}, PyTorch {theirs!r}"
    if isinstance(ours, dict):
        assert list(ours) == list(theirs), f"{where}: {list(ours)} != {list(theirs)}"
        for key, value in ours.items():
            assert_close(value, theirs[key], rtol, f"{where}.{key}")
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), f"{where}: ours {ours!r}, PyTorch {theirs!r}"
        for index in _unlike(ours, theirs, rtol):
            assert_close(ours[index], theirs[index], rtol, f"{where}[{index}]")
    elif isinstance(ours, complex):
        for part in ("real", "imag"):
            mine, yours = getattr(ours, part), getattr(theirs, part)
            assert_close(mine, yours, rtol, f"{where}.{part}")
    elif isinstance(ours, float):
        same = math.isclose(ours, theirs, rel_tol=rtol, abs_tol=1e-7) or (
            math.isnan(ours) and math.isnan(theirs)
        )
        assert same, f"{where}: ours {ours!r}, PyTorch {theirs!r}"
    else:
        assert ours == theirs, f"{where}: ours {ours!r}, PyTorch {theirs!r}"


def _unlike(ours: Any, theirs: Any, rtol: float) -> Iterable[int]:
    """Return where to look closer: in rows of floats, only where they are apart."""
    if {*map(type, ours), *map(type, theirs)} != {float}:
        return range(len(ours))
    mine, yours = np.array(ours), np.array(theirs)
    with np.errstate(invalid="ignore"):
        bound = rtol * np.maximum(abs(mine), abs(yours))
        near = abs(mine - yours) <= bound.clip(1e-7)
        near &= np.isfinite(bound)
        alike = near | (mine == yours) | (np.isnan(mine) & np.isnan(yours))
    return np.flatnonzero(~alike).tolist()
