"""Parameters were frozen, and switched back on with all others before any use.

What it does
    Finds parameters whose ``requires_grad`` one line switches off and a later line on
    again, together with others that required a gradient anyway, before anything was
    computed with them, and that an optimizer then trains.

Why is this bad
    The freezing has no effect: what was to stay as it is learns with the rest, as the
    model below adapters that were to be the only new part. The loss falls all the same.

Example
    ::

        net.requires_grad_(False)
        add_adapters(net)
        net.requires_grad_(True)

Use instead
    ::

        net.requires_grad_(False)
        add_adapters(net)

When it stays quiet
    Anything was computed with the parameters while they were frozen; some of them stay
    frozen; a part is switched on by itself; the line is in an ``if``, so that the
    program chose it.

References
    https://pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradviz.dependence import learning
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.statements import left_out
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import first_difference
from gradviz.program import (
    SWITCHES,
    Backward,
    Call,
    Event,
    History,
    ModuleCall,
    OptimizerCall,
    RawSite,
)
from gradviz.text.words import counted

_LEAST = 2  # steps that train what was frozen


@rule("GV695", "freezing-undone", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that switches everything on again."""
    told = set[RawSite | None]()
    for off, on in _undone(history):
        site = first_difference(on.first, off.first)
        steps = list(_training(history, off, on))
        if site in told or len(steps) < _LEAST or _is_chosen(history, off, on):
            continue
        told.add(site)
        yield _hit(history, off, on, site, steps[0])


def _hit(
    history: History,
    off: _Switch,
    on: _Switch,
    site: RawSite | None,
    step: OptimizerCall,
) -> Hit:
    frozen = first_difference(off.first, on.first)
    amount = counted(len(off.frozen), "parameter")
    return Hit(
        f"{place(history, frozen)} froze {amount}, and {place(history, site)} switches "
        "all parameters on again before anything was computed: the freezing has no "
        f"effect, and {history.line(step.site)} trains what was to stay as it is.",
        site,
        "Leave this line out: new parameters require a gradient by themselves, and "
        "others can be switched on by name.",
        symptom=step.site,
        related=(Related("frozen here", frozen),),
        tensors=tuple(sorted(off.frozen)),
        certainty=0.8,
        edit=left_out(site),
    )


@dataclass(slots=True, eq=False)
class _Switch:
    """The calls of a line that set ``requires_grad`` of parameters, in one go."""

    first: Call
    frozen: set[int] = field(default_factory=set[int])
    already: set[int] = field(default_factory=set[int])  # on before it set them so
    used: bool = False  # something was computed with what it froze
    undone: dict[int, _Switch] = field(default_factory=dict[int, "_Switch"])


class _Switches:
    """Follows who froze which parameters, until they are used or switched on."""

    def __init__(self) -> None:
        self.all: list[_Switch] = []
        self._by = dict[int, _Switch]()  # of parameters that are frozen, and unused
        self._now = dict[tuple[RawSite, ...], _Switch]()

    def note(self, event: Event) -> None:
        if isinstance(event, Backward | ModuleCall):
            self._now.clear()  # the same line would be another time
        elif isinstance(event, Call):
            if event.op in SWITCHES and event.inputs and event.outputs:
                self._switch(event)
            elif event.outputs:  # else it only asked
                self._use(event)

    def _switch(self, call: Call) -> None:
        before, after = call.inputs[0], call.outputs[0]
        key = before.tensor
        if call.frames not in self._now:
            self._now[call.frames] = _Switch(call)
            self.all.append(self._now[call.frames])
        row = self._now[call.frames]
        if before.requires_grad and not after.requires_grad:
            row.frozen.add(key)
            self._by[key] = row
        elif after.requires_grad and before.requires_grad:
            row.already.add(key)
        elif after.requires_grad and key in self._by:
            self._by.pop(key).undone[key] = row

    def _use(self, call: Call) -> None:
        written = {write.storage for write in call.writes}
        for value in call.inputs:
            if value.tensor in self._by and value.storage not in written:
                self._by.pop(value.tensor).used = True


def _undone(history: History) -> Iterator[tuple[_Switch, _Switch]]:
    """Yield what froze parameters in vain, with what thawed the last of them."""
    switches = _Switches()
    for event in history.events:
        switches.note(event)
    for off in switches.all:
        if off.used or not off.frozen or off.frozen != off.undone.keys():
            continue
        last = max(off.undone.values(), key=lambda each: each.first.index)
        if last.already and "requires_grad" in history.text(off.first.site):
            yield off, last


def _training(history: History, off: _Switch, on: _Switch) -> Iterator[OptimizerCall]:
    """Yield the steps that train what a line has thawed."""
    thawed = {key for key, by in off.undone.items() if by is on}
    for step in learning.steps(history):
        learns = (e.tensor for e in step.states if e.has_grad and e.requires_grad)
        if step.index > on.first.index and not thawed.isdisjoint(learns):
            yield step


def _is_chosen(history: History, off: _Switch, on: _Switch) -> bool:
    """Tell whether a condition led to the line that thaws, and not to the other."""
    shared = {node for site in off.first.frames for node in _branches(history, site)}
    chosen = (node for site in on.first.frames for node in _branches(history, site))
    return any(node not in shared for node in chosen)


def _branches(history: History, site: RawSite) -> Iterator[ast.AST]:
    branches = ast.If | ast.Match
    return (each for each in history.places.around(site) if isinstance(each, branches))
