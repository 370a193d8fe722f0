"""One value per sample is lined up with the columns of the samples.

What it does
    Finds arithmetic between a vector with one value for each sample and a tensor whose
    first dimension holds those samples, where the last one is as long. That the values
    are those of samples is known where they were looked up with a batch of indices, or
    where they came with the same samples; the columns are those of a layer's results.
    Where a reduction made them of these very samples, it is that which lacks
    ``keepdim=True``.

Why is this bad
    Broadcasting lines shapes up from the right: the values of the samples scale the
    columns. With another batch size this is an error; with this one it is only wrong.

Example
    ::

        scale = alpha_bar[t]  # (8,)
        noisy = scale.sqrt() * images  # (8, 1, 8, 8)

Use instead
    ::

        scale = alpha_bar[t].view(-1, 1, 1, 1)

When it stays quiet
    Where the sizes differ, for parameters, and where the columns may be the same
    samples, or things like them: a table of pairs.

References
    https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz.dependence.axes import Dim, axes_in
from gradviz.dependence.axis_facts import Axes
from gradviz.dependence.axis_ops import REDUCTIONS
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import made_through
from gradviz.dependence.op_families import ARITHMETIC, plain
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.edits.shapes import operand_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._classes import weights_of
from gradviz.diagnosis.rules._origins import described
from gradviz.program import Call, History, RawSite, Value

_SAME_PLACES = ARITHMETIC | words("sqrt pow exp log neg square reciprocal rsqrt clamp")
_LOOKUPS = words("getitem gather index_select take embedding")


@rule("GV650", "samples-meet-columns", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that does so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) not in ARITHMETIC or call.site in told or call.error:
            continue
        pair = call.inputs[:2]
        for flat, tall in (pair, pair[::-1]) if len(pair) == 2 else ():
            if not _fits_both(flat, tall):
                continue
            looked_up = _looked_up(history, flat, tall, call)
            if looked_up is not None or _goes_with_rows(history, flat, tall):
                told.add(call.site)
                made = looked_up or history.producer(flat, call.index)
                hit = _hit(history, call, flat, tall, made, bool(looked_up))
                yield _with_dimension(history, hit, call, flat, tall)
                break


def _fits_both(flat: Value, tall: Value) -> bool:
    """Tell whether a vector is as long as the first and the last dimension."""
    count = flat.shape
    if len(count) != 1 or count[0] < 2 or len(tall.shape) < 2 or flat.is_parameter:
        return False
    return (tall.shape[0], tall.shape[-1]) == (*count, *count)


def _goes_with_rows(history: History, flat: Value, tall: Value) -> bool:
    """Tell whether the elements of a vector are samples, and the columns features."""
    axes = history.once(axes_of)
    (mine,), (rows, *_, columns) = axes.of(flat), axes.of(tall)
    if not _same(axes, mine, rows) or _same(axes, mine, columns):
        return False
    return bool(weights_of(columns))


def _same(axes: Axes, one: Dim, other: Dim) -> bool:
    """Tell whether two dimensions run over the same samples, as far as is known."""
    return any(
        a.root is b.root
        or a.picked_with(b)
        or (axes.of_samples(a) and axes.of_samples(b))
        for a in axes_in(one)
        for b in axes_in(other)
    )


def _looked_up(history: History, flat: Value, tall: Value, before: Call) -> Call | None:
    """Return the call that looked the values of all samples up."""
    call = made_through(history, flat, before.index, _SAME_PLACES)
    if len(tall.shape) < 3 or call is None or plain(call.op) not in _LOOKUPS:
        return None
    indices = [each for each in call.inputs if "int" in each.dtype]
    return call if any(each.shape == flat.shape for each in indices) else None


def _with_dimension(
    history: History, hit: Hit, call: Call, flat: Value, tall: Value
) -> Hit:
    """Blame the reduction, where the tensor meets what was made of its own rows."""
    made = made_through(history, flat, call.index, _SAME_PLACES)
    if made is None or plain(made.op) not in REDUCTIONS or "keepdim" in made.keywords:
        return hit
    if made.inputs[0].tensor != tall.tensor or made.site is None:
        return hit
    return replace(
        hit,
        culprit=made.site,
        fix="Keep the dimension that it takes away: `keepdim=True`.",
        edit=with_keyword(made.site, "keepdim", "True"),
        related=(Related("meets the columns here", call.site),),
    )


def _hit(
    history: History,
    call: Call,
    flat: Value,
    tall: Value,
    made: Call | None,
    looked_up: bool,
) -> Hit:
    ones = ", 1" * (len(tall.shape) - 1)
    how = "looked up" if looked_up else "made"
    where = "" if made is None else f", {how} in {history.line(made.site)},"
    return Hit(
        f"{described(history, flat, 'A vector')} has one value for each sample{where} "
        f"and meets {described(history, tall, 'a tensor')} in "
        f"`{history.text(call.site)}`: "
        "shapes are lined up from the right, so the values of the samples go along "
        "the columns.",
        call.site,
        f"Give the values dimensions of their own: `.view(-1{ones})`.",
        symptom=call.site,
        related=(Related("one value per sample", made.site if made else None),),
        tensors=(flat.tensor, tall.tensor),
        edit=operand_followed_by(
            call.site, call.inputs.index(flat), f".view(-1{ones})"
        ),
        certainty=0.8,
    )
