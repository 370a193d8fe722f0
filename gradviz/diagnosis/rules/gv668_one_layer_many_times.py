"""A list is multiplied, and holds one layer many times instead of many layers.

What it does
    Finds ``[nn.Linear(8, 8)] * 3`` whose layer has parameters and runs several times in
    one forward pass; also where a helper makes the layer, ``[make()] * 3``.

Why is this bad
    ``*`` repeats references. All places of the list are one layer with one set of
    weights: the model is as wide as it looks and has a third of its parameters.

Example
    ::

        self.layers = nn.ModuleList([nn.Linear(8, 8)] * 3)

Use instead
    ::

        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

When it stays quiet
    Layers without parameters, a layer that is called in a loop by its own name, and one
    that was given a name before it was repeated.

References
    https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.bindings import returned
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import Function, Spot, levels, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.calls import listed_anew, multiplied
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, Module, ModuleCall, RawSite


@rule("GV668", "one-layer-many-times", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per layer that a list holds several times."""
    told = set[ast.AST]()
    runs = Counter[tuple[int | None, int]]()
    for call in history.of(ModuleCall):
        runs[call.parent, call.module] += 1
    most = Counter[int]()
    for (_, module), count in runs.items():
        most[module] = max(most[module], count)
    for key, module in history.program.modules.items():
        if most[key] < 2 or not learning.all_parameters(history, module):
            continue
        entry, listed = _repeated(history, module) or (None, None)
        if listed is not None and listed not in told:
            told.add(listed)
            yield _hit(history, module, most[key], entry, listed)


def _repeated(
    history: History, module: Module
) -> tuple[RawSite | None, ast.List] | None:
    """Return the entry that a layer was made for, and the multiplied list it is in.

    A helper that returns the layer was called for the entry: ``[make()] * 3``.
    """
    where = spot(history, module.site, module.stack)
    for level in () if where is None else levels(where):
        for each in level.source.around(level.node):
            entries, _ = multiplied(each) or (ast.List([]), None)
            if level.node in entries.elts:
                return site_of(history, level), entries
        if not _is_returned(level):
            return None
    return None


def _is_returned(where: Spot) -> bool:
    """Tell whether a function returns what an expression of it gave."""
    function = where.scope
    given = returned(function) if isinstance(function, Function) else []
    return any(
        where.node is step.node for each in given for step in path(where.at(each))
    )


def _hit(
    history: History,
    module: Module,
    count: int,
    site: RawSite | None,
    listed: ast.List,
) -> Hit:
    code, again = history.text(site), f"for _ in range({count})"
    if len(listed.elts) > 1:
        again += f" for each in ({', '.join(map(ast.unparse, listed.elts))})"
    return Hit(
        f"`{code}` makes one {module.kind}, and the list holds it several times: it "
        f"runs {count} times in one pass, each time with the same weights.",
        site,
        f"Make each anew: `[{code if len(listed.elts) == 1 else 'each'} {again}]`.",
        edit=listed_anew(site),
        certainty=0.8,
    )
