"""What was reduced over all samples is put into each of them.

What it does
    Finds a sum over everything, by ``sum()`` or Python's own ``sum(tensor)``, of values
    of samples, which is then added to, subtracted from or multiplied with a tensor that
    has a value for each of these samples. Finds means that are multiplied with one
    weight per sample, where the products are reduced once more. Finds what was reduced
    over the samples of a loader, each of several elements, and is added to all of them,
    as it is or behind a layer.

Why is this bad
    Each sample gets what belongs to all of them: a sum grows with the size of the
    batch, and a mean afterwards counts it as often as there are samples. Of a mean that
    is weighed, all samples have the same: it is multiplied with the sum of the weights,
    and none of them weighs its own sample. Shapes fit by broadcasting, so that nothing
    fails.

Example
    ::

        kl = -0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp())
        loss = (reconstruction + kl).mean()  # reconstruction: (batch,)

Use instead
    ::

        kl = -0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp(), dim=1)
        loss = (reconstruction + kl).mean()

When it stays quiet
    Where the sum is divided by, as in a share or a mean, where it went through
    something that is no addition or scaling, and where it has no gradient to give. A
    mean to which something is added stays a mean. Where samples are centred or
    normalised with statistics of their batch, and where a row of features is all that
    there is of each.

References
    https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence.axis_ops import reduced
from gradviz.dependence.batches import holds_samples
from gradviz.dependence.flow import dimension
from gradviz.dependence.lineage import made_through
from gradviz.dependence.op_families import (
    ADDITIONS,
    DIFFERENCES,
    LOSSES,
    MULTIPLICATIONS,
    plain,
)
from gradviz.dependence.summaries import Summary, summaries
from gradviz.diagnosis._words import code
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import unwrapped, with_keyword
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.edits.shapes import over_dimension
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_MEETINGS = ADDITIONS | DIFFERENCES | MULTIPLICATIONS
_LINEAR = _MEETINGS | {"neg", "negative"}
_PICKS = ("getitem", "select", "unbind")
_MEANS = LOSSES | {"mean"}
_FEWEST = 3  # weights; fewer may be those of as many terms
_FAR = 12  # calls between a sum and its use, apart from those of Python's own sum


@rule("GV685", "batch-result-in-each-sample", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that does so."""
    told = set[tuple[RawSite | None, tuple[int, ...]]]()
    for call in history.calls:
        pair = call.inputs
        if plain(call.op) not in _MEETINGS or len(pair) != 2:
            continue
        for number, rows in (pair, pair[::-1]):
            if number.shape or not number.requires_grad or not rows.shape:
                continue
            if (call.site, rows.shape) in told:
                continue  # the same line does the same in every turn
            told.add((call.site, rows.shape))
            found = _summed(history, call, number, rows)
            if found is not None:
                yield _hit(history, call, rows, *found)
            elif (mean := _weighed(history, call, number, rows)) is not None:
                yield _mean_hit(history, call, rows, mean)
    yield from (_summary_hit(history, each) for each in summaries(history))


def _summed(
    history: History, call: Call, number: Value, rows: Value
) -> tuple[Call, Value] | None:
    """Return the call that summed what a number came from, and what it summed."""
    picked, waiting = Counter[int](), [(number, call.index)]
    left, count = _FAR + 3 * rows.shape[0], rows.shape[0]
    while waiting and left > 0:
        left -= 1
        value, before = waiting.pop()
        made = history.producer(value, before)
        if made is None or not made.inputs:
            continue
        given, op = made.inputs[0], plain(made.op)
        if op == "sum" and _is_of_rows(history, given, rows):
            return (made, given) if dimension(made, "dim", "axis") is None else None
        if op in _PICKS and _is_of_rows(history, given, rows):
            picked[given.tensor] += 1
            if picked[given.tensor] == count and len(given.shape) == 1:
                return made, given
        elif op in _LINEAR:
            parts = [each for each in made.inputs if each.requires_grad]
            waiting += [(each, made.index) for each in parts if not each.shape]
    return None


def _weighed(history: History, call: Call, number: Value, rows: Value) -> Call | None:
    """Return the call that averaged what one weight per sample is multiplied with."""
    made = made_through(history, number, call.index, {"neg", "negative"})
    if plain(call.op) not in MULTIPLICATIONS or rows.requires_grad or not call.outputs:
        return None
    if made is None or plain(made.op) not in _MEANS or not made.inputs:
        return None
    given, reduced = made.inputs[0], history.uses(call.outputs[0].tensor, call.index)
    if given.shape[:1] != rows.shape or rows.shape[0] < _FEWEST:
        return None
    once_more = any(plain(each.op) in ("sum", "mean") for each in reduced)
    return made if once_more else None


def _is_of_rows(history: History, given: Value, rows: Value) -> bool:
    """Tell whether a tensor has something for each of the samples that rows are of."""
    both = list(zip(given.shape, rows.shape, strict=False))
    fits = bool(both) and both[0][0] > 1 and all(one == other for one, other in both)
    return fits and holds_samples(history, given)


def _hit(history: History, call: Call, rows: Value, made: Call, given: Value) -> Hit:
    count, here = given.shape[0], same_line(made.site, call.site)
    behind = tuple(range(len(rows.shape), len(given.shape)))
    dim = behind[0] if len(behind) == 1 else behind
    where = "this line" if here else f"{history.quoted(call.site)}"
    return Hit(
        f"Each element of shape {tuple(rows.shape)} gets the sum over all {count} "
        f"samples of the batch: `{history.text(made.site)}` sums shape "
        f"{tuple(given.shape)} to one number, and {where} broadcasts this number.",
        made.site,
        f"Sum over `dim={dim}` only."
        if behind
        else "Leave out the sum: there is one value per sample already.",
        symptom=None if here else call.site,
        related=(
            Related("broadcast to each sample here", None if here else call.site),
        ),
        tensors=(given.tensor, rows.tensor),
        certainty=0.75,
        edit=with_keyword(made.site, "dim", str(dim), of=("sum",))
        if behind
        else unwrapped(made.site, ("sum",)),
    )


def _mean_hit(history: History, call: Call, rows: Value, made: Call) -> Hit:
    count = rows.shape[0]
    weights = _spelt(history, call, rows) or "The weights"
    shared = _is_read_elsewhere(history, made, call)
    given = history.name(made.inputs[0], "what was averaged")
    return Hit(
        f"{weights} cannot favour one sample over another: `{history.text(made.site)}` "
        f"is one number, the mean of {count} samples, and "
        f"{history.quoted(call.site)} multiplies this mean by all {count} weights.",
        call.site if shared else made.site,
        _each(history, made, call)
        or (
            f"Multiply {given} of each sample with {weights}, and reduce the products."
            if shared
            else f"{_without_mean(history, made)}, and reduce the products."
        ),
        symptom=call.site,
        related=(
            Related("mean taken here", made.site)
            if shared
            else Related("weights applied here", call.site),
        ),
        tensors=(made.outputs[0].tensor, rows.tensor),
        certainty=0.8,
    )


def _without_mean(history: History, made: Call) -> str:
    """Return how to have one number for each sample."""
    if plain(made.op) in LOSSES:
        return f'Give the loss of {history.line(made.site)} `reduction="none"`'
    return "Leave out the mean"


def _spelt(history: History, call: Call, value: Value) -> str:
    """Return how a product of two spells one of them."""
    product = parsed_expression(history.text(call.site))
    if not isinstance(product, ast.BinOp) or len(call.inputs) != 2:
        return history.name(value, "")
    first = call.inputs[0].tensor == value.tensor
    return f"`{ast.unparse(product.left if first else product.right)}`"


def _each(history: History, made: Call, call: Call) -> str:
    """Return the line with the products of single samples; "" where names differ."""
    mean, product = map(history.text, (made.site, call.site))
    number = call.inputs[int(not call.inputs[0].requires_grad)]
    given = mean.removesuffix(".mean()")
    apart = not made.site or not call.site or made.site[0] is not call.site[0]
    if given == mean or not given.isidentifier() or apart:
        return ""
    old = _spelt(history, call, number).strip("`")
    statement, new = code(history, call.site), product.replace(old, given, 1)
    if not old or product not in statement:
        return ""
    return f"Write `{statement.replace(product, new, 1)}` in {history.line(call.site)}."


def _is_read_elsewhere(history: History, made: Call, call: Call) -> bool:
    """Tell whether a mean stands for itself, too: it is printed, logged or returned."""
    names, where = history.places.targets(made.site), spot(history, made.site)
    product = history.places.statement(call.site)
    if where is None or product is None or same_line(made.site, call.site):
        return False
    weighed = set(ast.walk(product))
    return any(
        isinstance(each, ast.Name)
        and isinstance(each.ctx, ast.Load)
        and each.id in names
        and each not in weighed
        for each in ast.walk(where.scope)
    )


def _summary_hit(history: History, summary: Summary) -> Hit:
    made, place = summary.made, summary.place
    shape, gone = made.inputs[0].shape, reduced(made) or []
    rest = [each for each in gone if each != place]
    within = tuple(rest) if len(rest) > 1 else (*rest, 1 if place == 0 else 0)[0]
    chosen = of_setting(history, made, (), 0, ("dim", "axis"))
    return Hit(
        "The output for one sample depends on the rest of the batch: "
        f"`{history.text(made.site)}` reduces shape {tuple(shape)} over dimension "
        f"{place}, all {shape[place]} samples of the batch, and "
        f"{history.quoted(summary.joined.site)} puts the result into every sample.",
        chosen.site,
        f"Reduce within one sample: `dim={within}`.",
        symptom=summary.joined.site,
        line=chosen.line,
        related=(Related("result put into each sample here", summary.joined.site),),
        tensors=(made.outputs[0].tensor, summary.rows.tensor),
        certainty=0.75,
        edit=None
        if chosen.is_elsewhere or rest or len(made.outputs[0].shape) < len(shape)
        else over_dimension(chosen.site, int(place == 0)),
    )
