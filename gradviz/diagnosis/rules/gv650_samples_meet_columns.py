"""One value per sample is lined up with the columns of the samples.

What it does
    Finds arithmetic between a vector with one value for each sample, looked up with a
    batch of indices, and a tensor of three or more dimensions whose first and last
    sizes are both the number of samples.

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
    Where the sizes differ, for parameters and vectors that were not looked up, and
    with two dimensions: a table of pairs.

References
    https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gradviz.dependence.flow import name_of, words
from gradviz.diagnosis.edits.shapes import operand_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import behind, described
from gradviz.program import Call, History, RawSite, Value

_ARITHMETIC = words("mul rmul multiply add radd sub rsub div rdiv truediv rtruediv")
_SAME_PLACES = _ARITHMETIC | words("sqrt pow exp log neg square reciprocal rsqrt clamp")
_LOOKUPS = words("getitem gather index_select take embedding")
_FAR = 8  # calls between the look-up and the arithmetic


@rule("GV650", "samples-meet-columns", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that does so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if name_of(call) not in _ARITHMETIC or call.site in told or call.error:
            continue
        pair = call.inputs[:2]
        for flat, tall in (pair, pair[::-1]) if len(pair) == 2 else ():
            looked_up = _looked_up(history, flat, tall, call)
            if looked_up is not None:
                told.add(call.site)
                yield _hit(history, call, flat, tall, looked_up)
                break


def _looked_up(history: History, flat: Value, tall: Value, before: Call) -> Call | None:
    """Return the call that looked the values of all samples up, if the sizes agree."""
    count = flat.shape
    if len(count) != 1 or count[0] < 2 or len(tall.shape) < 3:
        return None
    if (tall.shape[0], tall.shape[-1]) != (*count, *count) or flat.is_parameter:
        return None
    for call in islice(behind(history, flat, before.index), _FAR):
        if name_of(call) in _LOOKUPS:
            indices = [each for each in call.inputs if "int" in each.dtype]
            return call if any(each.shape == count for each in indices) else None
        if name_of(call) not in _SAME_PLACES:
            return None
    return None


def _hit(
    history: History, call: Call, flat: Value, tall: Value, looked_up: Call
) -> Hit:
    ones = ", 1" * (len(tall.shape) - 1)
    return Hit(
        f"{described(history, flat, 'A vector')} has one value for each sample, looked "
        f"up in {history.line(looked_up.site)}, and meets "
        f"{described(history, tall, 'a tensor')} in `{history.text(call.site)}`: "
        "shapes are lined up from the right, so the values of the samples go along "
        "the columns.",
        call.site,
        f"Give the values dimensions of their own: `.view(-1{ones})`.",
        symptom=call.site,
        related=(Related("one value per sample", looked_up.site),),
        tensors=(flat.tensor, tall.tensor),
        edit=operand_followed_by(
            call.site, call.inputs.index(flat), f".view(-1{ones})"
        ),
        certainty=0.8,
    )
