"""Weights that were set to 0 move again, though their gradients are masked.

What it does
    Finds parameters of which a large part was set to 0 at once, whose gradients are
    masked before each step, and which have lost these zeros by the next forward pass.

Why is this bad
    A step is not made of the gradient alone. Momentum, and Adam's averages, still hold
    what the weights had before they were pruned, and move them on with a gradient of 0.
    What was to be a sparse model is dense again, and nothing fails.

Example
    ::

        p.mul_(mask)
        ...
        p.grad.mul_(mask)
        optimizer.step()

Use instead
    ::

        optimizer.step()
        with torch.no_grad():
            p.mul_(mask)

When it stays quiet
    Gradients without a mask, as where the zeros are only a start; masks that are
    applied to the weights again after the step; masks that grow smaller.

References
    https://github.com/he-y/filter-pruning-geometric-median/issues/47
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.diagnosis._words import code
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import optimizer_words
from gradviz.program import Call, History, OptimizerCall, RawSite, Value

_LEAST = 0.1  # of the elements are set to 0
_STILL = 0.9  # of the zeros, in a gradient that is masked
_LEFT = 0.5  # of the zeros: less are left


@dataclass(slots=True, eq=False)
class _Pruned:
    """A parameter that was set to 0 in a large part."""

    by: Call
    zeros: int
    masked: Call | None = None  # the last time that its gradient was


@dataclass(slots=True, eq=False)
class _Returned:
    """A parameter that has lost its zeros to a step."""

    pruned: _Pruned
    value: Value
    step: OptimizerCall


@rule("GV632", "pruned-weights-return", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line of a step that does so."""
    lines: dict[RawSite | None, list[_Returned]] = {}
    for each in _returned(history):
        lines.setdefault(each.step.site, []).append(each)
    for site, found in lines.items():
        yield _hit(history, site, found)


def _returned(history: History) -> Iterator[_Returned]:
    pruned: dict[int, _Pruned] = {}  # by memory
    gradients: dict[int, int] = {}  # the memory of a gradient, and of its parameter
    owners = learning.by_memory(history)
    step: OptimizerCall | None = None
    for event in history.events:
        if isinstance(event, OptimizerCall):
            step = event if event.what == "step" else step
        elif isinstance(event, Call) and event.op != "step":
            if event.op.startswith("grad.") and event.inputs:
                for each in (*event.inputs[1:], *event.outputs):
                    gradients[each.storage] = event.inputs[0].storage
            for storage, before, after in _changes(event):
                if storage in owners:
                    _prune(pruned, event, before, after)
                elif gradients.get(storage) in pruned:
                    _mask(pruned, gradients[storage], event, after)
            if step is not None and any(e.requires_grad for e in event.outputs):
                yield from _lost(pruned, event, step)


def _changes(call: Call) -> Iterator[tuple[int, Value | None, Value]]:
    """Yield what a call gives new values: its memory, and how it was before and after.

    A gradient that is set is new as well.
    """
    if call.op == "grad.set":
        for each in call.inputs[1:]:
            yield each.storage, None, each
    for write in call.writes:
        before = (each for each in call.inputs if each.storage == write.storage)
        after = (each for each in call.outputs if each.storage == write.storage)
        yield write.storage, next(before, None), next(after, write.value)


def _zeros(value: Value | None) -> int | None:
    summary = None if value is None else value.summary
    return None if summary is None else summary.zeros


def _prune(
    pruned: dict[int, _Pruned], call: Call, before: Value | None, after: Value
) -> None:
    """Note that a call sets much of a parameter to 0, or else forget the parameter."""
    zeros, summary = _zeros(after), after.summary
    pruned.pop(after.storage, None)
    if summary is None or zeros is None or zeros < max(2, _LEAST * summary.count):
        return
    if zeros < summary.count and (_zeros(before) or 0) < _LEFT * zeros:
        pruned[after.storage] = _Pruned(call, zeros)


def _mask(pruned: dict[int, _Pruned], of: int, call: Call, after: Value) -> None:
    """Note that a gradient is masked; a smaller mask lets weights learn again."""
    zeros = _zeros(after)
    if zeros is not None and zeros >= _STILL * pruned[of].zeros:
        pruned[of].masked = call
    else:
        del pruned[of]


def _lost(
    pruned: dict[int, _Pruned], call: Call, step: OptimizerCall
) -> Iterator[_Returned]:
    """Yield the parameters that a forward pass finds without their zeros."""
    for value in call.inputs:
        found, zeros = pruned.get(value.storage), _zeros(value)
        if found is None or found.masked is None or zeros is None:
            continue
        if step.index > found.masked.index and zeros < _LEFT * found.zeros:
            yield _Returned(pruned.pop(value.storage), value, step)


def _hit(history: History, site: RawSite | None, found: list[_Returned]) -> Hit:
    first, tensors = found[0], {each.value.tensor for each in found}
    by, masked = first.pruned.by, first.pruned.masked
    left = _zeros(first.value) or 0
    return Hit(
        f"`{code(history, by.site)}` in {history.line(by.site)} set elements of "
        f"{learning.listed(history, tensors)} to 0, {first.pruned.zeros:,} of the "
        f"first. {left or 'None'} of these zeros {learning.plural(left, 'is', 'are')} "
        "left after a step, although their gradient is masked: "
        f"{optimizer_words(history, first.step.optimizer)} moves them on with the "
        "momentum or the averages that it kept from before.",
        site,
        "Mask the weights again after each step, as "
        f"`{code(history, by.site)}` does, or mask what `optimizer.state` keeps of "
        "them when they are set to 0.",
        symptom=by.site,
        related=(
            Related("set to 0 here", by.site),
            Related("gradient masked here", masked.site if masked else None),
        ),
        tensors=tuple(sorted(tensors)),
        certainty=0.9,
    )
