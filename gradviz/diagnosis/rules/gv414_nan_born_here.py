"""GV414: an op made NaN or Inf of finite operands.

What it does
    Names the first op, or the first derivative, that gave a NaN or Inf although all it
    got was finite, where no more special rule knows why.
Why is this bad
    Everything after it is bad as well, and the place where it is noticed is seldom the
    place where it was born.
Example
    ``(1 - mask) * float("-inf")``: 0 * -inf is NaN.
Use instead
    ``masked_fill`` or ``where`` for masks; a limit on the operands otherwise.
When it stays quiet
    The value is made finite again, or reaches no loss, gradient or parameter.
References
    pytorch/pytorch#160016.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import numbers_in
from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.growth import Growth, growth
from gradviz.diagnosis.nonfinite import Birth
from gradviz.diagnosis.nonfinite_kinds import of_kind
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History

_SHRINK = (
    "Scale the repeated weight so that it keeps the norm (orthogonal initialisation), "
    "or normalise between the repetitions (`nn.LayerNorm`, `tanh`)."
)


@rule("GV414", "nan-born-here", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the births that no other rule explains."""
    for birth in of_kind(history, "other"):
        turned = birth.turned_nan if birth.chosen else None
        culprit = turned.site if turned is not None else None
        grown = None if birth.chosen else growth(history, birth.call)
        if grown is None:
            message, fix = _message(history, birth), _fix(history, birth)
        else:
            culprit, message, fix = grown.site, _grew(history, birth, grown), _SHRINK
        yield words.hit(history, birth, message, fix, culprit)


def _grew(history: History, birth: Birth, grown: Growth) -> str:
    where = history.quoted(birth.site)
    return (
        f"{history.quoted(grown.site)} ran {grown.runs} times, and each run made its "
        f"result about {grown.per_run:.2g} times as large: from {grown.first:.3g} to "
        f"{grown.last:.3g}. So {where} gave {words.kind_of(birth)}."
    )


def _message(history: History, birth: Birth) -> str:
    turned = birth.turned_nan
    if birth.chosen and turned is not None:
        return (
            f"{history.quoted(turned.site)} made NaN of the Inf that "
            f"{history.quoted(birth.site)} put in on purpose."
        )
    where = history.quoted(birth.site)
    if birth.node is not None:
        return (
            f"{birth.node.name} of {where} made {words.kind_of(birth)} of finite "
            f"gradients{words.place(birth)}."
        )
    return (
        f"{where} made {words.kind_of(birth)} of finite operands{words.place(birth)}"
        f"{words.between(history, birth.call)}."
    )


def _fix(history: History, birth: Birth) -> str:
    call, turned = birth.call, birth.turned_nan
    if birth.chosen and turned is not None:
        here, there = history.line(turned.site), history.line(birth.site)
        return (
            f"`0 * inf` and `inf - inf` are NaN: put a large finite number in at "
            f"{there} (`torch.finfo(x.dtype).min`, say), with which {here} can "
            "calculate. Only softmax, logsumexp, max and min may meet an infinity."
        )
    if call is not None and any(abs(n) > 1e300 for n in numbers_in(call)):
        return (
            "Put infinities in with masked_fill or torch.where and let only softmax, "
            "max or min read them: `0 * inf` and `inf - inf` are NaN."
        )
    return "Limit or rescale the operands of this line before it."
