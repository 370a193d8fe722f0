"""A tensor made in inference mode is needed for gradients.

What it does
    Finds the line that made a tensor in inference mode which autograd later had to
    save, change or give a gradient. Where nothing else is taken out of a block, names
    the line that enters the mode.

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

from gradviz.dependence.modes import decorator_line
from gradviz.diagnosis.edits.calls import renamed
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import loop_site, name_of
from gradviz.diagnosis.rules._origins import raised_with, suspects
from gradviz.program import Call, History, ModeSwitched, RawSite, Value

_FIX = (
    "Use `torch.no_grad()` there instead of `inference_mode()`, or `clone()` the "
    "tensor outside before autograd meets it."
)


@rule("GV221", "inference-tensor-in-autograd", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield a hit if the run ended because of a tensor from inference mode."""
    raised = raised_with(history, "inference tensor")
    if raised is None:
        return
    tensor, maker = _born(history)
    mode = None if maker is None else _mode(history, maker)
    born = raised.site if maker is None else _made_at(history, maker, mode)
    line = None if mode is None else decorator_line(history, mode)
    culprit = born
    if mode is not None and mode.function is not None and line is not None:
        culprit = mode.function, 0
    elif mode is not None and tensor is not None and _is_all(history, mode, tensor):
        culprit = mode.site
    name = name_of(history, tensor, "A tensor")
    where = "" if maker is None else f" in {history.line(maker.site)}"
    yield Hit(
        f"{name} was made in inference mode{where}, and {history.line(raised.site)} "
        "needs it for gradients.",
        culprit,
        _FIX,
        symptom=raised.site,
        related=(
            Related("made here", born if culprit != born else None),
            Related("inference mode entered", mode and mode.site),
            Related("needed for gradients", raised.site),
        ),
        tensors=() if tensor is None else (tensor.tensor,),
        explains=True,
        line=line,
        edit=None
        if mode is None or line is not None
        else renamed(mode.site, {"inference_mode": "no_grad"}),
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


def _mode(history: History, maker: Call) -> ModeSwitched | None:
    found = None
    for event in history.of(ModeSwitched):
        entered = "inference" in event.how and not event.leaving
        if entered and event.index < maker.index:
            found = event
    return found


def _is_all(history: History, mode: ModeSwitched, tensor: Value) -> bool:
    """Tell whether a tensor is all that a program takes out of inference mode.

    Then the mode is the mistake; else it may be meant, for an evaluation, say.
    """
    inside: set[int] = set()
    for call in history.calls:
        if call.index > mode.index and call.inference:
            inside.update(value.tensor for value in call.outputs)
        elif not inside.isdisjoint(each.tensor for each in call.inputs):
            taken = {each.tensor for each in call.inputs} & inside
            if not taken <= {tensor.tensor}:
                return False
    return True


def _made_at(
    history: History, maker: Call, mode: ModeSwitched | None
) -> RawSite | None:
    """Return the line that made it, in the function that entered the mode."""
    around = (
        () if mode is None else (mode.function, *(code for code, _ in mode.frames[:1]))
    )
    inside = [site for site in maker.frames if site[0] in around]
    return inside[0] if inside else loop_site(history, maker)
