"""A tensor made in inference mode is needed for gradients.

What it does
    Finds the line that made a tensor in inference mode which autograd later had to
    save, change or give a gradient.

Why is this bad
    A tensor made in inference mode has no version counter and never will. Outside of
    inference mode autograd can read it, and nothing else.

Example
    ::

        with torch.inference_mode():
            features = backbone(x)
        head(features).mean().backward()

Use instead
    ::

        with torch.no_grad():
            features = backbone(x)
        head(features).mean().backward()

When it stays quiet
    Where such tensors are only evaluated.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules._lifetime import loop_site, name_of
from gradviz.diagnosis.rules._origins import raised_with, suspects
from gradviz.program.events import Call, ModeSwitched
from gradviz.program.history import History
from gradviz.program.values import RawSite, Value


def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended because of a tensor from inference mode."""
    raised = raised_with(history, "inference tensor")
    if raised is None:
        return
    tensor, maker = _born(history)
    culprit = raised.site if maker is None else loop_site(history, maker)
    name = "A tensor" if tensor is None else name_of(history, tensor, "A tensor")
    mode = None if maker is None else _mode(history, maker)
    where = "" if maker is None else f" in {history.line(culprit)}"
    yield Hit(
        f"{name} was made in inference mode{where}, and {history.line(raised.site)} "
        "needs it for gradients.",
        culprit,
        "Use `torch.no_grad()` there instead of `inference_mode()`, or `clone()` the "
        "tensor outside before autograd meets it.",
        symptom=raised.site,
        related=(
            Related("inference mode entered", mode),
            Related("needed for gradients", raised.site),
        ),
        tensors=() if tensor is None else (tensor.tensor,),
        explains=True,
    )


def _born(history: History) -> tuple[Value | None, Call | None]:
    """Return the tensor from inference mode, and the call that made it."""
    raised = raised_with(history, "inference tensor")
    assert raised is not None
    for value, _ in suspects(history, raised, lambda _: True):
        maker = history.producer(value)
        if maker is not None and maker.inference:
            return value, maker
    for call in reversed(history.calls):
        if call.inference and call.outputs:
            return call.outputs[-1], call
    return None, None


def _mode(history: History, maker: Call) -> RawSite | None:
    found = None
    for event in history.of(ModeSwitched):
        entered = "inference" in event.how and not event.leaving
        if entered and event.index < maker.index:
            found = event.site
    return found


RULE = Rule("GV221", "inference-tensor-in-autograd", "error", check)
