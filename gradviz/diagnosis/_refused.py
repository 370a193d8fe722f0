"""In-place operations that autograd refused: what was written, and how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.diagnosis._raised import Failure, failures
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import place, tensor_words
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.rule import Hit, Related
from gradviz.program import Call, History, HookRegistered, RawSite, Value


def refused(
    history: History, *parts: str
) -> Iterator[tuple[Failure, Value | None, Call | None]]:
    """Yield failures with these words, the tensor to write, and what made it."""
    for failure in failures(history, *parts):
        written = target(failure)
        made = None if written is None else history.producer(written)
        yield failure, written, made


MADE_IN_FUNCTION = "created inside a custom Function", "modified inplace"
"""Words of the refusal to write what a custom Function handed through, or a view."""


def target(failure: Failure) -> Value | None:
    """Return the tensor that a failed call wanted to write."""
    call = failure.call
    if call is None:
        return None
    out = call.keywords.get("out")
    if isinstance(out, Value):
        return out
    return call.inputs[0] if call.inputs else None


def hit(
    failure: Failure,
    message: str,
    fix: str,
    *,
    culprit: RawSite | None = None,
    line: int | None = None,
    related: Iterable[Related] = (),
    written: Value | None = None,
    edit: Remedy | None = None,
) -> Hit:
    """Return the finding for a failure; what the program caught is information."""
    node = None if written is None else written.node
    return Hit(
        message,
        failure.site if culprit is None else culprit,
        fix,
        symptom=failure.site,
        related=tuple(related),
        nodes=() if node is None else (node,),
        tensors=() if written is None else (written.tensor,),
        severity="error" if failure.ended else "info",
        explains=failure.ended,
        line=line,
        edit=edit,
    )


def hook_around(history: History, failure: Failure) -> HookRegistered | None:
    """Return the hook in which a call failed."""
    codes = {site[0] for site in (failure.site, *failure.stack) if site is not None}
    for hook in history.of(HookRegistered):
        if hook.code in codes:
            return hook
    return None


def base_words(history: History, written: Value | None, line: str = "") -> str:
    """Return ", a view of `h` made by `v = h[:2]` (line 20)", or nothing.

    A view that is made in the line that writes it needs no line of its own.
    """
    for call, base in () if written is None else ancestors(history, written):
        made = history.line(call.site)
        maker = "" if made == line else f" made by {place(history, call.site)}"
        return f", a view of {tensor_words(history, base)}{maker}"
    return ""


def subject(history: History, written: Value | None) -> str:
    """Return how to speak of the tensor that was to be written."""
    return "the tensor" if written is None else tensor_words(history, written)
