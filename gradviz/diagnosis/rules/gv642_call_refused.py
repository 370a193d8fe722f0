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
import re
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.diagnosis._raised import own_site
from gradviz.diagnosis.decisions.bindings import returned, set_attributes
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import called_function
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import LAST_RESORT, Hit, Related, rule
from gradviz.diagnosis.rules._bindings import bound_at
from gradviz.diagnosis.rules._lifetime import loads
from gradviz.diagnosis.rules._origins import described, origin, shape_text
from gradviz.program import Call, History, Raised, RawSite, Value

_KINDS = words(
    "RuntimeError IndexError ValueError TypeError AttributeError NotImplementedError "
    "OutOfMemoryError KeyError"
)
_WORDS = ("torch", "Tensor", "tensor", "Module", "param", "NoneType")
_MOST = 4  # operands that are described
_MOST_NAMES = 8
_COMPARE = (
    "Compare what it is given with what it takes: sizes, dtypes, and the range of "
    "indices."
)
_LACKING = "Write a name that it has, or give it that attribute in `__init__`."
_UNPACK = "The name stands for a tuple: unpack it, `x, = …` or `output, state = …`."


@rule("GV642", "call-refused", "error")
def check(history: History) -> Iterator[Hit]:
    raised = history.raised
    if raised is None:
        return
    call = next(filter(history.ended_by, reversed(history.calls)), None)
    site = raised.site if call is None else own_site(call)
    own = isinstance(history.places.statement(site), ast.Raise | ast.Assert)
    given = _operands(history, call, site)
    if site is None or own or (call is None and not _library(history, raised, given)):
        return
    lacking = _of_module(history, raised) is not None
    otherwise = None, "", _LACKING if lacking else _COMPARE
    bound, role, fix = next(_bound(history, raised, site), otherwise)
    yield Hit(
        f"`{history.text(site)}` raised {raised.kind}: {_first_line(raised)}"
        f"{_given(history, call, given)}{_attributes(history, raised, site)}",
        bound or site,
        fix,
        symptom=site,
        related=(
            *([Related(role, site, fix)] if bound else []),
            *_related(history, given),
        ),
        tensors=tuple(each.tensor for each in given),
        explains=True,
        certainty=LAST_RESORT,
    )


def _operands(
    history: History, call: Call | None, site: RawSite | None
) -> tuple[Value, ...]:
    """Return what a call was given; where none is known, the tensors of a statement.

    Those are the ones that it refers to by name.
    """
    if call is not None:
        return call.inputs
    names, seen = loads(history.places.statement(site)), learning.last_seen(history)
    found = {
        facts.name: seen[key]
        for key, facts in history.program.tensors.items()
        if facts.name in names and key in seen
    }
    return tuple(found.values())


def _bound(
    history: History, raised: Raised, site: RawSite
) -> Iterator[tuple[RawSite | None, str, str]]:
    """Yield the line that gave a name what is no tensor, its role and what to do."""
    tuple_at = _tuple_bound(history, raised, site)
    if tuple_at is not None:
        yield tuple_at, "takes the tuple", _UNPACK
    if "NoneType" in raised.text:
        yield from _none_bound(history, raised, site)


def _none_bound(
    history: History, raised: Raised, site: RawSite
) -> Iterator[tuple[RawSite | None, str, str]]:
    """Yield the last line of the function that returned nothing where it ended."""
    where = spot(history, site, raised.stack)
    for each in [] if where is None else ast.walk(where.node):
        if where is None or not isinstance(each, ast.Name | ast.Call):
            continue
        for step in path(where.at(each)):
            function = called_function(history, step)
            if function is not None and not returned(function):
                found = site_of(history, step.at(function.body[-1]))
                fix = f"`{function.name}` returns nothing: end it with `return …`."
                yield found, "takes the None", fix


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


def _library(history: History, raised: Raised, given: tuple[Value, ...]) -> bool:
    """Return whether an exception without a call has to do with tensors."""
    if raised.kind not in _KINDS:
        return False
    return (
        raised.kind == "RuntimeError"
        or bool(given)
        or _of_module(history, raised) is not None
        or any(word in raised.text for word in _WORDS)
    )


def _of_module(history: History, raised: Raised) -> str | None:
    """Return the class of the program's module that lacks an attribute."""
    found = re.match(r"'(\w+)' object has no attribute '(\w+)'", raised.text.strip())
    kinds = {each.kind for each in history.program.modules.values()}
    return found[1] if found and found[1] in kinds else None


def _attributes(history: History, raised: Raised, site: RawSite) -> str:
    """Return a sentence about what a module has in the place of what it lacks."""
    kind = _of_module(history, raised)
    rows = [e for e in history.program.modules.values() if e.kind == kind]
    names = [*rows[-1].children, *rows[-1].parameters] if rows else []
    where = [f"`{name}`{_set_at(history, site, name)}" for name in names[:_MOST_NAMES]]
    return f" It has {', '.join(where)}." if where else ""


def _set_at(history: History, site: RawSite, name: str) -> str:
    where = spot(history, site)
    found = [] if where is None else set_attributes(where.source, name)
    return f" (line {found[0][0].lineno})" if len(found) == 1 else ""


def _first_line(raised: Raised) -> str:
    line = raised.text.strip().partition("\n")[0]
    return line if line.endswith((".", "!", "?", ":")) else f"{line}."


def _given(history: History, call: Call | None, given: tuple[Value, ...]) -> str:
    """Return a sentence about the operands of a call, or of a statement."""
    if not given:
        return ""
    words = [_operand(history, given, each) for each in given[:_MOST]]
    if call is None:
        return f" There, {', '.join(words)}."
    return f" `{call.op}` was given {', '.join(words)}."


def _operand(history: History, given: tuple[Value, ...], value: Value) -> str:
    place = given.index(value) + 1
    text = f"{described(history, value, f'operand {place}')} ({value.dtype}"
    summary = value.summary
    if "int" in value.dtype and summary is not None and summary.maximum is not None:
        text += f" from {summary.minimum:.0f} to {summary.maximum:.0f}"
    site = origin(history, value, "shape")
    device = "" if value.device == "cpu" else f", on {value.device}"
    return f"{text}{device}, since {history.line(site)})"


def _related(history: History, given: tuple[Value, ...]) -> tuple[Related, ...]:
    found: list[Related] = []
    for value in given[:_MOST]:
        said: dict[RawSite | None, list[str]] = {}
        for what in ("shape", "dtype"):
            text = shape_text(value) if what == "shape" else value.dtype
            said.setdefault(origin(history, value, what), []).append(text)
        found += [
            Related(f"{', '.join(t)} since here", site) for site, t in said.items()
        ]
    return tuple(each for each in found if each.site is not None)
