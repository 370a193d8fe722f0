"""The weight of a term is 0 in every pass, because a number was cut to a whole one.

What it does
    Finds terms of a loss whose weight is 0 in all passes of their line, where the
    expression that the weight comes from divides with ``//``, or cuts with ``int()``
    or ``round()``.

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

from gradviz.dependence.op_families import numbers_in, plain
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.decisions.choice import choice
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
            yield _hit(history, product, found)


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


def _cut(history: History, product: Call) -> Spot | None:
    """Return the expression that cut the number which a call multiplied with."""
    where = spot(history, product.site, product.stack)
    node = None if where is None else where.node
    if where is None or not isinstance(node, ast.BinOp):
        return None
    for each in (node.left, node.right):
        chosen = choice(where.at(each))
        for part in ast.walk(chosen.node):
            divides = isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
            cuts = isinstance(part, ast.Call) and last_name(part.func) in _CUTTING
            if divides or cuts:
                return chosen.at(part)
    return None


def _hit(history: History, product: Call, found: Spot) -> Hit:
    text = " ".join(found.source.of(found.node).split())
    site = site_of(history, found)
    return Hit(
        f"{history.quoted(product.site)} multiplies with 0 in all passes, so this term "
        f"of the loss changes nothing: `{text}` (line {found.line}) gives a whole "
        "number, and that is 0.",
        site,
        "Divide with `/`, and do not cut the number.",
        symptom=product.site,
        related=(Related("weighed here", product.site),),
        tensors=tuple(each.tensor for each in product.inputs),
        edit=divided_exactly(site),
        certainty=0.85,
    )
