"""``gradviz.why``: ask the recording that knows a thing why it is as it is."""

from __future__ import annotations

from typing import Any

from gradviz._capture.session import recorder_of, recordings
from gradviz.answers.answer import Why
from gradviz.errors import QuestionError

_NONE = (
    "no recording is there to ask: run the code in `with gradviz.record() as "
    "recorder:` first, and keep `recorder`"
)


def why(thing: Any, question: str | None = None) -> Why:
    """Say why something is as it is, back to the line that decided.

    ``thing`` is a live tensor, parameter, module or backward function (``x.grad_fn``),
    an exception that left a recorded block, or what the program calls one of them. The
    newest recording that knows it answers, be it over or still running. ``question``
    is a word such as ``"zero"``, ``"unchanged"``, ``"writes"`` or ``"alive"``, or a
    sentence; None asks what the state of the thing asks first. Raises QuestionError
    where no recording knows it, with the names that come near.

    >>> import torch, gradviz
    >>> w = torch.ones(2, requires_grad=True)
    >>> with gradviz.record() as recorder:
    ...     (w * 3).sum().backward()
    >>> gradviz.why(w).verdict
    'w has a gradient: 1 of 1 backward pass reached it.'
    """
    try:
        return _answer(thing, question)
    except QuestionError as error:
        raise error.with_traceback(None) from None  # the user's line is what matters


def _answer(thing: Any, question: str | None) -> Why:
    known = recordings()
    if isinstance(thing, BaseException) and (left := recorder_of(thing)) is not None:
        known = [left]
    if not known:
        raise QuestionError(_NONE)
    for session in known:
        asked = session.asked()
        if asked.knows(thing):
            return asked.why(thing, question)
    return known[0].why(thing, question)
