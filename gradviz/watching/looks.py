"""One look at a step: gradients as the optimizer used them, and what it changed."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from gradviz import ir
from gradviz.errors import CaptureError
from gradviz.watching.history import FIELDS, Row
from gradviz.watching.parameters import Parameters

_PICTURED = 4_000_000  # elements in all: histograms of larger models are left out

NORM, ZEROS = FIELDS.index("norm"), FIELDS.index("zeros")
WEIGHT, LOCAL = FIELDS.index("weight_norm"), FIELDS.index("local_norm")


class Reader(Protocol):
    """What a watch asks of an engine; see ``_capture/adapters/pytorch/watch.py``."""

    engine: Any

    def quiet(self) -> Any: ...
    def gradients(self, tensors: Sequence[Any]) -> list[tuple[float, ...]]: ...
    def is_bad(self, tensor: Any) -> bool: ...
    def copies(self, parameters: Sequence[Any]) -> list[Any]: ...
    def changes(
        self, parameters: Sequence[Any], before: Sequence[Any]
    ) -> list[tuple[float, float]]: ...
    def statistics(self, tensor: Any) -> ir.Statistics | None: ...
    def scale(self, optimizer: Any) -> float: ...
    def skips(self, optimizer: Any) -> bool: ...
    def step_hooks(self, pre: Any, post: Any) -> list[Any]: ...
    def rank(self) -> int | None: ...
    def size(self) -> int | None: ...


class Look:
    """Collects the numbers of one step; holds copies of weights until it is done."""

    def __init__(
        self, reader: Reader, parameters: Parameters, rows: Sequence[int], number: int
    ) -> None:
        self.number = number
        self.rows = list(dict.fromkeys(rows))
        self.statistics: dict[int, ir.Statistics] = {}
        self.values = np.full((len(parameters), len(FIELDS)), math.nan)
        self._reader = reader
        self._parameters = parameters
        self._before: dict[int, Any] = {}

    def copy_weights(self) -> None:
        """Copy some elements of each parameter, as they are before the step."""
        alive = self._alive()
        with self._reader.quiet():
            copies = self._reader.copies([each for _, each in alive])
        self._before = {row: copy for (row, _), copy in zip(alive, copies, strict=True)}

    def read_gradients(self, scale: float = 1.0, pictures: bool = False) -> None:
        """Read every gradient; with ``pictures`` take histograms too."""
        alive = self._alive()
        tensors = [each.grad for _, each in alive]
        with self._reader.quiet():
            found = self._reader.gradients(tensors)
            total = sum(self._parameters.layers[row].count for row in self.rows)
            for (row, _), numbers, tensor in zip(alive, found, tensors, strict=True):
                self.values[row, : len(numbers)] = numbers
                if (
                    pictures
                    and total <= _PICTURED
                    and tensor is not None
                    and scale == 1
                ):
                    statistics = self._reader.statistics(tensor)
                    if statistics is not None and statistics.histogram:
                        self.statistics[row] = statistics
        if scale not in (0.0, 1.0):
            self.values[:, NORM : NORM + 2] /= scale

    def read_changes(self) -> None:
        """See what the step changed, and let go of the copies."""
        alive = [(row, each) for row, each in self._alive() if row in self._before]
        with self._reader.quiet():
            found = self._reader.changes(
                [each for _, each in alive], [self._before[row] for row, _ in alive]
            )
        for (row, _), numbers in zip(alive, found, strict=True):
            self.values[row, WEIGHT : WEIGHT + 2] = numbers
        self._before = {}

    @property
    def is_bad(self) -> bool:
        """Whether a gradient held NaN or Inf."""
        return bool(np.nansum(self.values[:, ZEROS + 1 : ZEROS + 3]) > 0)

    def note_local(self, row: int, norm: float) -> None:
        """Note the norm that a gradient had before processes averaged it."""
        if row < len(self.values):
            self.values[row, LOCAL] = norm

    def row(self, step: ir.FlowStep) -> Row:
        """Return what was seen, as a row of the history."""
        return Row(step, self.values, self.statistics)

    def points(self) -> list[ir.FlowPoint]:
        """Return what was seen of the layers that took part."""
        found: list[ir.FlowPoint] = []
        for row in self.rows:
            numbers = self.values[row].tolist()
            zeros, nans, infs = (
                0 if math.isnan(n) else int(n) for n in numbers[ZEROS : ZEROS + 3]
            )
            norm = None if math.isnan(numbers[NORM]) else numbers[NORM]
            found.append(
                ir.FlowPoint(0, row, norm=norm, zeros=zeros, nans=nans, infs=infs)
            )
        return found

    def _alive(self) -> list[tuple[int, Any]]:
        found = ((row, self._parameters.get(row)) for row in self.rows)
        return [(row, each) for row, each in found if each is not None]


def merged(row: Row, look: Look) -> None:
    """Put what the step of another optimizer showed into the row of the same step."""
    known = ~np.isnan(look.values)
    if len(look.values) > len(row.values):
        more = np.full((len(look.values) - len(row.values), len(FIELDS)), math.nan)
        row.values = np.concatenate([row.values, more])
    row.values[: len(known)][known] = look.values[known]
    row.statistics |= look.statistics


def reader_of(model: Any) -> Reader:
    """Return what reads the tensors of a model; raise CaptureError for no module."""
    torch, gradtape = sys.modules.get("torch"), sys.modules.get("gradtape")
    # First: under `--engine gradtape` the name torch leads to it, too.
    if gradtape is not None and isinstance(model, gradtape.nn.Module):
        from gradviz._capture.adapters.gradtape.watch import GradtapeReader

        return GradtapeReader()
    if torch is not None and isinstance(model, torch.nn.Module):
        from gradviz._capture.adapters.pytorch.watch import TorchReader

        return TorchReader()
    raise CaptureError(
        "expected a module of PyTorch or gradtape to watch, got "
        f"{type(model).__module__}.{type(model).__qualname__}".replace("builtins.", "")
    )
