"""Predictions (N, 1) meet targets (N,), and every one is compared with every other.

What it does
    Finds arithmetic and comparisons between shapes ``(..., N, 1)`` and ``(..., N)``
    whose N by N result is reduced to a number: a loss, or a metric.

Why is this bad
    Broadcasting lines shapes up from the right: the result has N*N elements. The loss
    is a number as ever, its minimum is the mean of the targets, and nothing fails. An
    accuracy that compares every prediction with every target stays near chance. A
    function that only compares what it is given did what it was asked: the line that
    called it gave it two shapes.

Example
    ::

        loss = (net(x) - target).pow(2).mean()  # (N, 1) - (N,)

Use instead
    ::

        loss = (net(x).squeeze(1) - target).pow(2).mean()

When it stays quiet
    Tables of all pairs that are asked for (``x[:, None] - y``, distances), outer
    products that feed a layer, biases, operands of equal rank. For comparisons also
    ranks and lengths: positions that were counted, a column that was made to be one.

References
    https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.lineage import ahead
from gradviz.dependence.op_families import ARITHMETIC, CONSTANTS
from gradviz.diagnosis._words import shortened
from gradviz.diagnosis.decisions.arguments import handed
from gradviz.diagnosis.decisions.frames import Spot, spot, spots
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import followed_by, without_method
from gradviz.diagnosis.edits.draft import NoEditError
from gradviz.diagnosis.edits.shapes import (
    argument_followed_by,
    operand_followed_by,
    operands,
)
from gradviz.diagnosis.edits.syntax import place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._odd_shape import Odd, method_text, odd_one
from gradviz.diagnosis.rules._origins import (
    origin,
    origin_call,
    shape_text,
)
from gradviz.program import Call, History, RawSite, Value

_REDUCTIONS = words("mean sum nanmean norm max median logsumexp")
_ELEMENTWISE = ARITHMETIC | words(
    "pow square abs neg exp log sqrt clamp where float double to clip log1p logical_and"
    " softplus relu sigmoid logsigmoid huber maximum minimum negative absolute cosh"
    " min max int long bool type to cpu detach"
)
_COMPARING = words("lt le gt ge eq ne less greater less_equal greater_equal sign isnan")
_EQUALITY = words("eq ne")
_PAIRING = words("unsqueeze getitem view reshape expand expand_as")
_GRIDS = ("arange", "linspace", "logspace")
_FAR = 12  # calls between the broadcast and the number it ends as


@rule("GV602", "broadcast-loss-manual", "warning")
def check(history: History) -> Iterator[Hit]:
    found = list(_hits(history))
    handed_on = {hit.symptom for hit in found if hit.symptom is not hit.culprit}
    yield from (hit for hit in found if hit.culprit not in handed_on)


def _hits(history: History) -> Iterator[Hit]:
    for call in history.calls:
        name = name_of(call)
        pair = broadcast_pair(call) if name in ARITHMETIC | _COMPARING else None
        if pair is not None and not _is_meant(history, call, pair):
            tall, flat = pair
            if _becomes_number(history, call):
                yield hit(history, call, tall, flat)


def broadcast_pair(call: Call) -> tuple[Value, Value] | None:
    """Return the operands of shape (..., N, 1) and (..., N), if these are they."""
    if len(call.inputs) != 2 or not call.outputs:
        return None
    tall, flat = sorted(call.inputs, key=lambda each: -len(each.shape))
    column = tall.shape[-1:] == (1,) and tall.shape[:-1] == flat.shape
    return (tall, flat) if column and prod(flat.shape) > 1 else None


def _is_meant(history: History, call: Call, pair: tuple[Value, Value]) -> bool:
    """Return whether the program spelled out that all pairs are wanted."""
    tall, flat = pair
    if tall.storage == flat.storage:
        return True
    maker = history.producer(tall, before=call.index)
    if _is_counted(history, call, pair, CONSTANTS if _compares(call) else _GRIDS):
        return True
    if maker is None or name_of(maker) not in _PAIRING or maker.site is None:
        return False
    if name_of(call) in _COMPARING - _EQUALITY:
        return True  # ranks: every score of one kind above each of another
    statement = history.places.statement(call.site)
    return history.places.statement(maker.site) is statement


def _compares(call: Call) -> bool:
    return name_of(call) in _COMPARING


def _is_counted(
    history: History, call: Call, pair: tuple[Value, Value], names: Collection[str]
) -> bool:
    """Return whether an operand is a count of places: then lengths are compared.

    Or a curve is drawn over a grid, in what only makes data.
    """
    if not _compares(call) and any(each.requires_grad for each in pair):
        return False
    makers = [history.producer(each, before=call.index) for each in pair]
    return any(maker is not None and name_of(maker) in names for maker in makers)


def _becomes_number(history: History, call: Call) -> bool:
    """Return whether a result is reduced to one number by elementwise steps only."""
    shape = call.outputs[0].shape

    def keeps_pairs(value: Value, use: Call) -> bool:
        others = (each for each in use.inputs if each.tensor != value.tensor)
        alike = [each for each in others if each.shape == shape]
        made = use.outputs[:1] if name_of(use) in _ELEMENTWISE else ()
        fits = any(each.shape == shape for each in made)
        return fits and not _is_table(history, alike, call)

    uses = ahead(history, call.outputs[:1], keeps_pairs, call.index, _FAR)
    reduced = (use for _, use in uses if name_of(use) in _REDUCTIONS)
    return any(prod(each.shape) == 1 for use in reduced for each in use.outputs[:1])


def _is_table(history: History, values: list[Value], pairs: Call) -> bool:
    """Return whether these were made N by N: then the pairs are meant.

    What was computed from the pairs themselves (``error.abs() < 1``) says nothing.
    """
    for value in values:
        maker = history.producer(value)
        if maker is None or name_of(maker) in _ELEMENTWISE:
            continue
        behind = history.behind([value]) if _compares(maker) else set[int]()
        if pairs.outputs[0].tensor not in behind:
            return True
    return False


def hit(history: History, call: Call, tall: Value, flat: Value) -> Hit:
    """Return the hit for one broadcast in a loss.

    A column that was picked, one element of each row, is to be squeezed where it was;
    other columns where they meet what is none. Where several meet, the one that alone
    has its shape is to be changed.
    """
    pair = tall, flat
    odd = odd_one(history, call, pair)
    found = Hit(
        _said(history, call, pair),
        call.site,
        f"Give both the same shape: `{_operand(history, call, tall)}.squeeze(-1)`.",
        symptom=call.site,
        related=(Related("compared here", call.site),),
        tensors=(tall.tensor, flat.tensor),
        certainty=0.95,  # a new shape that nothing took would be the cause
    )
    if odd is not None and odd.reshaped is not None:
        return _reshaped_hit(history, found, odd, odd.reshaped)
    odd_row = odd is not None and odd.value is flat
    picked = None if odd_row else _picked(history, call, tall)
    given = _handed(history, call, tall) if picked is None else None
    shared = _met_again(history, call, tall) if not (picked or given or odd) else None
    if shared is not None:
        return _shared_hit(history, found, shared, flat)
    if picked is not None:
        edit = followed_by(picked, ".squeeze(-1)", of=("gather",))
        column = Related("compared here", call.site)
    elif given is not None:
        return _handed_hit(history, call, found, pair, given, odd)
    else:
        number = call.inputs.index(tall)
        edit = operand_followed_by(call.site, number, ".squeeze(-1)")
        column = Related("shape made here", origin(history, tall, "shape"))
    row = Related("other shape made here", origin(history, flat, "shape"))
    return replace(found, culprit=picked or call.site, related=(column, row), edit=edit)


def _said(history: History, call: Call, pair: tuple[Value, Value]) -> str:
    tall, flat = pair
    made = call.outputs[0]
    count, samples = prod(tall.shape[:-1]) * flat.shape[-1], prod(flat.shape)
    shape = shape_text(made) if made.shape else f"{tall.shape[:-1] + flat.shape[-1:]}"
    one, other = (
        f"`{_operand(history, call, each)}` {shape_text(each)}" for each in pair
    )
    return (
        f"{history.line(call.site)} compares every sample with every other: {one} and "
        f"{other} broadcast to {shape}, {count} pairs from {samples} samples."
    )


def _operand(history: History, call: Call, value: Value) -> str:
    """Return an operand of a call as the program writes it."""
    nodes = list[ast.expr]()
    with suppress(LookupError, NoEditError):
        nodes = list(operands(place(history, call.site)))
    text = ""
    if len(nodes) == len(call.inputs):
        text = shortened(ast.unparse(nodes[call.inputs.index(value)]))
    place_text = "x" if call.inputs.index(value) == 0 else "y"
    return text or history.bare_name(value) or place_text


def _reshaped_hit(history: History, found: Hit, odd: Odd, made: Call) -> Hit:
    """Return the hit for the method that gave one tensor a shape of its own."""
    method, other = method_text(history, made), shape_text(odd.others[0])
    names = [history.name(each, "") for each in odd.others]
    others = " and ".join(names) if all(names) and len(names) < 3 else "the others"
    return replace(
        found,
        message=f"{found.message} `{method}` gives "
        f"{history.name(odd.value, 'one tensor')} the shape {shape_text(odd.value)}, "
        f"while {others} have {other}.",
        culprit=made.site,
        fix=f"Leave out `{method}`: without it, all have the shape {other}.",
        edit=without_method(made.site, (name_of(made),)),
    )


def _handed(history: History, call: Call, tall: Value) -> list[Spot] | None:
    """Return what a function was given that only compares it: the column first."""
    where, nodes = spot(history, call.site, call.stack), list[ast.expr]()
    if where is not None:
        with suppress(LookupError, NoEditError):
            nodes = list(operands(place(history, call.site)))
    if where is None or len(nodes) != 2:
        return None
    found = handed(where, nodes)
    if found is None:
        return None
    return found if call.inputs.index(tall) == 0 else found[::-1]


def _handed_hit(
    history: History,
    call: Call,
    found: Hit,
    pair: tuple[Value, Value],
    given: list[Spot],
    odd: Odd | None,
) -> Hit:
    """Return the hit for a function that a caller gave tensors of two shapes."""
    column, row = (each.source.of(each.node) for each in given)
    tall, flat = pair
    site = _calling(history, call, given[0])
    text, suffix = column, ".squeeze(-1)"
    fix = f"Give both the same shape: `{column}.squeeze(-1)`, or `{row}.unsqueeze(-1)`."
    if odd is not None:
        if odd.value is flat:
            text, suffix = row, ".unsqueeze(-1)"
        fix = f"Give `{text}` the shape of the others: `{text}{suffix}`."
    return replace(
        found,
        message=f"{found.message} {history.quoted(site)} passes shapes "
        f"{shape_text(tall)} and {shape_text(flat)}.",
        culprit=site,
        fix=fix,
        edit=argument_followed_by(site, text, suffix),
    )


def _met_again(history: History, call: Call, column: Value) -> tuple[Call, Call] | None:
    """Return what made a column, and where it meets the pairs again.

    To squeeze it in one of these places is not enough. Through what was computed of the
    column element by element, back to where both have it.
    """
    pairs, value, before = call.outputs[0].shape, column, call.index

    def stays(_: Value, use: Call) -> bool:
        alike = all(each.shape == column.shape for each in use.outputs)
        return name_of(use) in _ELEMENTWISE and alike

    for _ in range(_FAR):
        made = history.producer(value, before)
        if made is None:
            return None
        for met, use in ahead(history, [value], stays):
            others = [each.shape for each in use.inputs if each.tensor != met.tensor]
            if use is not call and pairs in others:
                return made, use
        given = [each for each in made.inputs if each.requires_grad]
        if len(given) != 1 or not stays(value, made):
            return None
        value, before = given[0], made.index
    return None


def _shared_hit(
    history: History, found: Hit, shared: tuple[Call, Call], flat: Value
) -> Hit:
    """Return the hit for a column that meets rows in several places."""
    made, again = shared
    text = shortened(history.text(made.site))
    return replace(
        found,
        message=f"{found.message} What {history.line(made.site)} made meets the pairs "
        f"again in {history.line(again.site)}.",
        culprit=made.site,
        fix=f"Squeeze it where it is made: `{text}.squeeze(-1)`.",
        edit=followed_by(made.site, ".squeeze(-1)"),
        related=(
            *found.related,
            Related("and here", again.site),
            Related("other shape made here", origin(history, flat, "shape")),
        ),
    )


def _calling(history: History, call: Call, given: Spot) -> RawSite | None:
    """Return the site of the frame that handed an argument over."""
    for site, level in spots(history, call.frames):
        if level.source.file == given.source.file and any(
            each is given.node for each in ast.walk(level.node)
        ):
            return site
    return call.site


def _picked(history: History, call: Call, column: Value) -> RawSite | None:
    """Return the line that picked a column for this alone: ``q.gather(1, action)``."""
    made = origin_call(history, column, lambda each: each.shape, "gather", own=True)
    if made is None or name_of(made) != "gather" or same_line(made.site, call.site):
        return None
    return made.site if len(history.uses(made.outputs[0].tensor)) == 1 else None
