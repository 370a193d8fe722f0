"""A call was refused, and no other rule knows why.

What it does
    Names the line of the program whose call raised the exception that ended the run,
    and what the call was given.

Why is this bad
    The run is over. The traceback ends inside a library; the line to look at is the
    last of the program's own, and what was wrong is seldom in the message.

Example
    ::

        table = nn.Embedding(4, 8)
        table(torch.tensor([1, 4]))

Use instead
    ::

        table = nn.Embedding(5, 8)  # indices 0 to 4
        table(torch.tensor([1, 4]))

When it stays quiet
    Where another rule explains the exception, where the program raises it itself
    (``raise``, ``assert``), and for exceptions that have nothing to do with tensors.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.diagnosis._raised import own_site
from gradviz.diagnosis.rule import LAST_RESORT, Hit, Related, rule
from gradviz.diagnosis.rules._bindings import bound_at
from gradviz.diagnosis.rules._origins import described, made_at
from gradviz.program import Call, History, Raised, RawSite, Value

_KINDS = words(
    "RuntimeError IndexError ValueError TypeError AttributeError NotImplementedError "
    "OutOfMemoryError"
)
_MOST = 4  # operands that are described
_COMPARE = (
    "Compare what it is given with what it takes: sizes, dtypes, and the range of "
    "indices."
)
_UNPACK = "The name stands for a tuple: unpack it, `x, = …` or `output, state = …`."


@rule("GV642", "call-refused", "error")
def check(history: History) -> Iterator[Hit]:
    raised = history.raised
    if raised is None or raised.kind not in _KINDS:
        return
    call = next(filter(history.ended_by, reversed(history.calls)), None)
    site = raised.site if call is None else own_site(call)
    own = isinstance(history.places.statement(site), ast.Raise | ast.Assert)
    if site is None or own or (call is None and not _library(raised)):
        return
    bound = _tuple_bound(history, raised, site)
    yield Hit(
        f"`{history.text(site)}` raised {raised.kind}: {_first_line(raised)}"
        f"{_given(history, call)}",
        bound or site,
        _UNPACK if bound else _COMPARE,
        symptom=site,
        related=(
            *([Related("takes the tuple", site, _UNPACK)] if bound else []),
            *_related(history, call),
        ),
        tensors=() if call is None else tuple(each.tensor for each in call.inputs),
        explains=True,
        certainty=LAST_RESORT,
    )


def _tuple_bound(history: History, raised: Raised, site: RawSite) -> RawSite | None:
    """Return the line that gave a name a tuple, which a call wanted as a tensor."""
    if raised.kind != "TypeError" or "not tuple" not in raised.text:
        return None
    try:
        refused = ast.parse(history.text(site), mode="eval").body
    except SyntaxError:
        return None
    given = refused.args if isinstance(refused, ast.Call) else []
    names = [each.id for each in given if isinstance(each, ast.Name)]
    found = [bound_at(history, site, name) for name in names]
    return found[0] if len(found) == 1 else None


def _library(raised: Raised) -> bool:
    """Return whether an exception without a call came from the tensor library."""
    return raised.kind == "RuntimeError" or any(
        word in raised.text for word in ("torch", "Tensor", "tensor", "Module", "param")
    )


def _first_line(raised: Raised) -> str:
    line = raised.text.strip().partition("\n")[0]
    return line if line.endswith((".", "!", "?", ":")) else f"{line}."


def _given(history: History, call: Call | None) -> str:
    """Return a sentence about the operands of a call."""
    if call is None or not call.inputs:
        return ""
    words = [_operand(history, call, each) for each in call.inputs[:_MOST]]
    return f" `{call.op}` was given {', '.join(words)}."


def _operand(history: History, call: Call, value: Value) -> str:
    place = call.inputs.index(value) + 1
    text = f"{described(history, value, f'operand {place}')} ({value.dtype}"
    summary = value.summary
    if "int" in value.dtype and summary is not None and summary.maximum is not None:
        text += f" from {summary.minimum:.0f} to {summary.maximum:.0f}"
    return f"{text})"


def _related(history: History, call: Call | None) -> tuple[Related, ...]:
    sites: dict[RawSite, None] = {}
    for value in () if call is None else call.inputs:
        site = made_at(history, value.tensor)
        if site is not None:
            sites[site] = None
    return tuple(Related("made here", site) for site in sites)
