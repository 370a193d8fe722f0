"""Where what was reduced over all samples of a batch comes back into each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence.axes import Axis, axes_in
from gradviz.dependence.axis_facts import Axes
from gradviz.dependence.axis_ops import reduced
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import LAYERS, plain
from gradviz.program import Call, History, Value

_REDUCTIONS = words("sum mean nanmean max amax min amin logsumexp median")
_SHAPING = words("expand expand_as repeat view reshape unsqueeze squeeze contiguous")
_JOINING = words("add radd iadd cat concat concatenate where addcmul")
_CENTRING = words("neg negative sub rsub subtract sqrt rsqrt pow reciprocal square log")
_FAR = 12  # calls between a reduction and where it comes back


@dataclass(frozen=True, slots=True)
class Summary:
    """A reduction over the samples, and the call that joins it with each of them."""

    made: Call
    place: int  # the dimension of samples that was reduced
    joined: Call
    rows: Value  # what it was joined with


def summaries(history: History) -> Iterator[Summary]:
    """Yield what was reduced over the samples that a loader put side by side.

    Of samples with several elements each, and only where it is no statistic by which
    they are normalised: it went through a layer, or is added to them as it is.
    """
    axes, told = history.once(axes_of), set[object]()
    for call in history.calls:
        if plain(call.op) not in _REDUCTIONS or call.site in told:
            continue
        gone = reduced(call)
        given = call.inputs[0] if call.inputs else None
        if given is None or gone is None or given.is_parameter or not call.outputs:
            continue
        if sum(size > 1 for size in given.shape) < 3:
            continue
        place = next((e for e in gone if _holds(axes, given, e)), None)
        if place is None or _has(axes, call.outputs[0], None):
            continue
        samples = set(axes_in(axes.of(given)[place]))
        told.add(call.site)
        found = _joined(history, axes, call, samples)
        if found is not None:
            yield Summary(call, place, *found)


def _holds(axes: Axes, value: Value, place: int) -> bool:
    return any(map(axes.of_samples, axes_in(axes.of(value)[place])))


def _has(axes: Axes, value: Value, samples: set[Axis] | None) -> bool:
    """Tell whether a tensor has something for each of some samples, or of any."""
    found = [axis for dim in axes.of(value) for axis in axes_in(dim)]
    if samples is None:
        return any(map(axes.of_samples, found))
    return not samples.isdisjoint(found)


def _joined(
    history: History, axes: Axes, made: Call, samples: set[Axis]
) -> tuple[Call, Value] | None:
    waiting = [(made.outputs[0], False)]
    for _ in range(_FAR):
        if not waiting:
            return None
        value, learned = waiting.pop(0)
        for use in history.uses(value.tensor, made.index):
            name = plain(use.op)
            others = [each for each in use.inputs if each.tensor != value.tensor]
            rows = [each for each in others if _has(axes, each, samples)]
            if name in _SHAPING or not rows:
                layer = learned or name in LAYERS
                if use.outputs and (layer or name not in _CENTRING):
                    waiting.append((use.outputs[0], layer))
            elif learned or name in _JOINING:
                return use, rows[0]
    return None
