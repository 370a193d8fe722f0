"""What a module of PyTorch did before: one call, or one after the other."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from gradviz._capture.adapters.pytorch.graph.tensor_table import (
    GLANCE,
    NEEDS,
    SHAPE,
    VERSION,
    with_version,
)
from gradviz._capture.adapters.pytorch.op_names import Op
from gradviz.program.events import Event
from gradviz.program.noted import AsValue, Glance, call_of, module_call_of
from gradviz.program.records import Module

LIKE = slice(SHAPE, NEEDS + 1)
"""Of a glance: shape, strides, offset, dtype, device and need of a gradient."""


class HeldParameters:
    """The parameters of a run as they were looked at last, but for their versions."""

    __slots__ = ("forgotten", "glances", "numbers", "wanted")

    def __init__(self, rows: Sequence[tuple[Any, ...]], forgotten: int) -> None:
        """Take rows of the table of tensors; valid until a leaf is forgotten."""
        self.glances: list[Glance] = [row[GLANCE] for row in rows]
        self.numbers = tuple([row[1] for row in rows])
        self.wanted = [(row[0], row[GLANCE][NEEDS]) for row in rows]
        self.forgotten = forgotten


RunInputs = tuple[tuple[Glance, ...], HeldParameters, tuple[int, ...]]
"""What the arguments of a run are like, its parameters, and the versions of these."""


class CallTemplate:
    """A call, with what it depends on besides its module: what the inputs are like."""

    __slots__ = (
        *("_given", "_given_at", "_keywords", "_keywords_at"),
        *("count", "fits", "given", "names", "op", "output", "wanted"),
    )

    def __init__(
        self,
        note: tuple[Any, ...],
        sources: Sequence[int | str],
        fits: Callable[[Any], bool],
    ) -> None:
        """Learn from the note of a call.

        ``sources`` tells for each of its tensors which argument of the module it was,
        or the name of which parameter; ``fits``, whether a result is like its own.
        """
        _, _, header, outputs, nodes, *_ = note
        inputs: tuple[Glance, ...] = header[5]
        self.op = Op(header[0], "record")
        self._given: tuple[Any, ...] = header[6]
        self._keywords: tuple[Any, ...] = header[7]
        self._given_at = _places(self._given, inputs)
        self._keywords_at = _places(self._keywords, inputs)
        likes = [glance[LIKE] for glance in inputs]
        self.wanted = tuple(zip(sources, likes, strict=True))
        self.names = [name for name in sources if type(name) is str]
        self.given: list[Any] = [each for each in self.wanted if type(each[0]) is int]
        self.output: Glance = outputs[0]
        self.fits = fits
        self.count = len(nodes)  # that it makes

    def is_whole(self) -> bool:
        """Tell whether all tensors lie open among the arguments, in no list."""
        places = (*(self._given_at or ()), *(self._keywords_at or ()))
        return self._given_at is None or len(places) == len(self.wanted)

    def header(
        self, site: tuple[CodeType, int], where: Any, inputs: tuple[Glance, ...]
    ) -> tuple[Any, ...]:
        """Return the same call with these tensors, as a note tells its beginning.

        ``where`` are thread, module call, and what that is within.
        """
        thread, module, within = where
        given, keywords = self._given_at, self._keywords_at
        return (
            self.op.name,
            *site,
            (),
            thread,
            inputs,
            inputs if given is None else _filled(self._given, given, inputs),
            _filled(self._keywords, keywords, inputs) if keywords else self._keywords,
            module,
            within,
        )

    def ordered(self, given: Iterator[Any], held: Iterator[Any]) -> tuple[Any, ...]:
        """Return what is of arguments and what is of parameters, as the call had it."""
        return tuple(
            [next(given if type(source) is int else held) for source, _ in self.wanted]
        )

    def takes(self, glance: Glance) -> bool:
        """Tell whether its argument was like this one."""
        return all(like == glance[LIKE] for _, like in self.given)

    def like(self, tensor: int, storage: int, version: int, node: int) -> Glance:
        """Describe what the call gives anew, by its new numbers."""
        _, _, _, a, b, c, d, e, f, g, h, _, i, j = self.output
        return tensor, storage, version, a, b, c, d, e, f, g, h, node, i, j


class Link(NamedTuple):
    """One module of a run, and the call it makes there."""

    known: KnownModule
    template: CallTemplate
    training: bool
    row: Module


class Run:
    """A module that makes one call, or a Sequential of such modules."""

    __slots__ = (
        *("_training", "count", "fits", "given", "held", "known", "links"),
        *("producers", "arity", "row", "size", "wanted"),
    )

    def __init__(
        self,
        known: KnownModule,
        links: tuple[Link, ...],
        training: bool,
        arity: int,
        fits: Callable[..., bool],
        row: Module | None = None,
    ) -> None:
        """Know modules that run one after the other; ``row`` is of their Sequential.

        The first one is given so many tensors; ``fits`` tells if they are as then.
        """
        self.known, self.links, self.row = known, links, row
        self.held: HeldParameters | None = None  # from the last time
        self._training = training  # of the Sequential
        self.arity, self.fits = arity, fits
        self.given = [(at, like[-1]) for at, like in links[0].template.given]
        """Which arguments the first call is given, and if these need a gradient."""
        own = row is not None
        self.wanted = [
            (link.known, link.training, link.template.names) for link in links
        ]
        """Each module that runs, if it trains, and which parameters of it are used."""
        if own:
            self.wanted.insert(0, (known, training, []))
        self.size = own + 2 * len(links)  # events
        self.count = sum([link.template.count for link in links])  # of nodes
        self.producers = [
            own + 2 * at + 1
            for at, link in enumerate(links)
            for _ in range(link.template.count)
        ]
        """For each node how many events after the first its call comes."""

    def done(self, nodes: int) -> tuple[int, int]:
        """Return how many modules made so many nodes and no more, and their nodes.

        The last one counts as not done: something failed.
        """
        made = done = 0
        for link in self.links[:-1]:
            if made + link.template.count > nodes:
                break
            made += link.template.count
            done += 1
        return done, made

    def events(
        self, value: AsValue, index: int, place: tuple[Any, ...], *numbers: Any
    ) -> list[Event]:
        """Return the events of a run that was noted."""
        code, lasti, thread, outer, within = place
        found: list[Event] = []

        def enter(row: Module, training: bool, end: int) -> None:
            rest = thread, row.key, training, True, outer
            call = module_call_of(value, index, code, lasti, *rest)
            call.left = end
            found.append(call)

        if self.row is not None:
            enter(self.row, self._training, index + self.size)
            outer, index = index, index + 1
        for link, inputs, output, nodes in self._calls(*numbers):
            enter(link.row, link.training, index + 2)
            header = link.template.header(
                (code, lasti), (thread, index, within), inputs
            )
            found.append(call_of(value, index + 1, header, (output,), nodes, (), None))
            index += 2
        return found

    def outputs(self, noted: tuple[Any, ...]) -> list[Glance]:
        """Return what the calls of a run gave."""
        return [output for _, _, output, _ in self._calls(*noted[4:])]

    def _calls(
        self,
        node: int,
        tensor: int,
        storage: int,
        run_inputs: RunInputs,
        result: Glance | None,
    ) -> Iterator[tuple[Link, tuple[Glance, ...], Glance, tuple[int, ...]]]:
        """Yield each call's module, inputs, output and nodes.

        Numbers are those before the first of this run.
        """
        given, held, versions = run_inputs
        rest = map(with_version, held.glances, versions)
        for link in self.links:
            template = link.template
            inputs = template.ordered(iter(given), rest)
            tensor, storage = tensor + 1, storage + 1
            nodes = tuple(range(node + 1, node + template.count + 1))
            node += template.count
            output = template.like(tensor, storage, template.output[VERSION], node)
            if result is not None and result[0] == tensor:
                output = result
            yield link, inputs, output, nodes
            given = (output,)


_FIRST_PRUNED = 1_000  # modules, before the rows of the dead go


class KnownModule:
    """What is known of one module."""

    __slots__ = ("forward", "last", "reference", "runs")

    def __init__(self, module: Any) -> None:
        self.reference = weakref.ref(module)
        self.forward = type(module).forward
        self.runs: dict[Any, Run | int] = {}  # by kind of input; or failed tries
        self.last: Run | None = None  # of these, that fitted last


class ModuleTable:
    """The modules that were learned, and the thread that replays one of them."""

    def __init__(self) -> None:
        self.rows: dict[int, KnownModule] = {}  # by id of a module
        self.inside = 0  # the thread of a replay: of modules in it nothing is logged
        self._room = _FIRST_PRUNED

    def add(self, module: Any) -> KnownModule:
        """Open the row of a module; those of modules that are gone go now and then."""
        rows = self.rows
        if len(rows) > self._room:
            for key in [key for key, row in rows.items() if row.reference() is None]:
                del rows[key]
            self._room = max(_FIRST_PRUNED, 2 * len(rows))
        row = rows[id(module)] = KnownModule(module)
        return row

    def forget(self, module: Any) -> None:
        """Learn a module anew: one of its attributes was set."""
        self.rows.pop(id(module), None)


def _places(
    things: tuple[Any, ...], glances: tuple[Glance, ...]
) -> tuple[tuple[int, int], ...] | None:
    """Return where glances lie among arguments; None where these are just they."""
    if things is glances:
        return None
    numbers = {id(glance): number for number, glance in enumerate(glances)}
    found = [(at, numbers.get(id(each))) for at, each in enumerate(things)]
    return tuple([(at, number) for at, number in found if number is not None])


def _filled(
    things: tuple[Any, ...],
    places: tuple[tuple[int, int], ...],
    glances: tuple[Glance, ...],
) -> tuple[Any, ...]:
    """Return arguments with other glances among them."""
    filled = list(things)
    for at, number in places:
        filled[at] = glances[number]
    return tuple(filled)
