"""Align: several runs of one model as one list of calls with varying lengths.

Run 0 has the user's arguments. Run 1 has the same shapes and other values: what differs
from run 0 depends on data in a way that the recorded ops do not show. Later runs have
other lengths of the dynamic axes: there, integers may differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._record import Call, Ref
from ._varying import Length, length_of
from .errors import OnnxExporterError

DATA = (
    "cannot export {where}: {what} depends on the values of the inputs in a way that a "
    "graph cannot follow (item(), a mask as an index, an if on a tensor, random "
    "numbers). Write it with ops on whole tensors, as torch.where"
)
STRUCTURE = (
    "cannot export {where}: with other {which} the model calls other ops. {advice}"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor of one call, in all runs."""

    refs: tuple[Ref, ...]
    shape: tuple[Length, ...]

    @property
    def serial(self) -> int:
        """Its number, the same in all runs."""
        return self.refs[0].serial

    @property
    def dtype(self) -> Any:
        """Its type."""
        return self.refs[0].dtype

    def lies_as(self, other: Seen) -> bool:
        """Say whether both are the same elements, in all runs."""
        pairs = zip(self.refs, other.refs, strict=True)
        return all(a.lies_as(b) for a, b in pairs)


def place(call: Call) -> str:
    """Say which op it is, and on which line of the user's."""
    return f"{call.name}() at {call.site}" if call.site else f"{call.name}()"


def kind_of(call: Call) -> str:
    """Return the name of an op; reshapes by strides or not are of one kind."""
    return "view" if call.name in ("_reshape_alias", "_unsafe_view") else call.name


def kinds_of(calls: Sequence[Call]) -> list[str]:
    """Return what was called, in order."""
    return [kind_of(call) for call in calls]


def check_same_work(example: Sequence[Call], typical: Sequence[Call]) -> None:
    """Refuse a model that computes something else for the lengths of the example.

    Views and copies may differ: a slice of everything is no slice.
    """
    works = [
        [c for c in calls if kind_of(c) not in _VIEWS] for calls in (example, typical)
    ]
    if kinds_of(works[0]) != kinds_of(works[1]):
        pairs = zip(*works, strict=False)
        differing = [a for a, b in pairs if kind_of(a) != kind_of(b)]
        last = works[0][-1:] or example[-1:]
        call = next(iter([*differing, *last]), None)
        raise _other_structure("it" if call is None else place(call), 2)


_VIEWS = ("alias", "clone", "expand", "slice", "view")


def align(runs: Sequence[Sequence[Call]]) -> list[Call]:
    """Merge the calls of all runs.

    Raises OnnxExporterError where the runs differ in more than lengths.
    """
    for number, run in enumerate(runs[1:], start=1):
        for ours, theirs in zip(runs[0], run, strict=False):
            if kind_of(ours) != kind_of(theirs) or len(ours.outputs) != len(
                theirs.outputs
            ):
                raise _other_structure(place(ours), number)
        if len(run) != len(runs[0]):
            raise _other_structure(place(runs[0][-1]) if runs[0] else "it", number)
    return [_merged_call(calls) for calls in zip(*runs, strict=True)]


def _other_structure(where: str, number: int) -> OnnxExporterError:
    which = "values of the inputs" if number == 1 else "lengths of the dynamic axes"
    advice = (
        "A graph has one sequence of ops: write the choice with torch.where"
        if number == 1
        else "Export it without that dynamic axis, or make the loop one op"
    )
    return OnnxExporterError(STRUCTURE.format(where=where, which=which, advice=advice))


def _merged_call(calls: Sequence[Call]) -> Call:
    first = calls[0]
    try:
        kept = 1 if kind_of(first) == "view" else None  # the shape is the output's
        args = merged([c.args[:kept] for c in calls], place(first))
        outputs = merged([c.outputs for c in calls], place(first))
    except _RanksDifferError as error:
        raise OnnxExporterError(
            f"cannot export {place(first)}: the number of its dimensions or arguments "
            f"changes with the inputs ({error})"
        ) from None
    return Call(first.name, args, outputs, first.site, first.scope, first.module)


class _RanksDifferError(Exception):
    """What should be one structure has several lengths."""


def merged(values: Sequence[Any], where: str) -> Any:
    """Return one argument for all runs: integers as lengths, tensors as Seen.

    Raises OnnxExporterError where other values differ.
    """
    first = values[0]
    if isinstance(first, Ref):
        return _merged_tensor(values, where)
    if isinstance(first, list | tuple):
        if any(len(v) != len(first) for v in values):
            raise _RanksDifferError(", ".join(str(len(v)) for v in values))
        return tuple(merged(v, where) for v in zip(*values, strict=True))
    if isinstance(first, slice):
        parts = [(s.start, s.stop, s.step) for s in values]
        return slice(*merged(parts, where))
    if isinstance(first, np.ndarray):
        return _merged_array(values, where)
    if isinstance(first, int) and not isinstance(first, bool):
        if len(values) > 1 and values[1] != first:
            raise OnnxExporterError(DATA.format(where=where, what="an integer"))
        return length_of([int(v) for v in values])
    for number, value in enumerate(values):
        if value is first or value == first or _both_nan(value, first):
            continue
        if number == 1:
            raise OnnxExporterError(DATA.format(where=where, what=f"{first!r}"))
        raise OnnxExporterError(
            f"cannot export {where}: {first!r} was computed from the length of a "
            "dynamic axis. Compute it with tensors, or export without that axis"
        )
    return first


def _merged_tensor(refs: Sequence[Any], where: str) -> Seen:
    serials = {getattr(r, "serial", None) for r in refs}
    if len(serials) != 1:
        raise OnnxExporterError(
            STRUCTURE.format(
                where=where, which="inputs", advice="It uses other tensors each time"
            )
        )
    ranks = [len(r.shape) for r in refs]
    if len(set(ranks)) != 1:
        raise _RanksDifferError(f"{ranks[0]} and {ranks[-1]} dimensions")
    if len(refs) > 1 and refs[1].shape != refs[0].shape:
        raise OnnxExporterError(DATA.format(where=where, what="a shape"))
    shape = tuple(
        length_of(sizes) for sizes in zip(*(r.shape for r in refs), strict=True)
    )
    return Seen(tuple(refs), shape)


def _merged_array(arrays: Sequence[Any], where: str) -> Any:
    if any(not isinstance(a, np.ndarray) for a in arrays):
        raise OnnxExporterError(DATA.format(where=where, what="an index"))
    if all(np.array_equal(a, arrays[0]) for a in arrays):
        return arrays[0]
    what = "an array"
    if any(not np.array_equal(a, arrays[0]) for a in arrays[1:2]):
        raise OnnxExporterError(DATA.format(where=where, what=what))
    raise OnnxExporterError(
        f"cannot export {where}: its index depends on the length of a dynamic axis. "
        "Index with a slice or with torch.arange, or export without that axis"
    )


def _both_nan(one: Any, other: Any) -> bool:
    return (
        isinstance(one, float)
        and isinstance(other, float)
        and math.isnan(one)
        and math.isnan(other)
    )
