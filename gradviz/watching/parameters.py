"""The parameters under observation: named, numbered, looked up in their modules."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from gradviz import ir

_WRAPPERS = ("_orig_mod.",)  # torch.compile's; no user knows them


class Parameters:
    """Gives every parameter of a model a row; what the model loses keeps its row.

    A parameter that takes the place of another one of the same name gets its row.
    """

    def __init__(self, model: Any) -> None:
        self._model = weakref.ref(model)
        # No references to tensors: PyTorch exchanges none that has some.
        self._references: list[Callable[[], Any]] = []
        self._rows: dict[int, int] = {}  # id of a live parameter -> row
        self._names: dict[str, int] = {}
        self.layers: list[ir.FlowLayer] = []
        self.shapes: list[tuple[int, ...]] = []
        self.scan()

    def scan(self) -> None:
        """Look at the model again: it may have grown, shrunk, or been unfrozen."""
        model = self._model()
        self._rows = {}
        if model is None:
            return
        for name, module, own, parameter in _named(model):
            row = self._names.get(name)
            kind = type(module).__name__
            reference = functools.partial(_held, weakref.ref(module), own)
            shape = tuple(int(size) for size in parameter.shape)
            frozen = not parameter.requires_grad
            layer = ir.FlowLayer(name, kind, int(parameter.numel()), frozen=frozen)
            if row is None:
                row = self._names[name] = len(self.layers)
                self.layers.append(layer)
                self.shapes.append(shape)
                self._references.append(reference)
            elif self.shapes[row] != shape or self.get(row) is not parameter:
                self.layers[row], self.shapes[row] = layer, shape
                self._references[row] = reference
            else:
                self.layers[row] = replace(self.layers[row], frozen=frozen)
            self._rows[id(parameter)] = row

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def model(self) -> Any:
        """The model, None once it is gone."""
        return self._model()

    @property
    def spread(self) -> bool:
        """Whether each process holds only a part of a parameter."""
        alive = (reference() for reference in self._references)
        return any(getattr(each, "_local_tensor", None) is not None for each in alive)

    def row(self, parameter: Any) -> int | None:
        """Return the row of a parameter; None for one that is not watched."""
        row = self._rows.get(id(parameter))
        if row is None or self._references[row]() is not parameter:
            return None
        return row

    def rows_of(self, groups: Iterable[dict[str, Any]]) -> list[int]:
        """Return the rows of the parameters in an optimizer's groups."""
        found = (self.row(each) for group in groups for each in group["params"])
        return [row for row in found if row is not None]

    def get(self, row: int) -> Any:
        """Return the parameter of a row, None once it is gone."""
        return self._references[row]()

    def learning(self) -> Iterator[tuple[int, Any]]:
        """Yield row and parameter of what requires a gradient now."""
        for row in self._rows.values():
            parameter = self.get(row)
            if parameter is not None and parameter.requires_grad:
                yield row, parameter

    def named(self, row: int, optimizer: str) -> None:
        """Note which kind of optimizer steps a row."""
        layer = self.layers[row]
        if layer.optimizer != optimizer:
            self.layers[row] = replace(layer, optimizer=optimizer)


def _held(module: weakref.ref[Any], name: str) -> Any:
    """Return what a module has under this name now, None once it has nothing."""
    alive = module()
    return None if alive is None else alive._parameters.get(name)


def _named(model: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """Yield each parameter: its whole name, its module, its name there, itself."""
    seen: set[int] = set()
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            # A lazy parameter has no shape yet; the scan before the next look sees it.
            if id(parameter) in seen or _is_lazy(parameter):
                continue
            seen.add(id(parameter))
            full = f"{path}.{name}" if path else name
            for wrapper in _WRAPPERS:
                full = full.replace(wrapper, "")
            yield full, module, name, parameter


def _is_lazy(parameter: Any) -> bool:
    return type(parameter).__name__.startswith("Uninitialized")
