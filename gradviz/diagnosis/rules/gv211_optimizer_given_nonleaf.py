"""An optimizer is given the result of an operation.

What it does
    Finds optimizers that were given the result of an operation, and names the
    operation.

Why is this bad
    An optimizer changes leaves: a result is computed from something else, which would
    bring the old value back with the next forward pass. It has no ``.grad`` either.

Example
    ::

        w = torch.randn(3, requires_grad=True) * 0.1
        optimizer = torch.optim.SGD([w], lr=0.1)

Use instead
    ::

        w = (torch.randn(3) * 0.1).requires_grad_()
        optimizer = torch.optim.SGD([w], lr=0.1)

When it stays quiet
    Where every tensor given is a leaf.

References
    https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.leaves import gradients_last
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import made_at, name_of
from gradviz.diagnosis.rules._origins import is_result, raised_with, suspect
from gradviz.program import History, Value


@rule("GV211", "optimizer-given-nonleaf", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if an optimizer refused a tensor that is no leaf."""
    raised = raised_with(history, "can't optimize a non-leaf Tensor")
    if raised is None:
        return
    value = suspect(history, raised, is_result) or next(_not_used(history), None)
    if value is None:
        message, culprit = "One of the tensors given to it is computed", raised.site
    else:
        culprit = made_at(history, value) or raised.site
        message = (
            f"{name_of(history, value)} is computed in {history.line(culprit)}, from a "
            "tensor that requires grad"
        )
    yield Hit(
        f"The optimizer made in {history.line(raised.site)} can train only tensors "
        f'that are not computed from others ("leaves"). {message}.',
        culprit,
        "Compute first, and ask for gradients last: `(…).requires_grad_()`, or "
        "`nn.Parameter(…)`.",
        symptom=raised.site,
        related=(Related("given to the optimizer", raised.site),),
        tensors=() if value is None else (value.tensor,),
        explains=True,
        edit=gradients_last(culprit),
    )


def _not_used(history: History) -> Iterator[Value]:
    """Yield the results that no call took: of a list or a dict given to an optimizer.

    They are what the program has computed to keep.
    """
    for call in history.calls:
        for value in call.outputs:
            if is_result(value) and not history.uses(value.tensor):
                yield value
