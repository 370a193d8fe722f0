"""A comparison decides what reaches the loss, and what it compares never learns.

What it does
    Finds comparisons (``>``, ``==``, ``.bool()``) on the way to a root where the leaves
    behind get no gradient in the whole run. Where a helper decides so for a metric as
    well, who hands its result to the loss is to blame.

Why is this bad
    The result is true or false; it does not change when a score changes a little, so
    there is no derivative and the graph ends.

Example
    ::

        gate = (gate_net(x) > 0.5).float()
        loss = (gate * value_net(x)).sum()

Use instead
    ::

        gate = torch.sigmoid(gate_net(x))

When it stays quiet
    Masks of values that reach the loss themselves, accuracies, straight-through gates.

References
    https://discuss.pytorch.org/t/4549
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.decisions.helpers import misused
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV310", "threshold-cuts-gradient", "threshold")
def words(history: History, cut: Cut) -> Words:
    call = cut.call
    caller = misused(history, call, cut.backward)
    if caller is not None:
        return Words(
            f"{history.quoted(caller)} gives the loss a yes or no, of "
            f"`{history.text(call.site)}` in {history.line(call.site)}: it has no "
            "gradient, and the graph ends there.",
            "Compute the loss from what is compared there, a sigmoid of it perhaps, "
            f"and keep `{history.text(caller)}` for what is only measured.",
            caller,
            related=(Related("the graph ends here", call.site),),
        )
    return Words(
        f"`{history.text(call.site)}` in {history.line(call.site)} is a yes or no "
        "without a gradient: the graph ends here.",
        "Use a smooth gate in its place: `torch.sigmoid(…)` of what is compared there.",
        call.site,
    )
