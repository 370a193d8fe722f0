"""Models that were copied without their parameters, and serve as others."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations

from gradviz.dependence import learning
from gradviz.dependence.nesting import calls_in, next_pass
from gradviz.diagnosis.decisions.sites import assignments
from gradviz.program import History, Module, ModuleCall, RawSite


@dataclass(frozen=True, slots=True)
class Shallow:
    """A model, and a copy that has the same parameters, whose results are targets."""

    model: Module
    copy: Module
    used: ModuleCall  # without gradients, for a loss
    site: RawSite | None  # the line that copied it
    tensors: tuple[int, ...]


@learning.once
def shallow_copies(history: History) -> list[Shallow]:
    """Return the copies whose results a loss compares with those of their model."""
    wanted = learning.wanted(history) or set[int]()
    alike: dict[object, list[Module]] = defaultdict(list)
    for row in history.program.modules.values():
        if row.parameters or row.children:
            alike[_holds(row)].append(row)
    found: list[Shallow] = []
    for model, copy in (
        pair for rows in alike.values() for pair in permutations(rows, 2)
    ):
        if copy.site is not None:
            continue  # it was constructed, as copies are not
        tensors = learning.all_parameters(history, model)
        used = _as_target(history, copy) if tensors & wanted else None
        if used is not None:
            site = _copied_at(history, copy)
            found.append(Shallow(model, copy, used, site, tuple(tensors)))
    return found


def _holds(module: Module) -> object:
    """Return what is the same of a model and a shallow copy of it."""
    parts = module.parameters.items(), module.children.items()
    return module.kind, *map(frozenset, parts)


def _as_target(history: History, copy: Module) -> ModuleCall | None:
    """Return a call without gradients whose result the next pass came from."""
    for event in history.of(ModuleCall):
        if event.module != copy.key or event.left is None:
            continue
        if event.grad_enabled:
            return None
        root = next_pass(history, event.index)
        if root is None:
            return None
        inside = calls_in(history, event)
        made = {value.tensor for call in inside for value in call.outputs}
        return event if made & history.behind(root.roots, root.index) else None
    return None


def _copied_at(history: History, copy: Module) -> RawSite | None:
    """Return the line of ``copy.copy(…)``: the only one, or that of the copy's name."""
    found: dict[int, tuple[RawSite, list[str]]] = {}
    for code, each in assignments(history):
        if is_shallow(each.value):
            names = [*map(ast.unparse, each.targets)]
            site = history.places.at_line(code, each.lineno)
            found.setdefault(each.lineno, (site, names))
    last = copy.name.rpartition(".")[2]
    named = [
        site
        for site, names in found.values()
        if any(name.rpartition(".")[2] == last for name in names)
    ]
    sites = named or [site for site, _ in found.values()]
    return sites[0] if len(sites) == 1 else None


def is_shallow(value: ast.expr) -> bool:
    """Tell whether an expression copies a model without its parameters."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in (
        "copy.copy", "copy"
    )  # fmt: skip
