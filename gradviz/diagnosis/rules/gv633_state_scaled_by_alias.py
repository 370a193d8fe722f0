"""A step scales the state that it keeps, under another name for it.

What it does
    Finds memory that a function updates, and then scales in place by a number under a
    name that was bound to it in between. A parameter is moved by the result, and the
    next turn goes on with what was scaled.

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
    memory that is filled anew; what moves no parameter.

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
from gradviz.diagnosis.edits.writes import receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_SCALING = words("mul div imul idiv itruediv")
_CARRYING = _SCALING | words("add sub iadd isub lerp addcmul addcdiv")
_TURNS = 2


@dataclass(frozen=True, slots=True)
class _Alias:
    """A state that was updated under its name, then scaled under another."""

    line: int
    state: str
    name: str
    update: RawSite


@rule("GV633", "state-scaled-by-alias", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that gives a state such a name."""
    last: dict[int, Call] = {}  # by memory: who wrote it
    known: dict[tuple[RawSite, RawSite], _Alias | None] = {}
    turns: dict[RawSite, list[Call]] = {}
    aliases: dict[RawSite, _Alias] = {}
    own = learning.by_memory(history).keys() | _gradients(history)
    for call in history.calls:
        for write in call.writes:
            before = last.get(write.storage)
            last[write.storage] = call
            one, two = before and before.site, call.site
            if before is None or one is None or two is None or write.storage in own:
                continue
            if one[0] is not two[0] or before.stack != call.stack or one == two:
                continue
            if plain(call.op) not in _SCALING or len(call.inputs) > 1:
                continue
            if (one, two) not in known:
                known[one, two] = _alias(history, one, two)
            alias = known[one, two]
            if alias is not None and _goes_on(history, call, write.storage):
                aliases[two] = alias
                turns.setdefault(two, []).append(call)
    for site, calls in turns.items():
        if len(calls) >= _TURNS:
            yield _hit(history, aliases[site], calls)


def _gradients(history: History) -> set[int]:
    """Return the memory of gradients: passes add to it, and no call does."""
    asked = (each for each in history.calls if each.op.startswith("grad."))
    return {v.storage for call in asked for v in (*call.inputs, *call.outputs)}


def _alias(history: History, update: RawSite, scaled: RawSite) -> _Alias | None:
    """Return the assignment by which what was updated got the name that is scaled."""
    state, name = receiver(history, update), receiver(history, scaled)
    function = history.places.function(update[0])
    first, end = history.places.line(update), history.places.line(scaled)
    if state == name or not name.isidentifier() or function is None:
        return None
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and first < each.lineno < end:
            targets = [ast.unparse(target) for target in each.targets]
            if name in targets and ast.unparse(each.value) == state:
                return _Alias(each.lineno, state, name, update)
    return None


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
    call = calls[0]
    assert call.site is not None
    site = history.places.at_line(call.site[0], alias.line)
    factors, done = numbers_in(call), "multiplied"
    if "div" in call.op:
        done = "divided"
    by = f" by {factors[0]:.4g}" if len(factors) == 1 else ""
    return Hit(
        f"`{alias.name} = {alias.state}` in line {alias.line} gives one tensor a "
        f"second name and copies nothing. {place(history, call.site)} scales it in "
        f"place: `{alias.state}`, which the next step goes on with, is {done}{by} in "
        "every step as well.",
        site,
        f"Scale a copy: `{alias.name} = {alias.state}.clone()`.",
        symptom=call.site,
        related=(
            Related("scaled here", call.site),
            Related("updated here", alias.update),
        ),
        tensors=(call.inputs[0].tensor,),
        edit=value_followed_by(site, ".clone()"),
        certainty=0.9,
    )
