"""The gradient with respect to a tensor is wanted that does not require grad.

What it does
    Finds tensors given to ``autograd.grad`` that require no gradient, and the line that
    made them, or that cut them off. Where a loop got it from a loader, the line that
    computes with it first, in the function that wants the gradient, is to blame.

Why is this bad
    The result was computed from the tensor as from a constant. Asking for its gradient
    afterwards is too late: nothing was recorded on the way.

Example
    ::

        x = torch.linspace(0, 1, 32).reshape(-1, 1)
        (du,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)

Use instead
    ::

        x = torch.linspace(0, 1, 32).reshape(-1, 1).requires_grad_()
        (du,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)

When it stays quiet
    Where every tensor asked for requires grad.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.learning import freezing
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import (
    failed_backwards,
    made_at,
    name_of,
    rebound,
)
from gradviz.program import Backward, History, RawSite, Value

_REFUSED = "differentiated Tensors does not require grad"


@rule("GV222", "grad-of-constant", "error")
def check(history: History) -> Iterator[Hit]:
    for backward in failed_backwards(history, _REFUSED):
        for value in backward.inputs:
            if not value.requires_grad:
                yield _hit(history, backward, value)
                break


def _first_use(history: History, backward: Backward, value: Value) -> RawSite | None:
    """Return the line that first uses a tensor in the function that asks for it."""
    asking = None if backward.site is None else backward.site[0]
    for use in history.uses(value.tensor):
        for frame in use.frames if use.index < backward.index else ():
            if frame[0] is asking:
                return frame
    return None


def _hit(history: History, backward: Backward, value: Value) -> Hit:
    known = name_of(history, value, "")
    name = known.strip("`") or "x"
    subject = known or "A tensor"
    site = made_at(history, value)
    maker = history.producer(value)
    where = history.line(site)
    frozen = freezing(history, value.tensor)
    if frozen is not None:
        what = f"{subject} was frozen in {history.line(frozen.site)}"
        fix = "Ask only for tensors that require grad, or leave this one unfrozen."
    elif maker is not None and any(each.requires_grad for each in maker.inputs):
        how = "without gradients" if not maker.grad_enabled else f"by `{maker.op}`"
        what = f"{subject} was made in {where} {how}, so its graph ends there"
        fix = "Differentiate with respect to the tensor before the cut, or remove it."
    else:
        born = f", made in {where}," if site is not None else ""
        what = f"{subject}{born} does not require grad"
        on = rebound(history, site) or name
        fix = (
            f"Call `{on}.requires_grad_()` before anything is computed from it, or "
            "create it with `requires_grad=True`."
        )
        given = isinstance(history.places.statement(site), ast.For)
        first = _first_use(history, backward, value) if given else None
        if first is not None:
            site = first
            fix = f"Write `{on} = {on}.detach().requires_grad_()` before this line."
    return Hit(
        f"{what}: the result was computed from it as from a constant, and "
        f"{history.line(backward.site)} finds no gradient with respect to it.",
        site if site is not None and frozen is None else backward.site,
        fix,
        symptom=backward.site,
        related=(
            Related("frozen here", frozen and frozen.site),
            Related("asked for its gradient", backward.site),
            Related("result made here", made_at(history, backward.roots[0])),
        ),
        tensors=(value.tensor,),
        explains=history.ended_by(backward),
    )
