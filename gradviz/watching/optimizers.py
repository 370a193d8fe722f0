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
        self._small: list[int] = []
        self.number = 0  # of the step that comes next
        self.due = 0  # the next step to look at
        self.look: Look | None = None  # at the step that runs now
        # Times of a step that is looked at: the one before ended, it began, the
        # optimizer itself began.
        self.ended_ns: int | None = None
        self.began_ns: int | None = None
        self.stepping_ns: int | None = None
        self.ours_ns = 0  # spent by us before that
        self._glances = 0

    def find_rows(self, parameters: Parameters) -> None:
        """Learn which rows the optimizer steps; groups may have been added."""
        optimizer = self.reference()
        if optimizer is not None:
            self.groups = len(optimizer.param_groups)
            self.rows = list(dict.fromkeys(parameters.rows_of(optimizer.param_groups)))
            layers = parameters.layers
            self._small = [row for row in self.rows if layers[row].count <= _GLANCED]

    def step_ns(self, ended_ns: int) -> int | None:
        """Return what a step that was looked at took, without what we did in it."""
        if self.ended_ns is None or self.began_ns is None or self.stepping_ns is None:
            return None
        return self.began_ns - self.ended_ns + max(ended_ns - self.stepping_ns, 0)

    def next_small(self) -> int | None:
        """Return the row to glance at: all in turn, the first every other time.

        A NaN that arises anywhere is in the first layer's gradient when a pass ends.
        """
        small = self._small
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
