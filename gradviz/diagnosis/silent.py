"""Draw the modules that ran and that no backward pass walks.

A frozen backbone makes no node, and a head whose result no loss uses is never walked:
the graph shows neither, though the program calls both. Each such call becomes one node
of kind "cut" with the module's name, between what it took and who used what it gave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from gradviz import ir
from gradviz.diagnosis._drawn import edges_of, tensor_of, with_sites
from gradviz.program import Call, History, ModuleCall, Value
from gradviz.program.history import following
from gradviz.program.records import Module

MOST = 60
_MOST_STEPS = 200  # calls to look back over, from where the graph took a value in

FROZEN, NO_GRAD, UNUSED = "frozen", "no_grad", "no gradient"


@dataclass(slots=True)
class _Silent:
    """A call of a module beside the graph; rows are of nodes in the snapshot."""

    event: ModuleCall
    module: Module
    scope: int | None  # row of the call around it
    reason: str = FROZEN
    result: Value | None = None  # what its last call gave
    sources: dict[tuple[int, int], None] = field(
        default_factory=dict[tuple[int, int], None]
    )
    users: dict[int, int] = field(default_factory=dict[int, int])  # row -> input
    feeds: dict[int, None] = field(default_factory=dict[int, None])  # events of others


def with_silent_modules(
    snapshot: ir.Snapshot, history: History, rows: Mapping[int, int], cut: Set[int]
) -> ir.Snapshot:
    """Return the snapshot with these modules, but for those that hold calls in ``cut``.

    The calls in ``cut`` are drawn by themselves. ``rows`` are those of the log's nodes.
    """
    if any(node.count > 1 for node in snapshot.nodes):
        return snapshot  # one row stands for many places: who is missing is not known
    found = _Finder(snapshot, history, rows).found(cut)
    kept = [each for each in found if each.sources or each.users or each.feeds][:MOST]
    return _drawn(snapshot, history, kept) if kept else snapshot


class _Finder:
    """Looks for silent modules in a log, with the rows of its nodes in a snapshot."""

    def __init__(
        self, snapshot: ir.Snapshot, history: History, rows: Mapping[int, int]
    ) -> None:
        self.history = history
        self.rows = rows
        self.scopes = self._scopes(snapshot)
        self._outermost: dict[int, int | None] = {}  # by the innermost module call
        self._silent: dict[int, _Silent] = {}  # by the event of the outermost call

    def _scopes(self, snapshot: ir.Snapshot) -> dict[int, int]:
        """Return the row of every module call that holds a node, by its event."""
        found: dict[int, int] = {}
        for key, row in self.rows.items():
            index = self.history.program.nodes[key].module
            scope = snapshot.nodes[row].scope
            while index is not None and scope is not None and index not in found:
                found[index] = scope
                call = self.history.at(index)
                index = call.parent if isinstance(call, ModuleCall) else None
                scope = snapshot.scopes[scope].parent
        return found

    def found(self, cut: Set[int]) -> list[_Silent]:
        """Return them in order, with what they took and gave."""
        calls = self._of_drawn_steps()
        inside: dict[int, list[Call]] = defaultdict(list)
        for call in calls:
            if (around := self._around(call)) is not None:
                inside[around].append(call)
        for around, own in inside.items():
            self._silent[around] = self._made(around, own)
        self._connect(calls, inside)
        return [
            self._silent[around]
            for around, own in sorted(inside.items())
            if cut.isdisjoint(call.index for call in own)
        ]

    def _of_drawn_steps(self) -> list[Call]:
        """Return the calls since the pass before the first step that is drawn."""
        calls, rows = self.history.calls, self.rows.keys()
        drawn = (each.index for each in calls if not rows.isdisjoint(each.nodes))
        first = next(drawn, None)
        if first is None:
            return []
        over = [each.index for each in self.history.backwards if each.index < first]
        return following(calls, over[-1] if over else -1)

    def _around(self, call: Call) -> int | None:
        """Return the outermost module call around a call that holds no drawn node."""
        module = call.module
        if module is not None and module not in self._outermost:
            index, outermost = module, None
            while index is not None and index not in self.scopes:
                event = self.history.at(index)
                if not isinstance(event, ModuleCall):
                    outermost = None
                    break
                outermost, index = index, event.parent
            self._outermost[module] = outermost
        return None if module is None else self._outermost[module]

    def _made(self, around: int, calls: list[Call]) -> _Silent:
        """Return what ran in a module call: what it took and gave, why no gradient."""
        event = self.history.at(around)
        assert isinstance(event, ModuleCall)
        module = self.history.program.modules.get(event.module)
        scope = None if event.parent is None else self.scopes.get(event.parent)
        given = [
            value
            for call in calls
            for value in call.outputs
            if not call.op.endswith((".get", ".set"))
        ]
        found = _Silent(event, module or Module(event.module, ""), scope)
        found.result = given[-1] if given else None
        if not event.grad_enabled:
            found.reason = NO_GRAD
        elif any(value.requires_grad for value in given):
            found.reason = UNUSED
        for value in (value for call in calls for value in call.inputs):
            if value.node is not None and value.node in self.rows:
                found.sources.setdefault((self.rows[value.node], value.output))
        return found

    def _connect(self, calls: list[Call], inside: dict[int, list[Call]]) -> None:
        """Note who used what the modules gave: drawn nodes, or others of them."""
        waiting: list[int] = []
        for call in calls:
            users = [self.rows[key] for key in call.nodes if key in self.rows]
            for position, value in enumerate(call.inputs if users else ()):
                for giver in self._givers(value, call.index):
                    self._silent[giver].users.setdefault(users[-1], position)
                    waiting.append(giver)
        seen: set[int] = set()
        while waiting:
            around = waiting.pop()
            if around in seen:
                continue
            seen.add(around)
            for call in inside[around]:
                for value in call.inputs:
                    for giver in self._givers(value, call.index):
                        if giver != around:
                            self._silent[giver].feeds.setdefault(around)
                            waiting.append(giver)

    def _givers(self, value: Value, before: int) -> Iterator[int]:
        """Yield the silent calls that a value without a gradient comes out of."""
        waiting = [] if value.requires_grad else [(value, before)]
        seen: set[int] = set()
        while waiting and len(seen) < _MOST_STEPS:
            each, before = waiting.pop()
            call = self.history.last_producer(each, before)
            if call is None or call.index in seen:
                continue
            seen.add(call.index)
            around = self._around(call)
            if around is None:
                taken = [each for each in call.inputs if not each.requires_grad]
                waiting += [(each, call.index) for each in taken]
            elif around in self._silent:
                yield around


def _drawn(
    snapshot: ir.Snapshot, history: History, found: list[_Silent]
) -> ir.Snapshot:
    sited = [each.event.site for each in found]
    snapshot, site_row = with_sites(snapshot, history, sited)
    first, first_tensor = len(snapshot.nodes), len(snapshot.tensors)
    row_of = {each.event.index: first + place for place, each in enumerate(found)}
    results = [each.result for each in found if each.result is not None]
    given = {id(value): first_tensor + row for row, value in enumerate(results)}
    nodes = [
        ir.OpNode(
            each.module.kind,
            "cut",
            _name(each, history),
            outputs=() if each.result is None else (given[id(each.result)],),
            scope=each.scope,
            site=site_row[each.event.site],
            flags=(each.reason,),
        )
        for each in found
    ]
    edges = [edge for each in found for edge in _edges(each, row_of, given, snapshot)]
    return replace(
        snapshot,
        nodes=(*snapshot.nodes, *nodes),
        edges=(*snapshot.edges, *edges),
        tensors=(*snapshot.tensors, *map(tensor_of, results)),
    )


def _edges(
    silent: _Silent,
    row_of: dict[int, int],
    given: dict[int, int],
    snapshot: ir.Snapshot,
) -> Iterator[ir.Edge]:
    users = [*silent.users.items()]
    users += [(row_of[each], 0) for each in silent.feeds if each in row_of]
    result = given.get(id(silent.result))
    place = row_of[silent.event.index]
    return edges_of(snapshot, place, silent.sources, users, result)


def _name(silent: _Silent, history: History) -> str:
    """Return what the module is called below the one that called it."""
    own = silent.module.name or silent.module.kind
    around = history.at(silent.event.parent)
    if isinstance(around, ModuleCall):
        above = history.program.modules.get(around.module)
        if above is not None and above.name:
            own = own.removeprefix(f"{above.name}.")
    return own
