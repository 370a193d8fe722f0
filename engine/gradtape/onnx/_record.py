"""Record: what one run of the model did, as calls of primitive ops on numbered tensors.

Ops tell the observers of the engine; layers that ONNX has as one operator (recurrent
layers, bags of embeddings) are recorded as one call, and what they do inside is not.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.site import caller_site, resolve
from .._graph.observe import OpCalled, observe
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write
from ..backends import mha
from ..nn import EmbeddingBag, Module, RNNBase

DRAWN = ("_normal_around", "_normal_both", "_normal_spread")
"""Ops that are handed the random numbers; a graph draws its own."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor as one call saw it: its number, its type, and where it lies."""

    serial: int
    shape: tuple[int, ...]
    dtype: Any
    root: int  # address of the memory block that it is a part of
    start: int
    strides: tuple[int, ...]

    def lies_as(self, other: Ref) -> bool:
        """Say whether both are the same elements in the same order."""
        return (self.start, self.shape, self.dtype) == (
            other.start,
            other.shape,
            other.dtype,
        ) and (self.strides == other.strides or 0 in self.shape)


@dataclass(slots=True)
class Call:
    """One op, or one layer that is exported as a whole."""

    name: str
    args: tuple[Any, ...]  # Ref in the place of tensors
    outputs: tuple[Any, ...]  # Ref; Seen once aligned
    site: str  # "train.py:12", or "" outside any file of the user
    scope: str  # dotted name of the module that it ran in
    module: Any = None  # the layer, where the call is one


def whole_layer(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a call of a layer is exported as one operator."""
    given = args[0] if args else kwargs.get("input")
    if not isinstance(given, Tensor):  # packed sequences
        return False
    if isinstance(module, EmbeddingBag):
        plain = len(args) < 2 and not any(v is not None for v in kwargs.values())
        return plain and given.ndim == 2 and module.max_norm is None
    return not module.proj_size and not (module.training and module.dropout)


class Recorder:
    """Fills ``calls`` while a model runs; holds all tensors, so that ids are unique."""

    def __init__(self, model: Module) -> None:
        self.calls: list[Call] = []
        self.tensors: list[Tensor] = []
        self.originals: dict[int, Any] = {}  # what tensors held before being written
        self.made: set[int] = set()  # numbers of tensors that a call made
        self.written: set[int] = set()  # memory that was written, by its address
        self.layers: list[bool] = []
        self._muted = 0
        self._serials: dict[int, int] = {}
        self._arrays: dict[int, int] = {}
        self._paths = {id(m): name for name, m in model.named_modules()}

    def ref(self, tensor: Tensor) -> Ref:
        """Return the number and the place of a tensor, which may be a new one."""
        data = tensor._data
        serial = self._serials.setdefault(id(tensor), len(self.tensors))
        if serial == len(self.tensors):
            self.tensors.append(tensor)
            self._arrays[id(data)] = serial
        block = data
        while isinstance(block.base, np.ndarray):
            block = block.base
        root, start = (a.__array_interface__["data"][0] for a in (block, data))
        shape, strides = tuple(map(int, data.shape)), tuple(data.strides)
        return Ref(serial, shape, tensor.dtype, root, start, strides)

    def add(self, name: str, args: Any, outputs: Any, module: Any = None) -> None:
        """Append a call."""
        site = caller_site()
        scope = mode.now.scope
        owner = None if scope is None else scope.module()
        if name in DRAWN:
            args = [a for a in args if not isinstance(a, np.ndarray)]
        refs = self._described(tuple(args))
        results = tuple(self.ref(t) for t in outputs)
        self.made.update(r.serial for r in results)
        self.calls.append(
            Call(
                name,
                refs,
                results,
                "" if site is None else str(resolve(*site)),
                self._paths.get(id(owner), ""),
                module,
            )
        )

    def __call__(self, event: Any) -> None:
        if type(event) is OpCalled and not self._muted:
            self.add(event.name, event.inputs, event.outputs)

    def _described(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.ref(value)
        if isinstance(value, np.ndarray):  # an index: most often a tensor's own memory
            serial = self._arrays.get(id(value))
            return value if serial is None else self.ref(self.tensors[serial])
        if isinstance(value, list | tuple):
            return tuple(self._described(v) for v in value)
        return value

    def before_write(self, target: Tensor) -> None:
        """Keep what memory from outside holds before the model writes to it."""
        if self._muted:
            return
        self.written.add(self.ref(target).root)
        for serial, tensor in enumerate(self.tensors):
            if serial in self.made or serial in self.originals:
                continue
            if np.may_share_memory(tensor._data, target._data):
                self.originals[serial] = tensor._data.copy()

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        """Begin a layer."""
        self.layers.append(not self._muted and whole_layer(module, args, kwargs))
        self._muted += self.layers[-1]

    def leave(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        """End a layer."""
        if self.layers.pop():
            self._muted -= 1
            given = args or (kwargs["input"],)
            state = kwargs.get("hx", args[1] if len(args) > 1 else None)
            bag = isinstance(module, EmbeddingBag)
            weights = [[module.weight]] if bag else module.all_weights
            inputs = (given[0], state, weights)
            self.add(type(module).__name__, inputs, list(_tensors_in(output)), module)

    @contextmanager
    def watching(self, model: Module) -> Generator[None]:
        """Record what happens inside the block."""
        with ExitStack() as stack:
            for module in model.modules():
                if isinstance(module, RNNBase | EmbeddingBag):
                    for handle in (
                        module.register_forward_pre_hook(self.enter, with_kwargs=True),
                        module.register_forward_hook(self.leave, with_kwargs=True),
                    ):
                        stack.enter_context(handle)
            before_write.append(self.before_write)
            stack.callback(before_write.remove, self.before_write)
            stack.callback(mha.set_fastpath_enabled, mha.get_fastpath_enabled())
            mha.set_fastpath_enabled(False)  # a graph has attention in its parts
            stack.enter_context(observe(self))
            yield


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors_in(item)


tensors_in = _tensors_in
