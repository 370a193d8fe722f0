"""The weights of two layers are one number: all units between them stay alike.

What it does
    Finds two layers, one after the other, each of whose weights is the same number in
    every element when a model is used first, where nothing between them tells its units
    apart. Names the line that filled the first, or the setting that chose how.

Why is this bad
    Units with equal weights in and out compute the same and get the same gradient, in
    every step. A layer of 32 such units is one unit, written 32 times.

Example
    ::

        for layer in model:
            nn.init.constant_(layer.weight, 0.1)

Use instead
    ::

        for layer in model:
            nn.init.kaiming_uniform_(layer.weight)

When it stays quiet
    Where the weights of one of the two differ, where dropout or biases tell the units
    apart, where no optimizer steps them; for vectors, such as the scale of a norm.
    Two weights of 0 are another finding.

References
    https://pytorch.org/docs/stable/nn.init.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import ACTIVATIONS, ARITHMETIC, plain
from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.edits.leaves import random_start
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._weights import filled_at, is_product
from gradviz.program import Call, History, RawSite, Value

_ALIKE = (
    ACTIVATIONS
    | ARITHMETIC
    | words(
        "sin cos exp abs square pow clamp layer_norm batch_norm flatten view reshape "
        "contiguous float max_pool1d max_pool2d avg_pool1d avg_pool2d "
        "adaptive_avg_pool2d mean"
    )
)
"""Calls that make of equal units equal results, as far as their operands do."""


@rule("GV676", "units-all-alike", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that filled the first of two such weights."""
    wanted = learning.wanted(history)
    told, seen = set[RawSite | None](), set[int]()
    for call in history.calls if wanted else ():
        weight = _weight(call)
        if weight is None or weight.tensor in seen or wanted is None:
            continue
        seen.add(weight.tensor)
        before = _before(history, call) if _is_one_number(weight) else None
        other = None if before is None else _weight(before)
        if (
            before is None
            or other is None
            or not {weight.tensor, other.tensor} & wanted
        ):
            continue
        filled = filled_at(history, other, before)
        scans = (each.summary for each in (weight, other))
        if filled.site not in told and any(each and each.maximum for each in scans):
            told |= {filled.site, filled_at(history, weight, call).site}
            yield _hit(history, filled, (before, other), (call, weight))


def _weight(call: Call) -> Value | None:
    """Return the matrix of weights that a product is with."""
    if not is_product(call):
        return None
    found = [e for e in call.inputs if e.is_leaf and e.requires_grad and e.shape[1:]]
    return found[0] if found else None


def _is_one_number(value: Value) -> bool:
    summary = value.summary
    return (
        summary is not None
        and summary.minimum is not None
        and not summary.bad
        and summary.minimum == summary.maximum
    )


def _before(history: History, call: Call) -> Call | None:
    """Return the product whose units, several and all alike, a call is given."""
    for each in behind(history, call.inputs[0], call.index):
        weight = _weight(each)
        operands = [one for one in each.inputs[1:] if one is not weight]
        if not all(one.is_leaf and _is_one_number(one) for one in operands):
            return None
        if weight is not None:
            units = each.outputs[0].shape[1 if each.op.startswith("conv") else -1]
            return each if units > 1 and _is_one_number(weight) else None
        if plain(each.op) not in _ALIKE:
            return None
    return None


def _hit(
    history: History,
    filled: Decision,
    first: tuple[Call, Value],
    second: tuple[Call, Value],
) -> Hit:
    (before, one), (call, other) = first, second
    names = [history.name(each, "a weight") for each in (one, other)]
    numbers = [
        f"{each.summary.minimum:.3g}"
        for each in (one, other)
        if each.summary and each.summary.minimum is not None
    ]
    units = before.outputs[0].shape[1 if before.op.startswith("conv") else -1]
    also = filled_at(history, other, call)
    also_at = None if filled.is_elsewhere and also.site == filled.site else also.site
    return Hit(
        f"All elements of {names[0]} are {numbers[0]}, and all of {names[1]} are "
        f"{numbers[1]}: the {units} units between them compute the same, get the same "
        "gradient, and stay one unit however long they are trained.",
        filled.site or before.site,
        "Fill weights with random values: `nn.init.kaiming_uniform_`, or as the layer "
        "does itself.",
        symptom=before.site,
        line=filled.line,
        related=(
            Related("filled here", filled.made),
            Related("filled with one number, too", also_at),
            Related("used first here", call.site),
        ),
        tensors=(one.tensor, other.tensor),
        edit=None if filled.is_elsewhere else random_start(filled.site),
        certainty=0.9,
    )
