"""A step scales the state that it keeps, under another name for it.

What it does
    Finds memory that a function updates, and then scales in place by a number under a
    name that was bound to it in between, or to what the update gave back: by
    ``update = exp_avg.add_(grad)`` or a helper that returns its state. A parameter is
    moved by the result, and the next turn goes on with what was scaled.

Why is this bad
    ``update = exp_avg`` is no copy. What is done to the update to make a step of it,
    the factor of the learning rate above all, is done to the momentum as well: it is
    multiplied by it in every step and never grows to what it should be.

Example
    ::

        exp_avg.mul_(beta).add_(grad, alpha=1 - beta)
        update = exp_avg
        update.mul_(lr)
        p.sub_(update)

Use instead
    ::

        update = exp_avg.clone()

When it stays quiet
    The state is scaled under its own name, or by what was computed from it (a norm);
    memory that is filled anew; what moves no parameter. What an update gave back may be
    the state on purpose: a factor is said to be an error where little is left by it.

References
    https://github.com/yangluo7/CAME/issues/2
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import ahead
from gradviz.dependence.nesting import turn
from gradviz.dependence.op_families import numbers_in, plain
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.leaves import value_followed_by
from gradviz.diagnosis.edits.writes import out_of_place, receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_SCALING = words("mul div imul idiv itruediv")
_CARRYING = _SCALING | words("add sub iadd isub lerp addcmul addcdiv")
_TURNS = 2
_FORGOTTEN = 0.5  # less of a state is left in each step: it carries nothing on


@dataclass(frozen=True, slots=True)
class _Alias:
    """A state that was updated under its name, then scaled under another."""

    line: int | None  # of the assignment; None: what the update gave back was named
    state: str
    name: str
    update: RawSite


@rule("GV633", "state-scaled-by-alias", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that gives a state such a name."""
    last: dict[int, Call] = {}  # by memory: who wrote it
    known: dict[tuple[RawSite, RawSite, RawSite], _Alias | None] = {}
    turns: dict[RawSite, list[Call]] = {}
    aliases: dict[RawSite, _Alias] = {}
    own = learning.by_memory(history).keys() | _gradients(history)
    for call in history.calls:
        for write in call.writes:
            before = last.get(write.storage)
            last[write.storage] = call
            if before is None or write.storage in own:
                continue
            if plain(call.op) not in _SCALING or len(call.inputs) > 1:
                continue
            update, two, came = before.site, call.site, _came(before, call)
            if update is None or two is None or came is None:
                continue
            if (update, came, two) not in known:
                known[update, came, two] = _alias(history, update, came, two)
            alias = known[update, came, two]
            if alias is None or (alias.line is None and not _forgets(call)):
                continue
            if _goes_on(history, call, write.storage):
                aliases[two] = alias
                turns.setdefault(two, []).append(call)
    for site, calls in turns.items():
        if len(calls) >= _TURNS:
            yield _hit(history, aliases[site], calls)


def _gradients(history: History) -> set[int]:
    """Return the memory of gradients: passes add to it, and no call does."""
    asked = (each for each in history.calls if each.op.startswith("grad."))
    return {v.storage for call in asked for v in (*call.inputs, *call.outputs)}


def _came(update: Call, scaled: Call) -> RawSite | None:
    """Return where the function that scales a state had it updated just before."""
    outer = len(update.frames) - len(scaled.frames)
    if outer < 0 or scaled.site is None or update.frames[outer + 1 :] != scaled.stack:
        return None
    found = update.frames[outer]
    return found if found[0] is scaled.site[0] and found != scaled.site else None


def _alias(
    history: History, update: RawSite, came: RawSite, scaled: RawSite
) -> _Alias | None:
    """Return the assignment by which what was updated got the name that is scaled."""
    state, name = receiver(history, update), receiver(history, scaled)
    function = history.places.function(came[0])
    if not name.isidentifier() or function is None:
        return None
    first, end = history.places.line(came), history.places.line(scaled)
    given_back = first < end and history.places.targets(came) == [name]
    if given_back and (state != name or update != came):
        return _Alias(None, state, name, update)
    if state == name or update != came:
        return None
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and first < each.lineno < end:
            targets = [ast.unparse(target) for target in each.targets]
            if name in targets and ast.unparse(each.value) == state:
                return _Alias(each.lineno, state, name, update)
    return None


def _forgets(call: Call) -> bool:
    """Tell whether a call leaves next to nothing of what it scales."""
    factors = [abs(each) for each in numbers_in(call) if each]
    if "div" in call.op:
        factors = [1 / each for each in factors]
    return bool(factors) and max(factors) < _FORGOTTEN


def _goes_on(history: History, call: Call, storage: int) -> bool:
    """Tell whether a parameter is moved by what was scaled, which is then carried on.

    Past the next pass: within a step, memory may be worked on.
    """
    following = [each for each, _ in history.writes(storage, after=call.index)][:1]
    if not following or plain(following[0].op) not in _CARRYING:
        return False
    end, owners = following[0].index, learning.by_memory(history)
    if turn(history, call.index) == turn(history, end):
        return False

    def is_before(_: Value, use: Call) -> bool:
        return use.index < end and not use.writes

    taken = (call.outputs or call.inputs)[:1]
    uses = (use for _, use in ahead(history, taken, is_before, call.index))
    moved = (each.storage for use in uses if use.index < end for each in use.writes)
    return not owners.keys().isdisjoint(moved)


def _hit(history: History, alias: _Alias, calls: list[Call]) -> Hit:
    call, line = calls[0], alias.line
    assert call.site is not None
    site = call.site if line is None else history.places.at_line(call.site[0], line)
    factors = numbers_in(call)
    done = "divided" if "div" in call.op else "multiplied"
    by = f" by {factors[0]:.4g}" if len(factors) == 1 else ""
    scales = f"{place(history, call.site)} scales it in place"
    if line is None:
        message = (
            f"`{alias.name}` is the state itself that {history.line(alias.update)} "
            f"updates, no copy of it. {scales}: in every step the state is {done}{by} "
            "as well, and next to nothing of it is carried on."
        )
        fix = f"Scale out of place: `{alias.name} = {alias.name} * …`."
    else:
        message = (
            f"`{alias.name} = {alias.state}` in line {line} gives one tensor a second "
            f"name and copies nothing. {scales}: `{alias.state}`, which the next step "
            f"goes on with, is {done}{by} in every step as well."
        )
        fix = f"Scale a copy: `{alias.name} = {alias.state}.clone()`."
    return Hit(
        message,
        site,
        fix,
        symptom=call.site,
        related=(
            *([] if line is None else [Related("scaled here", call.site)]),
            Related("updated here", alias.update),
        ),
        tensors=(call.inputs[0].tensor,),
        edit=out_of_place(site)
        if line is None
        else value_followed_by(site, ".clone()"),
        certainty=0.9,
    )
