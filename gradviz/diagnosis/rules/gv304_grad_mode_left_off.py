"""Gradients were switched off for the whole program and never on again.

What it does
    Finds operations on the way to a root that ran without gradients because of a
    ``torch.set_grad_enabled(False)`` that nothing undid, or of a generator that was
    suspended inside ``with torch.no_grad():``.

Why is this bad
    The mode is a switch of the thread, not of the function that sets it. Everything
    after it is recorded without a graph, often far from the line that did it.

Example
    ::

        def validate():
            torch.set_grad_enabled(False)
            return net(x).item()

Use instead
    ::

        def validate():
            with torch.no_grad():
                return net(x).item()

When it stays quiet
    Switches that are undone before the next forward pass of a loss.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_grad_enabled.html
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV304", "grad-mode-left-off", "left")
def words(history: History, cut: Cut) -> Words:
    site = cut.place
    return Words(
        f"Gradients are off since `{history.text(site)}` in {history.line(site)}, and "
        f"still were in {history.line(cut.call.site)}, where "
        f"`{history.text(cut.call.site)}` ran: no graph was recorded.",
        "Use `with torch.no_grad():` around what is only measured; it restores the "
        "mode at its end.",
        site,
        related=(Related("ran without gradients", cut.call.site),),
    )
