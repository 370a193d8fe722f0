"""A call was refused, and no other rule knows why.

What it does
    Names the line of the program that raised the exception that ended the run, what
    the line uses, and who ran it: a backward or a hook, too, which the engine calls. Of
    a saved state that an optimizer refuses, the line that made the optimizer with
    other groups of parameters. Of a word that the exception speaks of and the call was
    given (``mode="bilinear"``), the line that chose it.

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
    (``raise``, ``assert``), where a file or a package is missing, and of an expression
    of constants alone (``1 / 0``). In a program or a cell that does nothing with
    tensors.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.diagnosis._raised import own_site
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.arguments import spoken_of
from gradviz.diagnosis.decisions.bindings import returned, set_attributes
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import called_function
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import same_line, site_of
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.rule import LAST_RESORT, Hit, Related, rule
from gradviz.diagnosis.rules._bindings import bound_at
from gradviz.diagnosis.rules._lifetime import loads
from gradviz.diagnosis.rules._origins import described, origin, shape_text
from gradviz.diagnosis.rules._raised_within import origins, within
from gradviz.diagnosis.rules._refused_states import refused_state
from gradviz.program import Call, History, Raised, RawSite, Value

_STOPPED = words("KeyboardInterrupt SystemExit GeneratorExit Terminated Abandoned")
_NOT_THE_PROGRAM = words(
    "StopIteration MemoryError ImportError "
    "ModuleNotFoundError OSError FileNotFoundError FileExistsError PermissionError "
    "IsADirectoryError NotADirectoryError ConnectionError ConnectionRefusedError "
    "TimeoutError BrokenPipeError BlockingIOError InterruptedError"
)  # something around it is missing
_MOST = 4  # operands that are described
_MOST_NAMES = 8
_COMPARE = (
    "Compare what it is given with what it takes: sizes, dtypes, and the range of "
    "indices."
)
_BY_KIND = {
    "KeyError": "Look at the keys that are there (`print(list(…))`), and use one of "
    "them, or put this one in before.",
    "ZeroDivisionError": "Find out why the divisor is 0 here. Where it may be, leave "
    "the line out in that case.",
    "NameError": "Give the name its value on every way that leads here.",
    "UnboundLocalError": "Give the name its value on every way that leads here.",
}
_LACKING = "Write a name that it has, or give it that attribute in `__init__`."
_REBUILD = (
    "Give the optimizer the same groups as the one had whose state is loaded: freeze, "
    "thaw and choose its parameters for the stage that the checkpoint comes from, "
    "before it is made."
)
_REPLACED = (
    " This line had run before and put its result in the place of `{0}`: each later "
    "run reads that result, and not what `{0}` was at first."
)
_OWN_NAME = (
    "Give the result a name of its own, and use that name below: then `{0}` stays as "
    "it was."
)
_CHOOSE = "Choose another value here: {} does not take this one for what it is given."
_UNPACK = "The name stands for a tuple: unpack it, `x, = …` or `output, state = …`."


@rule("GV642", "call-refused", "error")
def check(history: History) -> Iterator[Hit]:
    raised = history.raised
    if raised is None or raised.kind in _STOPPED:  # by somebody, wherever it was
        return
    call = next(filter(history.ended_by, reversed(history.calls)), None)
    site = raised.site if call is None else own_site(call)
    own = isinstance(history.places.statement(site), ast.Raise | ast.Assert)
    if site is None or own or (call is None and not _concerns(history, raised)):
        return
    given = _operands(history, call, site)
    lacking = _of_module(history, raised) is not None
    advice = _LACKING if lacking else _BY_KIND.get(raised.kind, _COMPARE)
    replaced = _replaced(history, site, given)
    if replaced:
        advice = _OWN_NAME.format(replaced)
    otherwise = None, "", advice
    bound, role, fix = next(_bound(history, raised, call, site), otherwise)
    around, led = within(history, raised) if call is None else ("", ())
    state = refused_state(history)
    yield Hit(
        f"`{history.text(site)}` raised {raised.kind}: {_first_line(raised)}{around}"
        f"{_given(history, call, given)}{_attributes(history, raised, site)}"
        f"{'' if state is None else f' {state.words}'}"
        f"{_REPLACED.format(replaced) if replaced else ''}",
        bound or site,
        fix,
        symptom=site,
        related=(
            Related(role, site if bound else None),
            Related("made the saved one", state.other if state else None),
            *led,
            *_related(history, given),
            *(() if call else origins(history, site, () if around else raised.stack)),
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


def _replaced(history: History, site: RawSite, given: tuple[Value, ...]) -> str:
    """Return the operand that an earlier run of the same line has made, if any."""
    targets = history.places.targets(site)
    for value in given:
        name = history.bare_name(value)
        origins = {origin(history, value, "shape"), origin(history, value, "dtype")}
        again = any(each and same_line(each, site) for each in origins)
        if name and name in targets and again:
            return name
    return ""


def _bound(
    history: History, raised: Raised, call: Call | None, site: RawSite
) -> Iterator[tuple[RawSite | None, str, str]]:
    """Yield the line that gave a call what it refuses, its role and what to do."""
    tuple_at = _tuple_bound(history, raised, site)
    if tuple_at is not None:
        yield tuple_at, "takes the tuple", _UNPACK
    if "NoneType" in raised.text:
        yield from _none_bound(history, raised, site)
    state = refused_state(history)
    if state is not None:
        yield state.made, "loads the state", _REBUILD
    chosen = _spoken_of(history, raised, call, site)
    if chosen is not None and not same_line(chosen, site):
        yield chosen, "refused here", _CHOOSE.format(history.line(site))


def _spoken_of(
    history: History, raised: Raised, call: Call | None, site: RawSite
) -> RawSite | None:
    """Return the line that chose a word which a call was given and its error names.

    Also of what the layer was given that the call is part of.
    """
    layer = None if call is None else module_around(history, call.module)
    places = [spot(history, site, raised.stack)]
    if layer is not None:
        places.append(spot(history, layer.site, layer.stack))
    names = () if call is None else call.keywords
    found = {
        each.node: each
        for where in places
        if where is not None
        for each in spoken_of(where, raised.text, names)
    }
    return site_of(history, found.popitem()[1]) if len(found) == 1 else None


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
    refused = parsed_expression(history.text(site))
    given = refused.args if isinstance(refused, ast.Call) else []
    names = [each.id for each in given if isinstance(each, ast.Name)]
    found = [bound_at(history, site, name) for name in names]
    return found[0] if len(found) == 1 else None


def _concerns(history: History, raised: Raised) -> bool:
    """Tell whether an exception came out of a program that works with tensors.

    Of a notebook that is the cell: what others did is over. An expression of constants
    (``1 / 0``) uses nothing that was computed.
    """
    if raised.kind in _NOT_THE_PROGRAM or not raised.frames:
        return False
    where = spot(history, raised.site)
    parts = () if where is None else ast.walk(where.node)
    constant = ast.Constant | ast.operator | ast.BinOp
    if where is not None and all(isinstance(each, constant) for each in parts):
        return False
    outermost = raised.frames[-1][0]
    events = (*history.calls, *history.backwards)
    frames = (frame for event in events for frame in event.frames)
    made = (
        m for each in history.program.modules.values() for m in (each.site, *each.stack)
    )
    return any(
        each is not None and each[0] is outermost for each in chain(frames, made)
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
