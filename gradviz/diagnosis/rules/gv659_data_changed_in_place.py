"""Data is changed in place, and read again in the next epoch, changed.

What it does
    Finds in-place arithmetic on a view of data that a model is fed with, where the same
    elements come by again after a backward pass, and are changed once more.

Why is this bad
    A slice, a row or ``x[i]`` is a view: scaling or noise goes into the data set
    itself. It adds up from epoch to epoch until nothing of the data is left. Nothing
    fails.

Example
    ::

        for epoch in range(10):
            for batch in data.split(32):
                batch += 0.1 * torch.randn(batch.shape)

Use instead
    ::

        batch = batch + 0.1 * torch.randn(batch.shape)

When it stays quiet
    Memory that is filled anew in between, what learns or follows from what learns, and
    states of one's own: averages, noise and counters that go on.

References
    https://pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.nesting import turn
from gradviz.dependence.op_families import CONSTANTS, LAYERS, RECURRENT, plain
from gradviz.diagnosis._rewrites import out_of_place as rewritten
from gradviz.diagnosis._words import variable
from gradviz.diagnosis.edits.writes import out_of_place, receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_ADDING = words("add sub iadd isub subtract addcmul addcdiv lerp")
_CHANGING = _ADDING | words(
    "mul div imul idiv itruediv true_divide divide multiply pow ipow exp log log1p "
    "sqrt neg square reciprocal floor_divide"
)
_LAYERS = LAYERS | RECURRENT | {"matmul"}
_NORMS = words("batch_norm instance_norm")
"""What takes running statistics beside its data."""

_LONG = 60  # characters of a line in a fix
_MOST = 4  # writes of a line that are looked into


_Line: TypeAlias = dict[tuple[object, ...], list[Call]]
"""The changes of a line by the elements: the first, and one behind a later pass."""


@rule("GV659", "data-changed-in-place", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that changes data again and again."""
    if len(history.backwards) < 2:
        return
    lines: dict[RawSite, _Line] = {}
    renewed = set(learning.by_memory(history))  # a weight's `.data` is no data
    for call in history.calls:
        for write in call.writes:
            value = write.value
            if plain(call.op) in ("setitem", "copy") and _is_itself(call):
                continue  # ``x[i] += 1`` puts the view back
            changes = plain(call.op) in _CHANGING and call.site is not None
            if not changes or value.requires_grad or value.is_parameter:
                renewed.add(write.storage)
            elif call.site is not None and "float" in value.dtype:
                _note(history, lines.setdefault(call.site, {}), call, value)
    for line in lines.values():
        found = _found(history, line, renewed)
        if found is not None:
            yield _hit(history, found)


def _is_itself(call: Call) -> bool:
    """Tell whether a call writes memory with what it holds already."""
    return len({each.storage for each in call.inputs}) == 1 < len(call.inputs)


def _note(history: History, line: _Line, call: Call, value: Value) -> None:
    """Remember which elements a call changes, and when that was a second time."""
    region = value.storage, value.offset, tuple(value.shape), tuple(value.strides)
    calls = line.setdefault(region, [call])
    later = turn(history, calls[0].index) < turn(history, call.index)
    calls += [call] if later and len(calls) < 2 else []


def _found(history: History, line: _Line, renewed: set[int]) -> Call | None:
    """Return the first change of elements that come by again."""
    fed = history.once(_fed)
    repeated = [calls for calls in line.values() if len(calls) > 1]
    several, tried = len(repeated) > 1, 0
    for first, again in repeated:
        value = first.writes[0].value
        storage = first.writes[0].storage
        if storage in renewed or storage not in fed or tried >= _MOST:
            continue
        tried += 1
        if not several and not _is_one_batch(history, first, value):
            continue
        if _is_state(history, first, value):
            continue
        if not _learns(history, first) and not _learns(history, again):
            return first
    return None


def _is_state(history: History, call: Call, value: Value) -> bool:
    """Tell whether a tensor of its own began as a constant: a state that goes on.

    It may have, where nobody saw it made: in a step that was told in brief.
    """
    maker = history.producer(value, before=call.index)
    if maker is not None:
        return plain(maker.op) in CONSTANTS
    before = [each for each in history.backwards if each.index < call.index]
    whole = history.is_whole(0, call.index) and all(each.whole for each in before)
    return not whole


def _is_one_batch(history: History, call: Call, value: Value) -> bool:
    """Tell whether a whole tensor is data, as opposed to a state that goes on.

    It is fed to a layer as it is, was given, and is changed by constants alone.
    """
    if plain(call.op) in _ADDING and len(call.inputs) > 1:
        return False
    maker = history.producer(value, before=call.index)
    if maker is None or prod(value.shape) < 2:
        return False
    uses = history.uses(value.tensor)
    return any(plain(each.op) in _LAYERS for each in uses) and len(value.shape) > 1


def _learns(history: History, call: Call) -> bool:
    """Tell whether a change, or what is changed, follows from what learns.

    Also from a weight under another name, as of a `state_dict()`.
    """
    weights = learning.by_memory(history)
    if any(each.storage in weights for each in call.inputs):
        return True
    behind = history.behind(call.inputs, before=call.index)
    return not behind.isdisjoint(history.once(_learning))


def _learning(history: History) -> set[int]:
    """Return the tensors that require grad, and gradients."""
    found = set[int]()
    for call in history.calls:
        found.update([each.tensor for each in call.outputs if each.requires_grad])
        found.update([each.tensor for each in call.inputs if each.requires_grad])
        if call.op == "grad.get":
            found.update([each.tensor for each in call.outputs])
    for event in history.backwards:
        found.update([each.tensor for each in event.results if each is not None])
    return found


def _fed(history: History) -> set[int]:
    """Return the memory that something with a graph was computed from."""
    found = set[int]()
    for call in reversed(history.calls):
        if call.writes and not call.outputs:
            continue
        if any(e.requires_grad or e.storage in found for e in call.outputs):
            data = call.inputs[:1] if plain(call.op) in _NORMS else call.inputs
            found.update([each.storage for each in data])
    return found


def _hit(history: History, first: Call) -> Hit:
    value = first.writes[0].value
    name = variable(history, value) or receiver(history, first.site)
    base = history.producer(value, before=first.index)
    source = (
        base.inputs[0] if base is not None and value.is_view and base.inputs else None
    )
    of = history.name(source, "") if source is not None else ""
    what = f"`{name}`" if name else "a tensor that comes by again"
    new = rewritten(history, first.site)
    view = f"It is a view of {of}, so this" if of and of != what else "This"
    return Hit(
        f"`{history.text(first.site)}` changes {what} in place. {view} "
        "writes into the data itself: after the next backward pass the same elements "
        "come by again, and are changed once more, from epoch to epoch.",
        first.site,
        f"Make a new tensor: `{new}`."
        if new and len(new) <= _LONG
        else "Change a copy of it, a `.clone()`, and leave the data as it is.",
        symptom=first.site,
        related=(Related("view made here", base.site if base else None),),
        tensors=(value.tensor,),
        edit=out_of_place(first.site),
        certainty=0.8,
    )
