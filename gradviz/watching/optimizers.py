"""The optimizers that step a model's parameters, found as they step; held weakly."""

from __future__ import annotations

import weakref
from typing import Any

from gradviz.watching.looks import Look
from gradviz.watching.parameters import Parameters

_GLANCED = 65_536  # elements of a gradient that is looked at in every step
_OTHERS = 64  # optimizers of other models that are remembered


class Stepped:
    """What is known of one optimizer that steps parameters of the model."""

    def __init__(self, optimizer: Any) -> None:
        self.reference = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        self.groups = 0
        self.rows: list[int] = []
        self.number = 0  # of the step that comes next
        self.began_ns: int | None = None  # the last step
        self.step_ns: int | None = None  # from the step before to that one
        self.look: Look | None = None  # at the step that runs now
        self.ours_ns = 0  # spent by us since the last step began
        self._glances = 0

    def find_rows(self, parameters: Parameters) -> None:
        """Learn which rows the optimizer steps; groups may have been added."""
        optimizer = self.reference()
        if optimizer is not None:
            self.groups = len(optimizer.param_groups)
            self.rows = list(dict.fromkeys(parameters.rows_of(optimizer.param_groups)))

    def begins(self, now_ns: int) -> int | None:
        """Note that a step begins; return what the last one took without us."""
        if self.began_ns is not None:
            self.step_ns = now_ns - self.began_ns
        took = None if self.step_ns is None else max(self.step_ns - self.ours_ns, 1)
        self.began_ns, self.ours_ns = now_ns, 0
        return took

    def next_small(self, parameters: Parameters) -> int | None:
        """Return the row to glance at: all in turn, the first every other time.

        A NaN that arises anywhere is in the first layer's gradient when a pass ends.
        """
        layers = parameters.layers
        small = [row for row in self.rows if layers[row].count <= _GLANCED]
        if not small:
            return None
        self._glances += 1
        return small[0 if self._glances % 2 else self._glances // 2 % len(small)]


class Optimizers:
    """Knows which optimizers step the watched parameters."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._known: dict[int, Stepped | None] = {}

    def of(self, optimizer: Any) -> Stepped | None:
        """Return what is known of an optimizer; None for one of another model."""
        key = id(optimizer)
        known = self._known.get(key)
        if known is not None and known.reference() is optimizer:
            if known.groups != len(optimizer.param_groups):
                self._parameters.scan()
                known.find_rows(self._parameters)
            return known
        known = Stepped(optimizer)
        known.find_rows(self._parameters)
        if not known.rows and key not in self._known:
            self._parameters.scan()  # the model may have grown
            known.find_rows(self._parameters)
        if not known.rows:
            self._forget_others()
            self._known[key] = None
            return None
        self._known[key] = known
        return known

    def clear(self) -> None:
        """Forget all of them."""
        self._known = {}

    def _forget_others(self) -> None:
        others = [key for key, known in self._known.items() if known is None]
        if len(others) >= _OTHERS:
            for key in others:
                del self._known[key]
