"""The two engines behind one face: ours and PyTorch, the oracle."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._backend import NUMPY
from gradtape._tensor.tensor import Tensor, wrap, wrap_alias

from .ops.samples._record import Named, Sample

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="PyTorch, the oracle, is not installed"
)


class Engine:
    """What the tests ask of an engine besides the functions of its module."""

    module: Any
    tensor_type: type

    def tensor(self, array: Any) -> Any:
        """Return a leaf with the array's values, shape, strides and offset."""
        raise NotImplementedError

    def array(self, tensor: Any) -> Any:
        """Return a tensor's memory as a NumPy array."""
        raise NotImplementedError

    def function(self, name: str) -> Callable[..., Any]:
        """Return what an entry's name stands for."""
        head, _, rest = name.partition(".")
        if head == "operator":
            return getattr(operator, rest)
        found = self.tensor_type if head == "Tensor" else self.module
        for part in (rest if head == "Tensor" else name).split("."):
            found = getattr(found, part)
        return found  # type: ignore[return-value]

    def convert(self, value: Any, grad: bool = False) -> Any:
        """Turn arrays into tensors, names into the module's attributes."""
        if isinstance(value, np.ndarray):
            tensor = self.tensor(value)
            if grad and value.dtype.kind in "fc":
                tensor.requires_grad_()
            return tensor
        if type(value) in (list, tuple):
            return type(value)(self.convert(v, grad) for v in value)
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*(self.convert(p) for p in parts))
        return getattr(self.module, value.name) if isinstance(value, Named) else value

    def arguments(
        self, sample: Sample, frozen: Sequence[int] = (), grad: bool = True
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the converted arguments of a call; floats need gradients."""
        args = tuple(
            self.convert(value, grad and position not in frozen)
            for position, value in enumerate(sample.args)
        )
        named = {k: self.convert(v, grad) for k, v in sample.kwargs.items()}
        return args, named

    def tensors(self, value: Any) -> list[Any]:
        """Return the tensors in a value, in order."""
        if isinstance(value, self.tensor_type):
            return [value]
        if isinstance(value, dict):
            return self.tensors(list(value.values()))
        if isinstance(value, list | tuple):
            return [t for each in value for t in self.tensors(each)]
        return []

    def inputs(self, args: Any, kwargs: Any) -> list[Any]:
        """Return the leaves of a call that need a gradient."""
        return [t for t in self.tensors([args, kwargs]) if t.requires_grad]


def _memory(array: Any) -> tuple[Any, int]:
    """Return a fresh copy of the memory an array looks into, and where it begins."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    flat = NUMPY.flat(owner)
    start = NUMPY.pointer(array) - NUMPY.pointer(flat) if array.size else 0
    return flat.copy(), start // array.itemsize


class Ours(Engine):
    """gradtape."""

    module = gradtape
    tensor_type = Tensor

    def tensor(self, array: Any) -> Any:
        if not array.size:
            return wrap(np.empty_like(array, order="C"))
        flat, offset = _memory(array)
        whole = flat.reshape(array.shape) if flat.size == array.size else None
        if whole is not None and whole.strides == array.strides:
            return wrap(whole)
        steps = tuple(s // array.itemsize for s in array.strides)
        return wrap_alias(NUMPY.strided(flat, array.shape, steps, offset), wrap(flat))

    def array(self, tensor: Any) -> Any:
        return tensor._data


class Theirs(Engine):
    """PyTorch."""

    def __init__(self) -> None:
        import torch

        self.module = torch
        self.tensor_type = torch.Tensor

    def tensor(self, array: Any) -> Any:
        if not array.size:
            dtype = getattr(self.module, array.dtype.name)
            return self.module.empty(array.shape, dtype=dtype)
        flat, offset = _memory(array)
        steps = tuple(s // array.itemsize for s in array.strides)
        whole = self.module.from_numpy(flat)
        return whole.as_strided(array.shape, steps, offset).detach()

    def array(self, tensor: Any) -> Any:
        return tensor.detach().resolve_conj().resolve_neg().numpy(force=True)


OURS = Ours()


@cache
def theirs() -> Theirs:
    """Return PyTorch, imported when a test first asks for it."""
    return Theirs()
