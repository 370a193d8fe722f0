"""Gradients are to add up over N passes, and a step follows on all but each N-th.

What it does
    Finds optimizers whose steps follow on one pass each, but regularly on two, where
    the condition of the step is what is left of a division: ``if batch % N:``. It may
    stand in a property or a function, around the call of what steps, or before a
    ``continue``.

Why is this bad
    ``batch % N`` is 0, and so false, for each N-th batch, and true for all others. The
    step is taken where it was to wait, and left out where it was to be taken.

Example
    ::

        if (batch + 1) % 4:
            optimizer.step()
            optimizer.zero_grad()

Use instead
    ::

        if (batch + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

When it stays quiet
    Where the steps of a run do not follow on one pass, one pass, ..., two passes.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.conditions import Condition, conditions
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.training import compared_with_zero
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import is_failed
from gradviz.program import Backward, History, OptimizerCall

_LEAST = 2  # steps that were left out
_MODULE = 0  # instead of an optimizer: ``Module.zero_grad()``


@rule("GV688", "condition-turned-round", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per condition that leaves out each N-th step."""
    for key, taken in learning.steps_of(history).items():
        if key not in history.program.optimizers:
            continue
        every = _left_out(_passes_before(history, key, taken))
        where = spot(history, taken[0].site, taken[0].stack) if every else None
        condition = None if where is None else _remainder(where)
        if every and condition is not None:
            yield _hit(history, taken[0], every, condition)


def _passes_before(history: History, key: int, taken: list[OptimizerCall]) -> list[int]:
    """Return of how many passes each step of an optimizer applied the gradients."""
    mine = set(history.program.optimizers[key].tensors)
    steps = {each.index for each in taken}
    counts, count = list[int](), 0
    for each in history.events:
        if isinstance(each, Backward):
            gives = each.api == "backward" and not is_failed(each)
            count += gives and not mine.isdisjoint(each.leaves)
        elif isinstance(each, OptimizerCall) and each.index in steps:
            counts.append(count)
            count = 0
        elif isinstance(each, OptimizerCall) and each.what == "zero_grad":
            count = 0 if each.optimizer in (key, _MODULE) else count
    return counts


def _left_out(counts: list[int]) -> int:
    """Return N where each N-th of some passes has no step of its own; 0 else.

    >>> _left_out([1, 1, 2, 1, 2, 1, 2]), _left_out([1, 1, 1, 2, 2, 2])
    (3, 0)
    """
    twice = [place for place, count in enumerate(counts) if count == 2]
    if not set(counts) <= {1, 2} or len(twice) < _LEAST:
        return 0
    apart = {b - a for a, b in pairwise(twice)}
    return apart.pop() + 1 if len(apart) == 1 and min(apart) > 1 else 0


def _remainder(where: Spot) -> Condition | None:
    """Return the condition of a step that only a remainder of 0 does not meet.

    Or that of another number: ``if batch % 4 != 3:``.
    """
    for each in conditions(where):
        match each.where.node:
            case ast.BinOp(_, ast.Mod()):
                turned = each.holds
            case ast.Compare(ast.BinOp(_, ast.Mod()), [ast.NotEq() | ast.Gt()], _):
                turned = each.holds
            case ast.Compare(ast.BinOp(_, ast.Mod()), [ast.Eq()], _):
                turned = not each.holds
            case _:
                continue
        return each if turned else None
    return None


def _hit(history: History, step: OptimizerCall, every: int, found: Condition) -> Hit:
    culprit = site_of(history, found.where)
    node: ast.expr = found.where.node  # type: ignore[assignment]
    text = " ".join(ast.unparse(node).split())
    return Hit(
        f"`{text}` is {str(not found.holds).lower()} for each {every}th pass and "
        f"{str(found.holds).lower()} for the others: {history.quoted(step.site)} "
        f"follows on each pass alone, and is left out at each {every}th, where the "
        "gradients of several were to be applied.",
        culprit,
        f"Turn it round: `{_turned(node)}`.",
        symptom=step.site,
        line=found.where.line,
        related=(Related("left out each time", step.site),),
        edit=compared_with_zero(culprit),
        certainty=0.85,
    )


def _turned(test: ast.expr) -> str:
    """Return a condition that is true where one was false.

    >>> _turned(ast.parse("batch % 4", mode="eval").body)
    'batch % 4 == 0'
    >>> _turned(ast.parse("batch % 4 == 3", mode="eval").body)
    'batch % 4 != 3'
    """
    if not isinstance(test, ast.Compare):
        return f"{ast.unparse(test)} == 0"
    other = ast.NotEq() if isinstance(test.ops[0], ast.Eq) else ast.Eq()
    return ast.unparse(ast.Compare(test.left, [other], test.comparators))
