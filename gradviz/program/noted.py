"""Events in short: what producers note while the user's program waits.

A note is a tuple of numbers, strings and such tuples: cheap to make, and nothing that
Python's garbage collector would look at again and again while a log grows. Most events
of a long run are never read; those that are become records when they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from gradviz.program.events import (
    Backward,
    Call,
    Event,
    ModuleCall,
    OptimizerCall,
    Runs,
)
from gradviz.program.values import (
    ParameterState,
    RawSite,
    StaleSaved,
    Summary,
    Value,
    Write,
)

Glance: TypeAlias = tuple[Any, ...]
"""A Value in short: its fields in order, up to the last that is not as usual."""

Noted: TypeAlias = tuple[Any, ...]
"""An event in short: its kind, its index and what :func:`event_of` takes further."""

AS_IT_IS: Any = object()
"""In a brief note: what comes next is an argument, though it may look like a glance."""


SWITCHES = ("requires_grad_", "requires_grad.set")
"""Calls that set requires_grad of a tensor."""


class Place(int):
    """Stands for the input of this number among the arguments of a note."""

    __slots__ = ()


PLACES = tuple([Place(number) for number in range(64)])
"""Made once: notes that repeat their inputs are more for the collector to visit."""

AsValue: TypeAlias = Callable[..., Any]
"""Makes a Value of a glance, or what a second argument makes of other fields."""


def events_of(noted: Noted, value: AsValue) -> list[Event]:
    """Return the events that were noted; ``value`` turns glances into values.

    All but a run are one; a run makes its own, of what is known of such runs.

    >>> begun = "relu", None, 0, (), 1, (), (), (), None, None
    >>> noted = "call", 7, begun, (), (), (), None
    >>> events_of(noted, lambda glance: Value(*glance))[0].op
    'relu'
    """
    if noted[0] == "run":
        return noted[2].events(value, noted[1], *noted[3:])
    return [_KINDS[noted[0]](value, *noted[1:])]


def call_of(
    value: AsValue,
    index: int,
    begun: tuple[Any, ...],  # what was known before; keywords are name, value, ...
    outputs: tuple[Glance, ...],
    nodes: tuple[int, ...],
    writes: tuple[tuple[int, int, int, Glance], ...],  # as in Write
    result: Any,
    grad_enabled: bool = True,  # as it is where a call makes nodes
    inference: bool = False,
) -> Call:
    """Return a call of a function."""
    op, code, lasti, stack, thread, given, arguments, keywords, module, within = begun
    inputs = tuple([value(glance) for glance in given])
    known = dict(zip(map(id, given), inputs, strict=True))
    plain = inputs if arguments is given else _full(arguments, known)
    return Call(
        index=index,
        site=None if code is None else (code, lasti),
        stack=stack,
        thread=thread,
        op=op,
        inputs=inputs,
        outputs=tuple([value(glance) for glance in outputs]),
        arguments=plain,
        keywords=dict(zip(keywords[::2], _full(keywords[1::2], known), strict=True)),
        nodes=nodes,
        writes=tuple([Write(*each[:3], value(each[3])) for each in writes]),
        grad_enabled=grad_enabled,
        inference=inference,
        module=module,
        within=within,
        result=result,
    )


def _op(
    value: AsValue,
    index: int,
    op: str,
    code: Any,
    lasti: int,
    stack: tuple[RawSite, ...],
    thread: int,
    grad_enabled: bool,
    inference: bool,
    module: int | None,
    within: int | None,
    arguments: tuple[Any, ...] | None,  # with places of inputs; None: just the inputs
    keywords: tuple[Any, ...],
    writes: tuple[tuple[int, int, int, Glance], ...],
    result: Any,
    count: int,  # of the inputs; after them come the outputs
    *glances: Glance,
) -> Call:
    given, outputs = glances[:count], glances[count:]
    plain = given
    if arguments is not None:
        plain = tuple([given[a] if type(a) is Place else a for a in arguments])
    begun = op, code, lasti, stack, thread, given, plain, keywords, module, within
    modes = grad_enabled, inference
    return call_of(value, index, begun, outputs, (), writes, result, *modes)


def _brief(
    value: AsValue,
    index: int,
    op: str,
    code: Any,
    lasti: int,
    stack: tuple[RawSite, ...],
    thread: int,
    grad_enabled: bool,
    inference: bool,
    module: int | None,
    within: int | None,
    output: Glance,
    *given: Any,  # arguments; after a glance comes the version it does not know of
) -> Call:
    inputs: list[Value] = []
    arguments: list[Any] = []
    rest = iter(given)
    for each in rest:
        if type(each) is tuple:
            inputs.append(value(each, Value, next(rest)))
            arguments.append(inputs[-1])
        elif each is AS_IT_IS:
            arguments.append(next(rest))
        else:
            arguments.append(each)
    return Call(
        index=index,
        site=None if code is None else (code, lasti),
        stack=stack,
        thread=thread,
        op=op,
        inputs=tuple(inputs),
        outputs=(value(output),),
        arguments=tuple(arguments),
        grad_enabled=grad_enabled,
        inference=inference,
        module=module,
        within=within,
    )


def leaves_given(noted: Any) -> Iterable[int]:
    """Return the leaves to whose ``.grad`` a pass added; it may still be a note.

    >>> list(leaves_given(Backward(index=0, leaves=(3, 4))))
    [3, 4]
    """
    if isinstance(noted, Backward):
        return noted.accumulates_into
    if type(noted) is not tuple or noted[0] != "backward" or noted[5] != "backward":
        return ()
    asked = {glance[0] for glance in noted[7]}
    return [leaf for leaf in noted[12] if not asked or leaf in asked]


def optimizer_stepped(noted: Any) -> tuple[int, ...]:
    """Return the optimizer that a step is of; it may still be a note.

    >>> optimizer_stepped(OptimizerCall(index=0, what="step", optimizer=2))
    (2,)
    """
    if isinstance(noted, OptimizerCall):
        return (noted.optimizer,) if noted.what == "step" else ()
    is_step = type(noted) is tuple and noted[0] == "optimizer" and noted[4] == "step"
    return (noted[5],) if is_step else ()


def switched(noted: Any) -> tuple[int, ...]:
    """Return the tensor whose requires_grad a call sets; it may still be a note.

    >>> w = Value(3, 3, 0, (), (), 0, "float32")
    >>> switched(Call(index=0, op="requires_grad_", inputs=(w,)))
    (3,)
    """
    if isinstance(noted, Call):
        return (noted.inputs[0].tensor,) if noted.op in SWITCHES else ()
    if type(noted) is not tuple or noted[0] not in _GIVEN:
        return ()
    op = noted[2][0] if noted[0] == "call" else noted[2]
    if op not in SWITCHES:
        return ()
    given = noted[2][5] if noted[0] == "call" else noted[_GIVEN[noted[0]] :]
    return (given[0][0],)


_GIVEN = {"call": 2, "op": 16, "brief": 12}
"""By the kind of a note of a call: where it has the glances at its inputs."""


def _full(thing: Any, known: dict[int, Value]) -> Any:
    """Return an argument with values in place of glances, told by identity."""
    if type(thing) is tuple or type(thing) is list:
        found = known.get(id(thing))
        return tuple([_full(each, known) for each in thing]) if found is None else found
    if type(thing) is dict:
        return {key: _full(each, known) for key, each in thing.items()}
    if type(thing) is slice:
        return slice(*[_full(each, known) for each in _parts(thing)])
    return thing


def _parts(thing: slice) -> tuple[Any, Any, Any]:
    return thing.start, thing.stop, thing.step


def module_call_of(
    value: AsValue,
    index: int,
    code: Any,
    lasti: int,
    thread: int,
    module: int,
    training: bool,
    grad_enabled: bool,
    parent: int | None,
) -> ModuleCall:
    """Return a call of a module."""
    return ModuleCall(
        index=index,
        site=(code, lasti),
        thread=thread,
        module=module,
        training=training,
        grad_enabled=grad_enabled,
        parent=parent,
    )


def _optimizer(
    value: AsValue,
    index: int,
    site: RawSite | None,
    thread: int,
    what: Literal["step", "zero_grad"],
    optimizer: int,
    states: tuple[tuple[Any, ...], ...],  # the fields of each ParameterState
) -> OptimizerCall:
    return OptimizerCall(
        index=index,
        site=site,
        thread=thread,
        what=what,
        optimizer=optimizer,
        states=value(states, _states),
    )


def _states(*rows: tuple[Any, ...]) -> tuple[ParameterState, ...]:
    return tuple([ParameterState(*row) for row in rows])


def _step(
    value: AsValue,
    index: int,
    site: RawSite | None,
    thread: int,
    glances: tuple[Glance | Value, ...],  # at the parameters that were written
    before: tuple[int, ...],  # their versions
    after: tuple[int, ...],
) -> Call:
    values = tuple([value(g) if type(g) is tuple else cast(Value, g) for g in glances])
    rows = zip(values, before, after, strict=True)
    return Call(
        index=index,
        site=site,
        thread=thread,
        op="step",
        inputs=values,
        writes=tuple([Write(v.storage, first, last, v) for v, first, last in rows]),
        grad_enabled=False,
    )


def _backward(
    value: AsValue,
    index: int,
    site: RawSite | None,
    stack: tuple[RawSite, ...],
    thread: int,
    api: Literal["backward", "grad"],
    roots: tuple[Glance, ...],
    inputs: tuple[Glance, ...],
    gradients: tuple[Glance | None, ...],
    retain_graph: bool,
    create_graph: bool,
    numbers: Iterable[int] | None,  # sequence numbers of nodes; None: too many
    leaves: tuple[int, ...],
    count: int,
    stale: tuple[StaleSaved, ...],
    freed: tuple[int, ...],
    runs: Runs | None = None,  # which grow while the pass runs
    number: int = 0,  # of all passes
    losses: tuple[float | None, ...] = (),  # what roots are that hold one number
) -> Backward:
    nodes = (
        () if numbers is None else (*[n + 1 for n in numbers], *[-n for n in leaves])
    )
    return Backward(
        index=index,
        site=site,
        stack=stack,
        thread=thread,
        api=api,
        roots=with_numbers(tuple([value(each) for each in roots]), losses),
        inputs=tuple([value(each) for each in inputs]),
        gradients=tuple([None if g is None else value(g) for g in gradients]),
        retain_graph=retain_graph,
        create_graph=create_graph,
        nodes=nodes,
        node_count=count,
        leaves=leaves,
        stale=stale,
        freed=freed,
        ran=[] if runs is None else runs,
        number=number,
        whole=not losses,
    )


def with_numbers(
    roots: tuple[Value, ...], losses: tuple[float | None, ...]
) -> tuple[Value, ...]:
    """Return the roots of a pass with the numbers they hold, as far as those are known.

    They are copies: what the calls before gave was not looked at.
    """
    if not losses:
        return roots
    pairs = zip(roots, losses, strict=True)
    return tuple(
        [r if n is None else replace(r, summary=Summary.of_number(n)) for r, n in pairs]
    )


_KINDS: dict[str, Callable[..., Event]] = {
    "backward": _backward,
    "brief": _brief,
    "call": call_of,
    "module": module_call_of,
    "op": _op,
    "optimizer": _optimizer,
    "step": _step,
}
