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
        f"{history.quoted(made.site)} makes numbers of a mask, and attention adds them "
        f"to the scores ({history.line(attention.site)}): 0 and 1 leave nothing out. "
        "Of a mask of booleans it takes the True ones alone.",
        made.site,
        "Hand the mask over as it is, of dtype bool.",
        symptom=attention.site,
        related=(Related("added to the scores here", attention.site),),
        certainty=0.9,
    )


def _of_rows(history: History, fill: Call, softmax: Call, mask: Value) -> Hit:
    made = origin_call(history, mask, lambda each: each.shape)
    site = fill.site if made is None else made.site
    return Hit(
        f"The mask of {history.quoted(fill.site)} is of "
        f"shape {mask.shape}, with one element along dimension {over(softmax)}, which "
        f"the softmax of {history.line(softmax.site)} runs over: it fills whole rows "
        "or nothing of them, and what should be left out of a row keeps its weight.",
        site,
        f"Give the mask its elements along that dimension{_shape(mask, softmax)}.",
        symptom=softmax.site,
        related=(Related("filled in here", fill.site if site != fill.site else None),),
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
    return f", as of shape {tuple(sizes)}"


def _of_product(history: History, product: Call, softmax: Call) -> Hit:
    return Hit(
        f"`{history.text(product.site)}` multiplies scores with a mask of large "
        "negative numbers: of a negative score they make one far above all others, "
        f"and the softmax of {history.line(softmax.site)} gives that place all weight.",
        product.site,
        "Write the number instead of the score (`masked_fill`, `torch.where`), or add "
        "a mask of 0 and a large negative number.",
        symptom=softmax.site,
        certainty=0.9,
    )


def _hit(history: History, fill: Call, softmax: Call, number: float) -> Hit:
    much = "all weight" if number > 1 else "as much weight as other places"
    chosen = of_number(history, fill, number)
    by = ""
    if chosen.is_elsewhere:
        by = f" `{chosen.text}` in {history.line(chosen.site)} chose the number."
    return Hit(
        f"`{history.text(fill.site)}` fills {number:g} in, and the softmax of "
        f"{history.line(softmax.site)} gives these places {much}: they are not masked."
        f"{by}",
        chosen.site,
        'Fill in `float("-inf")`, or a number far below all scores.',
        symptom=softmax.site,
        related=(Related("filled in here", fill.site if by else None),),
        line=chosen.line,
        edit=masked(fill.site),
        certainty=0.8,
    )
