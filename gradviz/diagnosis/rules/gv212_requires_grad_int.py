"""A tensor of whole numbers is asked to require grad.

What it does
    Finds the line that made a tensor of integers or booleans which was then asked to
    require grad, or the setting that gave it a whole number.

Why is this bad
    A derivative is a limit of small changes; whole numbers have none. Literals like
    ``[1, 2, 3]``, ``arange(3)``, ``.long()`` and indexes give whole numbers.

Example
    ::

        w = torch.tensor([1, 2, 3], requires_grad=True)

Use instead
    ::

        w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

When it stays quiet
    For tensors of floating point or complex numbers.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.decisions.decision import Decision, of_given
from gradviz.diagnosis.edits.leaves import in_floats
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._origins import (
    first_with,
    literal_in,
    raised_with,
    suspect,
)
from gradviz.program import Call, History, Value

_LITERAL = frozenset({"tensor", "as_tensor", "full", "Tensor"})
_FILLED = {"tensor": (0, "data"), "as_tensor": (0, "data"), "full": (1, "fill_value")}


@rule("GV212", "requires-grad-int", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended because integers were to require grad."""
    raised = raised_with(history, "can require gradients")
    if raised is None:
        return
    value = suspect(history, raised, _whole)
    maker = None if value is None else first_with(history, value, _whole)
    culprit = raised.site if maker is None else maker.site
    dtype = "integers" if value is None else value.dtype
    name = name_of(history, value, "This tensor")
    how = "" if maker is None else f", made so by `{maker.op}`"
    literal = ""
    if maker is None or maker.op in _LITERAL:
        is_literal = literal_in(history, culprit)
        how, literal = "", " Its numbers are written without a point." * is_literal
    chosen = Decision(culprit) if maker is None else _chosen(history, maker)
    if chosen.is_elsewhere:
        literal = f" `{chosen.text}` in {history.line(chosen.site)} is a whole number."
    yield Hit(
        f"{name} holds {dtype} since {history.line(culprit)}{how}.{literal} Only "
        "floating point and complex tensors can require gradients.",
        chosen.site,
        "Write `1.0` for `1`, pass `dtype=torch.float32`, or convert with `.float()` "
        "before asking for gradients.",
        symptom=raised.site,
        related=(Related("asked to require grad", raised.site),),
        line=chosen.line,
        tensors=() if value is None else (value.tensor,),
        explains=True,
        edit=in_floats(chosen.site, chosen.line),
    )


def _chosen(history: History, maker: Call) -> Decision:
    """Return the whole number elsewhere that a tensor was filled with, or its line."""
    own = Decision(maker.site)
    if maker.op not in _FILLED or maker.keywords.get("dtype") is not None:
        return own
    place, name = _FILLED[maker.op]
    found = of_given(history, maker.site, maker.stack, place, (name,))
    return found if found.is_elsewhere and found.text.isdecimal() else own


def _whole(value: Value) -> bool:
    return not value.dtype.startswith(("float", "bfloat", "complex"))
