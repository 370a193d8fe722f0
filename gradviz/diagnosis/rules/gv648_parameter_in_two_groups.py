"""An optimizer is given one parameter in two groups.

What it does
    Explains why an optimizer refused its groups: of the ``params`` that its list says,
    one is a part of another, or the same once more.

Why is this bad
    A parameter has one learning rate. The error does not say which group repeats
    parameters, nor which ones.

Example
    ::

        torch.optim.Adam([
            {"params": net.head.parameters(), "lr": 1e-2},
            {"params": net.parameters()},
        ])

Use instead
    ::

        torch.optim.Adam([
            {"params": net.head.parameters(), "lr": 1e-2},
            {"params": net.body.parameters()},
        ])

When it stays quiet
    Groups that are computed, so that the program does not spell out what is in them.

References
    https://pytorch.org/docs/stable/optim.html#per-parameter-options
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from gradviz.diagnosis.decisions.choice import entry
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite


@rule("GV648", "parameter-in-two-groups", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the group that has the parameters of another in it."""
    raised = history.raised
    if raised is None or "more than one parameter group" not in raised.text:
        return
    groups = _groups(history, raised.site)
    for (place, group), (there, other) in permutations(enumerate(groups), 2):
        wide, narrow = _of(group), _of(other)
        again = wide == narrow and place > there
        if again or narrow.startswith(f"{wide}."):
            yield _hit(history, raised.site, group, other)
            return


def _groups(history: History, site: RawSite | None) -> list[ast.Dict]:
    """Return the dicts with ``params`` that an optimizer's call says, or its list."""
    statement = history.places.statement(site)
    if statement is None:
        return []
    found, names = _dicts(statement), {*names_in(statement)}
    for each in () if found else history.places.in_file(site):
        if isinstance(each, ast.Assign) and names & set(map(ast.unparse, each.targets)):
            found += _dicts(each)
    return found


def _dicts(node: ast.stmt) -> list[ast.Dict]:
    return [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Dict) and entry(each, "params") is not None
    ]


def _of(group: ast.Dict) -> str:
    """Return whose parameters a group has: "net.head" of ``net.head.parameters()``."""
    params = entry(group, "params")
    if isinstance(params, ast.Call) and ast.unparse(params.func) == "list":
        params = params.args[0] if params.args else params
    return ast.unparse(params).removesuffix(".parameters()") if params else ""


def _hit(
    history: History, site: RawSite | None, group: ast.Dict, other: ast.Dict
) -> Hit:
    code = None if site is None else site[0]
    there = None if code is None else history.places.at_line(code, other.lineno)
    same = _of(group) == _of(other)
    return Hit(
        f"`{_of(group)}` (line {group.lineno}) "
        + ("is given" if same else f"has the parameters of `{_of(other)}` in it, given")
        + f" in line {other.lineno}{' already' if same else ' as well'}: the optimizer "
        f"in {history.line(site)} refuses a parameter that is in two groups.",
        site,
        "Give each group what no other has, such as the other parts of the model one "
        "by one.",
        symptom=site,
        related=(Related("given here, too", there),),
        explains=True,
        line=group.lineno,
    )
