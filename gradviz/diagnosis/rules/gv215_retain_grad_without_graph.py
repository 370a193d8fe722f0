"""A gradient is asked to be kept at a tensor that has no graph.

What it does
    Finds ``retain_grad()`` on a tensor without a graph, and names the line where its
    graph ended: a ``detach()``, ``no_grad``, an operation without derivative.

Why is this bad
    No gradient can arrive at such a tensor, so there is none to retain.

Example
    ::

        h = encoder(x).detach()
        h.retain_grad()

Use instead
    ::

        h = encoder(x)
        h.retain_grad()

When it stays quiet
    Where the tensor requires grad.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.diagnosis.rules._origins import first_with, raised_with, suspect
from gradviz.program import History, RawSite, Value


@rule("GV215", "retain-grad-without-graph", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended at a retain_grad() that had nothing to retain."""
    raised = raised_with(history, "can't retain_grad on Tensor")
    if raised is None:
        return
    value = suspect(history, raised, _bare)
    maker = None if value is None else first_with(history, value, _bare)
    cut = maker is not None and any(each.requires_grad for each in maker.inputs)
    name = name_of(history, value, "The tensor")
    culprit = maker.site if maker is not None and cut else raised.site
    where = ""
    if maker is not None and cut:
        why = "with grad mode off" if not maker.grad_enabled else f"with `{maker.op}`"
        where = f": its graph ended in {history.line(culprit)}, {why}"
    yield Hit(
        f"{name} does not require grad{where}. No gradient will reach it.",
        culprit,
        _fix(history, raised.site, cut),
        symptom=raised.site,
        related=(Related("asked to retain its gradient", raised.site),),
        tensors=() if value is None else (value.tensor,),
        explains=True,
    )


def _fix(history: History, site: RawSite | None, cut: bool) -> str:
    x = in_code(operand_text(history, site))
    wanted = "Keep the graph up to it."
    if not cut:
        wanted = f"If gradients are to begin at it, call `{x}.requires_grad_()`."
    return f"{wanted} If it is to have none, ask only `if {x}.requires_grad`."


def _bare(value: Value) -> bool:
    return not value.requires_grad
