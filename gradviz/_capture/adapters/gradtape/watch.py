"""Reads gradients and updates of gradtape's parameters, straight from their arrays."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradtape._debug import SparseArray
from gradtape.optim import optimizer as optimizers
from gradviz import ir
from gradviz._capture.adapters.pytorch.watch import COPIED, UNKNOWN, Hook, Numbers
from gradviz._capture.statistics.summary import statistics as full_statistics


class GradtapeReader:
    """What a watch asks of gradtape: the same as of PyTorch, without a tensor call."""

    engine = "gradtape"

    @contextmanager
    def quiet(self) -> Generator[None, None, None]:
        """Overflows of ours are no news for the user."""
        with np.errstate(all="ignore"):
            yield

    def gradients(self, tensors: Sequence[Any]) -> list[Numbers]:
        """Return the numbers of each gradient; unknown for None."""
        return [UNKNOWN if each is None else _numbers(each._data) for each in tensors]

    def is_bad(self, tensor: Any) -> bool:
        """Tell whether a small gradient holds NaN or Inf."""
        data = _plain(tensor._data)
        return data is not None and not math.isfinite(float(data.sum()))

    def copies(self, parameters: Sequence[Any]) -> list[Any]:
        """Return some elements of each parameter, as they are now."""
        return [_some(each) for each in parameters]

    def changes(
        self, parameters: Sequence[Any], before: Sequence[Any]
    ) -> list[tuple[float, float]]:
        """Return the norm of each parameter before and of what changed since."""
        found: list[tuple[float, float]] = []
        for parameter, old in zip(parameters, before, strict=True):
            new = _some(parameter)
            if old is None or new is None or new.shape != old.shape or not old.size:
                found.append((math.nan, math.nan))
                continue
            whole = math.sqrt(parameter._data.size / old.size)
            found.append((_norm(old) * whole, _norm(new - old) * whole))
        return found

    def statistics(self, tensor: Any) -> ir.Statistics | None:
        """Return the full statistics of a gradient."""
        data = None if tensor is None else _plain(tensor._data)
        return None if data is None or not data.size else full_statistics(data)

    def scale(self, optimizer: Any) -> float:
        """Return what the gradients are still multiplied with when a step begins."""
        return 1.0

    def skips(self, optimizer: Any) -> bool:
        """Tell whether the step will be skipped."""
        return False

    def step_hooks(self, pre: Hook, post: Hook) -> list[Any]:
        """Call these before and after the step of any optimizer."""
        return [
            optimizers.register_optimizer_step_pre_hook(pre),
            optimizers.register_optimizer_step_post_hook(post),
        ]

    def rank(self) -> int | None:
        """Return the number of this process among those that train together."""
        import gradtape.distributed as distributed

        return distributed.get_rank() if distributed.is_initialized() else None

    def size(self) -> int | None:
        """Return how many processes train together."""
        import gradtape.distributed as distributed

        return distributed.get_world_size() if distributed.is_initialized() else None


def _plain(array: Any) -> Any:
    if type(array) is SparseArray:
        array = array.coalesce().values
    return array if array.dtype.kind in "fcV" else None


def _numbers(array: Any) -> Numbers:
    data = _plain(array)
    if data is None:
        return UNKNOWN
    if not data.size:
        return (0.0,) * 5
    if data.dtype.kind == "f":
        wide = data.astype(np.float64, copy=False).ravel()
        norm = math.sqrt(float(wide.dot(wide)))
        if math.isfinite(norm):
            zeros = int(data.size) - int((data != 0).sum())
            return norm, float(abs(wide).max()), zeros, 0.0, 0.0
    found = full_statistics(data)
    ends = [abs(end) for end in (found.minimum, found.maximum) if end is not None]
    norm = math.nan if found.norm is None else found.norm
    largest = max(ends, default=math.nan)
    return norm, largest, found.zeros, found.nans, found.infs


def _some(parameter: Any) -> Any:
    data = _plain(parameter._data)
    if data is None:
        return None
    flat = data.reshape(-1)
    kept = flat[:: max(1, -(-flat.size // COPIED))]
    kept = kept if kept.dtype.kind in "fc" else kept.astype(np.float32)
    return kept.astype(np.result_type(kept.dtype, np.float64))


def _norm(array: Any) -> float:
    return math.sqrt(float((abs(array) ** 2).sum()))
