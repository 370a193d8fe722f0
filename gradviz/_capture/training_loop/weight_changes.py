"""What a step of an optimizer changed of its parameters: norms, and what stood."""

from __future__ import annotations

import math
from typing import Any

from gradviz._capture.context import LogContext
from gradviz._capture.names.user_code import probing
from gradviz.program.records import Pushed, Updates

_LOOKED_AT = 16_384
"""Elements of a parameter that are copied; norms of larger ones are estimated."""


def is_narrow(param: Any) -> bool:
    """Tell whether the elements of a parameter have only two or three digits."""
    return bool(param.dtype.is_floating_point and param.dtype.itemsize <= _NARROW_BYTES)


_NARROW_BYTES = 2
_KEPT = 2.0**-24  # of a float32: what is smaller than this share of it is rounded away
_STANDING = 0.99  # of the pushed elements


class Standing:
    """Copies of 16-bit parameters of one optimizer that no step has moved so far."""

    def __init__(self) -> None:
        self._first: dict[int, Any] = {}  # None: it has moved

    def count(self, row: Pushed, key: int, pushed: Any, old: Any, new: Any) -> None:
        """Add a step, from ``old`` to ``new``, to the row of a parameter."""
        first = self._first.setdefault(key, old)
        if first is None or first.shape != new.shape:
            first = old
        elements, stood = int(pushed.sum()), int((pushed & (first == new)).sum())
        if stood < _STANDING * elements:
            self._first[key] = None
        row.steps += elements > 0
        row.elements += elements
        row.stood += stood


class WeightsBefore:
    """Copies of parameters as they are before a step, until it is over."""

    def __init__(
        self, lib: Any, log: LogContext, groups: list[dict[str, Any]], keys: Any
    ) -> None:
        self._lib = lib
        self._log = log
        # a tensor's number, itself, its copy, and what its group says of steps
        self._copies: list[tuple[int, Any, Any, tuple[Any, Any]]] = []
        params = [(each, group) for group in groups for each in group["params"]]
        with probing(), log.unheard():
            for (param, group), key in zip(params, keys, strict=True):
                some = None if param.grad is None else self._some(param)
                if some is not None:
                    size = group.get("lr"), group.get("eps")
                    self._copies.append((key, param, some.clone(), size))

    def changes(self, pushed: dict[int, Pushed], standing: Standing) -> Updates:
        """Return the norms of the parameters before, and of what changed since.

        Those of 16 bits are counted, too.
        """
        norm = self._lib.linalg.vector_norm
        found: Updates = {}
        with probing(), self._log.unheard():
            for key, param, old, size in self._copies:
                new = self._some(param)
                if new is None or new.shape != old.shape:
                    continue
                mine = self._pushed(param, old, *size) if is_narrow(param) else None
                if mine is not None:
                    row = pushed.setdefault(key, Pushed())
                    standing.count(row, key, mine, old, new)
                whole = math.sqrt(param.numel() / old.numel())
                old, new = old.double(), new.double()
                numbers = float(norm(old)) * whole, float(norm(new - old)) * whole
                if all(map(math.isfinite, numbers)):
                    found[key] = numbers
        return found

    def _pushed(self, param: Any, old: Any, rate: Any, eps: Any) -> Any:
        """Tell which elements a step would change if they were kept in ``float32``.

        What has an ``eps`` divides gradients by their size: its steps are of the rate.
        """
        gradient = self._some(param.grad)
        if gradient is None or gradient.shape != old.shape:
            return None
        size = gradient.float().abs()
        if isinstance(eps, float) and eps > 0:
            size = size / (size + eps)
        if isinstance(rate, float | int):
            size = size * rate
        return size > old.float().abs() * _KEPT

    def _some(self, param: Any) -> Any:
        """Return elements of a parameter, evenly spread; None where there are none."""
        if self._log.is_opaque(param) or param.layout is not self._lib.strided:
            return None
        if not param.is_floating_point() or not param.numel():
            return None
        flat = param.detach().reshape(-1)
        return flat[:: -(-param.numel() // _LOOKED_AT)]
