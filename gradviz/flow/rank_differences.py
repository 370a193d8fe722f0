"""Which processes are odd, in which parameter, from which step on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradviz.flow.ranks import Kind, Norms, Ranks

ALIKE = 1e-4
"""Relative: norms that differ by less are the same."""

FAR = 100.0
"""Times: the batches of two processes do not differ by as much."""

Mask: TypeAlias = NDArray[np.bool_]
Odd: TypeAlias = Callable[[Norms], Mask]

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Difference:
    """Processes that began to differ at one step in one parameter."""

    ranks: tuple[int, ...]
    number: int  # of the step
    layers: tuple[str, ...]  # of any of them, the first to differ in front


def differences(ranks: Ranks, what: Kind, odd: Odd) -> list[Difference]:
    """Return who is odd, by step and parameter where that began, the earliest first."""
    since = _since(ranks, what, odd)
    groups: dict[tuple[int, int], list[int]] = {}
    for place in np.flatnonzero((since < _NEVER).any(axis=1)).tolist():
        layer = int(np.argmin(since[place]))
        groups.setdefault((int(since[place, layer]), layer), []).append(place)
    found: list[Difference] = []
    for (number, _), places in sorted(groups.items()):
        first = since[places].min(axis=0)
        order = np.argsort(first, kind="stable")
        layers = [ranks.layers[at] for at in order.tolist() if first[at] < _NEVER]
        members = tuple(ranks.ranks[place] for place in places)
        found.append(Difference(members, number, tuple(layers)))
    return found


def _since(ranks: Ranks, what: Kind, odd: Odd) -> NDArray[np.int64]:
    """Return since which step each process is odd, processes by layers."""
    since = np.full((len(ranks.ranks), len(ranks.layers)), _NEVER, np.int64)
    for number, rows in ranks.looks.items():
        places = np.array([place for place, _ in rows], np.intp)
        marked = np.zeros(since.shape, np.bool_)
        marked[places] = odd(ranks.norms(what, number))
        since[marked & (since == _NEVER)] = number
    return since


# ---- what is odd: of processes by layers at one step ---------------------------------


def differs(norms: Norms) -> Mask:
    """Mark what is not what most have; of two processes, what is larger."""
    usual = _usual(norms)
    with np.errstate(invalid="ignore"):  # Inf - Inf
        scale = np.maximum(np.maximum(np.abs(norms), np.abs(usual)), 1e-30)
        apart = np.abs(norms - usual) > ALIKE * scale
    infinite = np.isinf(norms) != np.isinf(usual)
    return (apart | infinite) & ~np.isnan(norms) & ~np.isnan(usual)


def lacks(norms: Norms) -> Mask:
    """Mark gradients that are not there although another process has one."""
    missing = np.isnan(norms)
    return missing & ~missing.all(axis=0)


def is_bad(norms: Norms) -> Mask:
    """Mark NaN and Inf where another process has a number."""
    return np.isinf(norms) & np.isfinite(norms).any(axis=0)


def is_far(norms: Norms) -> Mask:
    """Mark what is far larger, or far smaller, than what most have."""
    positive = np.where(np.isfinite(norms) & (norms > 0), norms, np.nan)
    usual = _usual(positive)
    return (positive > FAR * usual) | (FAR * positive < usual)


def _usual(norms: Norms) -> Norms:
    """Return what most processes have of each layer, where most agree at all.

    The lower one of two in the middle, as nobody has the mean of both.
    """
    inner = np.sort(norms, axis=0)  # NaN comes last
    known = (~np.isnan(norms)).sum(axis=0)
    middle = np.maximum(known - 1, 0) // 2
    return inner[middle, np.arange(norms.shape[1])]
