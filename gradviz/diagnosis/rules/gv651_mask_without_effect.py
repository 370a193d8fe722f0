"""Scores are masked for a softmax in a way that leaves nothing out.

What it does
    Finds ``masked_fill``, ``where`` and ``scores[mask] = …`` whose result goes to a
    softmax, and that fill in a number next to 0, such as ``1e-9``, or one above all
    scores, such as ``1e9``: the line that chose the number is to blame. Or whose mask
    has one element along the dimension that the softmax runs over: the line that gave
    it that shape. And products of scores with a mask of large negative numbers, and
    booleans that attention is given as numbers, which it adds.

Why is this bad
    A softmax takes differences: a score of ``1e-9`` gets as much weight as any other,
    and one of ``1e9`` gets all of it; a row that is filled as a whole keeps equal
    weights for all of it; ``-1e6`` times a negative score is above all others. Nothing
    fails, and what should be left out, often padding, is looked at.

Example
    ::

        scores = scores.masked_fill(mask == 0, 1e-9)

Use instead
    ::

        scores = scores.masked_fill(mask == 0, float("-inf"))

When it stays quiet
    The number is below all scores, or 0: weights may be masked once more after the
    softmax. Scores without a graph; whole rows, where single scores are masked as well.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradviz.dependence.axis_walk import over
from gradviz.dependence.flow import name_of, words
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import (
    MOVES,
    MULTIPLICATIONS,
    numbers_in,
    of_op,
    plain,
)
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.numbers import of_number
from gradviz.diagnosis.edits.numbers import masked
from gradviz.diagnosis.gradient_flow import origin
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin_call
from gradviz.program import Call, History, RawSite, Value

_ATTENTIONS = words("scaled_dot_product_attention multi_head_attention_forward")
_SPREADING = MOVES | words("getitem expand")
_TWO = 2  # the scores and the mask
_LARGE = -1e3
_SMALL = 1e-2  # nearer to 0 than scores that mean something


@rule("GV651", "mask-without-effect", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that masks so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if of_op(call.op) != "softmax" or not call.inputs[:1]:
            continue
        fill = origin(history, call.inputs[0], call.index)
        if fill is None or fill.site in told:
            continue
        number, mask = _filled(fill), _mask_of_rows(history, fill, over(call))
        if number is not None:
            hit = _hit(history, fill, call, number)
        elif mask is not None:
            hit = _of_rows(history, fill, call, mask)
        elif _turns_round(fill):
            hit = _of_product(history, fill, call)
        else:
            continue
        told.add(fill.site)
        yield hit
    yield from _added(history)


def _added(history: History) -> Iterator[Hit]:
    """Yield a hit per mask of booleans that attention is given as numbers to add."""
    told = set[RawSite | None]()
    for call in history.calls:
        for mask in call.inputs[3:] if name_of(call) in _ATTENTIONS else ():
            way = behind(history, mask, call.index) if "float" in mask.dtype else ()
            moved = takewhile(lambda each: plain(each.op) in _SPREADING, way)
            made = next((e for e in moved if e.inputs[0].dtype == "bool"), None)
            if made is not None and made.site not in told:
                told.add(made.site)
                yield _of_numbers(history, made, call)


def _filled(call: Call) -> float | None:
    """Return the number that a mask filled in, where it does not leave out."""
    by_mask = any(each.dtype == "bool" for each in call.inputs[1:])
    stored = plain(call.op) == "setitem" and by_mask and len(call.inputs) == _TWO
    if plain(call.op) not in ("masked_fill", "where") and not stored:
        return None
    scores = next((each for each in call.inputs if each.requires_grad), None)
    scan = None if scores is None else scores.summary
    numbers = numbers_in(call)
    if scan is None or scan.minimum is None or scan.maximum is None or not numbers:
        return None
    number = numbers[-1]
    small = 0 < abs(number) < _SMALL and number > scan.minimum
    above = number > max(scan.maximum, 1)
    return number if small or above else None


def _mask_of_rows(history: History, fill: Call, place: int) -> Value | None:
    """Return the mask of a fill, if it says nothing along a softmax's dimension."""
    masks = [each for each in fill.inputs if each.dtype == "bool"]
    scores = fill.inputs[:1] if plain(fill.op) == "masked_fill" else fill.outputs
    if len(masks) != 1 or not scores or not scores[0].requires_grad:
        return None
    behind = place - len(scores[0].shape) if place >= 0 else place
    if scores[0].shape[behind] == 1 or _length(masks[0], behind) != 1:
        return None
    earlier = history.producer(fill.inputs[0], fill.index)
    both = earlier is not None and any(
        _length(each, behind) != 1 for each in earlier.inputs if each.dtype == "bool"
    )
    return None if both else masks[0]


def _length(mask: Value, behind: int) -> int:
    """Return the size of a mask in a dimension, counted from the last."""
    return mask.shape[behind] if len(mask.shape) >= -behind else 1


def _turns_round(call: Call) -> bool:
    """Tell whether scores are multiplied with large negative numbers and others."""
    if plain(call.op) not in MULTIPLICATIONS:
        return False
    scans = [e.summary for e in call.inputs if not e.requires_grad and e.summary]
    learns = any(each.requires_grad for each in call.inputs)
    return learns and any(
        scan.minimum is not None
        and scan.maximum is not None
        and scan.minimum <= _LARGE
        and 0 <= scan.maximum <= 1
        for scan in scans
    )


def _of_numbers(history: History, made: Call, attention: Call) -> Hit:
    return Hit(
        f"The mask has no effect: {history.quoted(made.site)} turns it into 0 and 1, "
        f"and the attention in {history.line(attention.site)} adds a float mask to the "
        "scores, which leaves nothing out.",
        made.site,
        f"Pass the bool mask, without the conversion in {history.line(made.site)}.",
        symptom=attention.site,
        related=(Related("mask added to the scores here", attention.site),),
        certainty=0.9,
    )


def _of_rows(history: History, fill: Call, softmax: Call, mask: Value) -> Hit:
    made = origin_call(history, mask, lambda each: each.shape)
    site = fill.site if made is None else made.site
    return Hit(
        f"The mask in {history.quoted(fill.site)} masks whole rows or nothing, so "
        "positions that should be masked keep their weight. Its shape is "
        f"{mask.shape}, with one element along dimension {over(softmax)}; the softmax "
        f"in {history.line(softmax.site)} runs over this dimension.",
        site,
        f"Give the mask one element per position along dimension {over(softmax)}"
        f"{_shape(mask, softmax)}.",
        symptom=softmax.site,
        related=(
            Related("mask applied here", fill.site if site != fill.site else None),
        ),
        certainty=0.85,
    )


def _shape(mask: Value, softmax: Call) -> str:
    """Return the shape that a mask would have with its 1 in another dimension."""
    scores, sizes = softmax.inputs[0].shape, list(mask.shape)
    place = over(softmax) % len(scores)
    same = [i for i, size in enumerate(sizes) if size == scores[place] and i != place]
    if len(sizes) != len(scores) or len(same) != 1:
        return ""
    sizes[place], sizes[same[0]] = sizes[same[0]], 1
    return f": shape {tuple(sizes)}"


def _of_product(history: History, product: Call, softmax: Call) -> Hit:
    return Hit(
        f"The softmax in {history.line(softmax.site)} puts all weight on positions "
        f"that should be masked, because `{history.text(product.site)}` multiplies the "
        "scores by the mask. A negative score times a large negative number is a large "
        "positive score.",
        product.site,
        _replaced(history, product),
        symptom=softmax.site,
        certainty=0.9,
    )


def _replaced(history: History, product: Call) -> str:
    """Return the product written as a fill, of the program's own expressions."""
    where = spot(history, product.site, product.stack)
    masks = [e for e in product.inputs if not e.requires_grad and e.summary]
    lowest = masks[0].summary.minimum if masks and masks[0].summary else None
    node = None if where is None else where.node
    if not isinstance(node, ast.BinOp) or len(product.inputs) != _TWO or not lowest:
        return "Replace the masked scores with `masked_fill`, or add the mask to them."
    sides = [ast.unparse(each) for each in (node.left, node.right)]
    scores, mask = sides if product.inputs[1] in masks else sides[::-1]
    name = scores if scores.replace(".", "").isidentifier() else f"({scores})"
    return (
        f"Replace the masked scores: `{name}.masked_fill({mask} < 0, {lowest:g})` in "
        f"{history.line(product.site)}."
    )


def _hit(history: History, fill: Call, softmax: Call, number: float) -> Hit:
    much = "all weight" if number > 1 else "as much weight as the others"
    chosen = of_number(history, fill, number)
    by = ""
    if chosen.is_elsewhere:
        by = f" The number comes from `{chosen.text}` ({history.line(chosen.site)})."
    effect = "does the opposite" if number > 1 else "has no effect"
    return Hit(
        f"The mask {effect}: `{history.text(fill.site)}` fills in {number:g}, so "
        f"the softmax in {history.line(softmax.site)} gives the masked positions "
        f"{much}.{by}",
        chosen.site,
        f'Fill in `float("-inf")` instead of {number:g}.',
        symptom=softmax.site,
        related=(Related("mask applied here", fill.site if by else None),),
        line=chosen.line,
        edit=masked(fill.site),
        certainty=0.8,
    )
