"""Values with a graph that a custom Function uses, and ``apply`` was not given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.cuts import is_dead
from gradviz.dependence.flow import INDEPENDENT, Flow, name_of, words
from gradviz.dependence.nesting import within
from gradviz.diagnosis.rules._gradients import is_failed
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.program import Backward, Call, History, Value

_NO_VALUES = INDEPENDENT | words(
    "new_tensor type_as view_as expand_as reshape_as numel dim"
)
_CONSTANT = words("detach data.get")  # says that no gradient is meant


@dataclass(frozen=True, slots=True)
class Unseen:
    """One ``apply``, and the leaves that its forward gets by another way."""

    apply: Call
    uses: tuple[Call, ...]  # in forward, the first of each value
    values: tuple[Value, ...]  # that forward gets by another way
    lost: tuple[int, ...]  # the leaves among or behind them
    backward: Backward  # a pass that went through the Function


@learning.once
def unseen_inputs(history: History) -> list[Unseen]:
    """Return, for each Function, the first call that hides what never learns."""
    names = {each.name for each in history.program.functions}
    applied = [
        call
        for call in history.calls
        if call.op in names and call.grad_enabled and call.within is None
    ]
    through = _passes(history, {key for each in applied for key in each.nodes})
    dead = _dead(history) if applied else {}
    found: dict[str, Unseen] = {}
    for apply in applied:
        calls = within(history).get(apply.index, [])
        if apply.op in found or not calls:
            continue
        keys = [value.tensor for value in apply.outputs if not value.requires_grad]
        passes = [through[key] for key in apply.nodes if key in through]
        passes += [dead[key] for key in keys if key in dead]
        hidden = list(_hidden(history, apply, calls, passes[0])) if passes else []
        if hidden:
            uses = {each.index: each for _, each, _ in hidden}
            lost = dict.fromkeys(leaf for *_, leaves in hidden for leaf in leaves)
            values = tuple(value for value, *_ in hidden)
            found[apply.op] = Unseen(
                apply, tuple(uses.values()), values, tuple(lost), passes[0]
            )
    return list(found.values())


def _passes(history: History, wanted: set[int]) -> dict[int, Backward]:
    """Return the first pass through each node that was to fill ``.grad``."""
    found: dict[int, Backward] = {}
    for event in history.backwards if wanted else ():
        if event.api == "backward" and not event.inputs and not is_failed(event):
            for key in event.nodes or [run.node for run in event.runs]:
                if key in wanted:
                    found.setdefault(key, event)
    return found


def _dead(history: History) -> dict[int, Backward]:
    """Return the tensors behind the root of a pass that raised for want of a graph."""
    return {
        key: event
        for event in history.backwards
        if is_failed(event) and is_dead(event)
        for key in history.behind(event.roots, event.index)
    }


def _hidden(
    history: History, apply: Call, calls: list[Call], backward: Backward
) -> Iterator[tuple[Value, Call, set[int]]]:
    """Yield what reaches the result of a forward, its use, and the leaves behind it.

    A leaf, or a result that was computed before.
    """
    given = {value.storage for value in apply.inputs}
    own = {value.tensor for call in calls for value in call.outputs}
    behind: set[int] | None = None
    met = set[int]()
    for call in calls:
        if name_of(call) in _NO_VALUES or call.op in _CONSTANT:
            continue
        for value in call.inputs:
            if not value.requires_grad or value.storage in given:
                continue
            if value.tensor in met or value.tensor in own:
                continue
            met.add(value.tensor)
            leaves = _leaves(history, value, apply)
            if not _never_learn(history, leaves, backward):
                continue
            if behind is None:
                behind = _inside_behind(apply, calls)
            if behind & {each.tensor for each in call.outputs}:
                yield value, call, leaves
            else:
                met.discard(value.tensor)


def _leaves(history: History, value: Value, apply: Call) -> set[int]:
    if value.is_leaf:
        return {value.tensor}
    return history.once(Flow).leaves(value, apply.index)


def _inside_behind(apply: Call, calls: list[Call]) -> set[int]:
    """Return the tensors that the results were computed from, inside forward."""
    behind = {value.tensor for value in apply.outputs}
    for call in reversed(calls):
        results = {value.tensor for value in call.outputs}
        results |= {write.value.tensor for write in call.writes}
        if behind & results and name_of(call) not in _NO_VALUES:
            behind |= results | {value.tensor for value in call.inputs}
    return behind


def _never_learn(history: History, leaves: set[int], backward: Backward) -> bool:
    """Return whether nothing gives leaves a gradient or changes them otherwise."""
    if not leaves.isdisjoint(learning.given_gradients(history)):
        return False
    if not leaves or not leaves.isdisjoint(learning.copies(history)):
        return False
    if is_failed(backward):
        return True
    trains = learning.starved if history.program.optimizers else read_gradients
    if not leaves <= trains(history):
        return False  # the gradient of an input may be all that is wanted
    last, kept_up = learning.last_seen(history), learning.kept_up(history)
    seen = [last[key] for key in leaves if key in last]
    return all(each.requires_grad and each.storage not in kept_up for each in seen)
