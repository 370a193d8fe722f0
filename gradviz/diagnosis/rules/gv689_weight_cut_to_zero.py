"""The weight of a term is 0 in every pass: a number was cut, or has another name.

What it does
    Finds terms of a loss whose weight is 0 in all passes of their line, where the
    expression that the weight comes from divides with ``//``, or cuts with ``int()``
    or ``round()``; where it is the default of ``weights.get(name, 0.0)``, and the table
    has a weight under a similar name that no term has.

Why is this bad
    The term is computed and printed, and teaches nothing. A weight that is to grow from
    0 to 1, ``step // total``, is 0 until the last step.

Example
    ::

        beta = step // total_steps
        loss = reconstruction + beta * divergence

Use instead
    ::

        beta = step / total_steps
        loss = reconstruction + beta * divergence

When it stays quiet
    Where a 0 is written or configured, which switches a term off; where the weight is
    another number in some pass.

References
    https://docs.python.org/3/reference/expressions.html#binary-arithmetic-operations
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from gradviz.dependence.op_families import numbers_in, plain
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.decisions.bindings import of_name
from gradviz.diagnosis.decisions.choice import choice, path
from gradviz.diagnosis.decisions.frames import Spot, last_name, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.numbers import divided_exactly
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._terms import in_all_passes
from gradviz.program import Call, History, RawSite

_CUTTING = ("int", "round", "floor", "trunc")
_FAR = 16  # calls from where a term begins back to the product


@rule("GV689", "weight-cut-to-zero", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per term that is weighed so."""
    told = set[RawSite | None]()
    for _, term in in_all_passes(history, _is_off):
        product = _product(history, term)
        if product is None or product.site in told:
            continue
        told.add(product.site)
        found = _cut(history, product)
        if found is not None:
            yield _of_cut(history, product, found)
        elif (missed := _missed(history, product)) is not None:
            yield _of_missed(history, product, *missed)


def _is_off(account: Account, term: Term) -> bool:
    del account
    return term.weight == 0 and term.has_graph


def _product(history: History, term: Term) -> Call | None:
    """Return the call that multiplied a term with 0."""
    value = term.value
    for _ in range(_FAR):
        if value is None:
            return None
        following = None
        for use in history.uses(value.tensor):
            if plain(use.op) in ("mul", "rmul") and numbers_in(use) == [0]:
                return use
            following = following or next(iter(use.outputs), None)
        if following is None:
            break
        value = following
    return None


def _sides(history: History, product: Call) -> list[Spot]:
    """Return the two expressions that a product is spelt with."""
    where = spot(history, product.site, product.stack)
    node = None if where is None else where.node
    if where is None or not isinstance(node, ast.BinOp):
        return []
    return [where.at(node.left), where.at(node.right)]


def _cut(history: History, product: Call) -> Spot | None:
    """Return the expression that cut the number which a call multiplied with."""
    for chosen in map(choice, _sides(history, product)):
        for part in ast.walk(chosen.node):
            divides = isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
            cuts = isinstance(part, ast.Call) and last_name(part.func) in _CUTTING
            if divides or cuts:
                return chosen.at(part)
    return None


def _missed(history: History, product: Call) -> tuple[str, Spot] | None:
    """Return the name that a table has no weight for, and its key that nobody uses.

    ``sum(weights.get(name, 0.0) * term for name, term in terms.items())``
    """
    for step in (each for side in _sides(history, product) for each in path(side)):
        match step.node:
            case ast.Call(ast.Attribute(holder, "get"), [ast.Name() as key, *_]):
                table, asked = choice(step.at(holder)), _walked(step.at(key))
            case _:
                continue
        has = _keys(table.node)
        nodes = ast.walk(table.source.tree)
        texts = [each.value for each in nodes if isinstance(each, ast.Constant)]
        idle = [each for each in has if texts.count(each) == 1]
        for name in (each for each in asked if each not in has):
            for other in get_close_matches(name, idle, 1):
                return name, table.at(has[other])
    return None


def _walked(key: Spot) -> dict[str, ast.expr]:
    """Return the keys of the table that a loop walks, of a variable of the loop."""
    bound = of_name(key)
    match None if bound is None else bound.node:
        case ast.Call(ast.Attribute(holder, "items" | "keys"), []):
            return _keys(choice(key.at(holder)).node)
        case _:
            return {}


def _keys(table: ast.AST) -> dict[str, ast.expr]:
    keys = table.keys if isinstance(table, ast.Dict) else []
    texts = (each for each in keys if isinstance(each, ast.Constant))
    return {each.value: each for each in texts if isinstance(each.value, str)}


def _of_cut(history: History, product: Call, found: Spot) -> Hit:
    why = f"{_said(found)} gives a whole number, and that is 0."
    hit = _hit(
        history, product, found, why, "Divide with `/`, and do not cut the number."
    )
    return replace(hit, edit=divided_exactly(hit.culprit))


def _of_missed(history: History, product: Call, name: str, other: Spot) -> Hit:
    why = f"the table of weights has none for `{name!r}`, but one for {_said(other)}, "
    why += "which no term is called."
    fix = "Call both the same, and ask for a weight by `weights[name]`, which says "
    fix += "where there is none."
    return replace(_hit(history, product, other, why, fix), line=other.line)


def _said(found: Spot) -> str:
    return f"`{' '.join(found.source.of(found.node).split())}` (line {found.line})"


def _hit(history: History, product: Call, found: Spot, why: str, fix: str) -> Hit:
    return Hit(
        f"{history.quoted(product.site)} multiplies with 0 in all passes, so this term "
        f"of the loss changes nothing: {why}",
        site_of(history, found),
        fix,
        symptom=product.site,
        related=(Related("weighed here", product.site),),
        tensors=tuple(each.tensor for each in product.inputs),
        certainty=0.85,
    )
