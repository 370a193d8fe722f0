"""Models that a line makes anew for each pass, beside an optimizer of another."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.nesting import turn
from gradviz.diagnosis.decisions.frames import last_name, spot
from gradviz.diagnosis.decisions.order import parting
from gradviz.diagnosis.decisions.sites import site_at
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.program import History, Module, Optimizer, RawSite

LEAST = 3  # models of one line


@dataclass(frozen=True, slots=True)
class MadeAnew:
    """The models of one line, each of which one pass alone gave gradients to."""

    first: Module
    optimizer: Optimizer  # of another model of that line, which no pass reached
    count: int
    tensors: tuple[int, ...]


@learning.once
def made_anew(history: History) -> list[MadeAnew]:
    """Return the models that lines make anew beside their optimizers."""
    passes = Counter(leaf for each in history.backwards for leaf in each.leaves)
    stepped, born = learning.steps_of(history), learning.births(history)
    owners = {  # of the first model nothing may be left but its parameters
        learning.created_at(history, tensor): optimizer
        for key, optimizer in history.program.optimizers.items()
        for tensor in optimizer.tensors
        if key in stepped and not any(passes[each] for each in optimizer.tensors)
    }
    lines: dict[RawSite | None, list[tuple[int, int, Module, Optimizer]]]
    lines = defaultdict(list)
    for tensor in sorted(unstepped(history) - learning.copies(history)):
        whole = _whole(history, tensor) if passes[tensor] == 1 else None
        owner = owners.get(learning.created_at(history, tensor))
        if whole is not None and owner is not None and tensor in born:
            number = turn(history, born[tensor].index)
            lines[whole.site].append((number, tensor, whole, owner))
    return [
        MadeAnew(*rows[0][2:], count, tuple(row[1] for row in rows))
        for rows in lines.values()
        if (count := len({row[0] for row in rows})) >= LEAST
    ]


def _whole(history: History, tensor: int) -> Module | None:
    """Return the outermost module that holds a parameter, where its line is known."""
    whole = [None, *learning.around(history, tensor)][-1]
    return whole if whole is not None and whole.site is not None else None


def asked_at(history: History, anew: MadeAnew) -> tuple[RawSite | None, bool]:
    """Return the line that makes models anew, and whether that is a property.

    The property itself; of a helper, the line that calls it for each pass, and not for
    the optimizer.
    """
    site, made = anew.first.site, history.at(anew.optimizer.made)
    where = spot(history, site)
    scope = where.scope if where is not None else None
    for each in scope.decorator_list if isinstance(scope, ast.FunctionDef) else ():
        if last_name(each) == "property":
            return site_at(history, site, each.lineno), True
    own = () if site is None else (site, *anew.first.stack)
    parted = None if made is None else parting(own, made.frames)
    return site if parted is None else parted[0], False
