"""What a step of an optimizer changed of its parameters: norms, and what stood."""

from __future__ import annotations

import math
from typing import Any

from gradviz._capture.context import LogContext
from gradviz._capture.names.user_code import probing
from gradviz.program.records import Updates

_LOOKED_AT = 16_384
"""Elements of a parameter that are copied; norms of larger ones are estimated."""


def is_narrow(param: Any) -> bool:
    """Tell whether the elements of a parameter have only two or three digits."""
    return bool(param.dtype.is_floating_point and param.dtype.itemsize <= _NARROW_BYTES)


_NARROW_BYTES = 2


class WeightsBefore:
    """Copies of parameters as they are before a step, until it is over."""

    def __init__(self, lib: Any, log: LogContext, params: list[Any], keys: Any) -> None:
        self._lib = lib
        self._log = log
        self._copies: list[tuple[int, Any, Any]] = []  # tensor's number, itself, copy
        self.narrow = self.stood = 0  # see Optimizer
        with probing(), log.unheard():
            for param, key in zip(params, keys, strict=True):
                some = None if param.grad is None else self._some(param)
                if some is not None:
                    self._copies.append((key, param, some.clone()))

    def changes(self) -> Updates:
        """Return the norms of the parameters before, and of what changed since."""
        norm = self._lib.linalg.vector_norm
        found: Updates = {}
        with probing(), self._log.unheard():
            for key, param, old in self._copies:
                new = self._some(param)
                if new is None or new.shape != old.shape:
                    continue
                if is_narrow(param):
                    self._count(param, old == new)
                whole = math.sqrt(param.numel() / old.numel())
                old, new = old.double(), new.double()
                numbers = float(norm(old)) * whole, float(norm(new - old)) * whole
                if all(map(math.isfinite, numbers)):
                    found[key] = numbers
        return found

    def _count(self, param: Any, same: Any) -> None:
        """Count the elements with a gradient, and those of them that stood."""
        gradient = self._some(param.grad)
        if gradient is not None and gradient.shape == same.shape:
            pushed = gradient != 0
            self.narrow += int(pushed.sum())
            self.stood += int((pushed & same).sum())

    def _some(self, param: Any) -> Any:
        """Return elements of a parameter, evenly spread; None where there are none."""
        if self._log.is_opaque(param) or param.layout is not self._lib.strided:
            return None
        if not param.is_floating_point() or not param.numel():
            return None
        flat = param.detach().reshape(-1)
        return flat[:: -(-param.numel() // _LOOKED_AT)]
