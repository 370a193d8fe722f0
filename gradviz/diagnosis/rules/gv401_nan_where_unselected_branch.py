"""GV401: a branch that was not taken makes the gradient NaN.

What it does
    Finds a backward function with an infinite derivative whose incoming gradient is 0
    because ``where``, ``masked_fill``, ``clamp`` or an index did not select it.
Why is this bad
    Both branches of ``where`` are differentiated. The one that was not selected gets a
    gradient of 0, and 0 times infinity is NaN, although the forward values are fine.
Example
    ``y = torch.where(x > 0, torch.log(x), 0.0)`` with a 0 in ``x``.
Use instead
    Make the operand safe first: ``safe = torch.where(x > 0, x, 1.0)``, then
    ``y = torch.where(x > 0, torch.log(safe), 0.0)``.
When it stays quiet
    The derivative of the branch is finite, or its NaN reaches no gradient.
References
    pytorch/pytorch#68425; the documentation of ``torch.where``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.numbers import divisor_text, selected_before
from gradviz.diagnosis.nonfinite_kinds import of_kind, selected_away
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History


@rule("GV401", "nan-where-unselected-branch", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the derivatives that a selection multiplied with 0."""
    for birth in of_kind(history, "branch"):
        assert birth.node is not None
        selecting = history.node(selected_away(history, birth))
        name = selecting.name if selecting is not None else "a selection"
        site = selecting.site if selecting is not None else None
        divides = birth.node.name.startswith("Div")
        by = divisor_text(history, birth.site) if divides else ""
        x = in_code(by) if by else words.operand(history, birth)
        put = "1.0" if x == "…" else f"1.0 in place of `{x}`"
        found = words.hit(
            history,
            birth,
            f"{birth.node.name} of {history.quoted(birth.site)} turned a gradient of 0 "
            f"into NaN{words.place(birth)}: {name} ({history.line(site)}) did not "
            "select these elements, so their gradient is 0, but the derivative here is "
            "infinite, and 0 * inf is NaN. The forward values hide it.",
            "Give the unselected elements a harmless operand before this op, such as "
            f"{put}, and select again afterwards.",
        )
        related = (Related("selected here", site), *found.related)
        yield replace(found, related=related, edit=selected_before(birth.site, site))
