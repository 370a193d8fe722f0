"""``backward()`` is called on a number that was a tensor before.

What it does
    Finds the ``item()``, ``float()`` or ``tolist()`` that made a Python number of a
    loss, where the run ended because a number has no ``backward``.

Why is this bad
    A number has no graph, so there is nothing to walk back. Where the losses of several
    parts are added up, one ``.item()`` is enough.

Example
    ::

        total = sum(criterion(out, y).item() for out in outputs)
        total.backward()

Use instead
    ::

        total = sum(criterion(out, y) for out in outputs)

When it stays quiet
    The run ended otherwise, or no tensor with a graph was made a number.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import ARRAYS, NUMBERS, name_of
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History


@rule("GV321", "backward-of-a-number", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the last conversion before the end."""
    raised = history.raised
    if raised is None or raised.kind != "AttributeError":
        return
    if "'backward'" not in raised.text:
        return
    exports = (
        call
        for call in reversed(history.calls)
        if name_of(call) in NUMBERS | ARRAYS
        and call.inputs
        and call.inputs[0].requires_grad
    )
    call = next(exports, None)
    if call is not None:
        yield Hit(
            f"{history.quoted(call.site)} turns "
            f"{history.name(call.inputs[0], 'a tensor with a graph')} into a Python "
            f"number, and {history.quoted(raised.site)} asks a number for backward().",
            call.site,
            "Keep the tensor for backward(); take its number only to print or log it.",
            symptom=raised.site,
            tensors=(call.inputs[0].tensor,),
            edit=without_method(call.site, ("item",)),
            explains=True,
        )
