"""Draw where a gradient ends unseen: the calls that cut a branch off the graph.

A graph shows what backward() walks, so a ``detach()`` between two parts of it leaves no
trace. The log has it: a call that took a tensor of the graph and gave one without a
gradient, which the graph took in again; or which a finding is about. Such calls become
nodes of kind "cut", with cut edges from and to the graph. So do whole modules that ran
beside it (:mod:`gradviz.diagnosis.silent`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gradviz import ir
from gradviz.dependence.lineage import reached
from gradviz.diagnosis._drawn import edges_of, tensor_of, with_sites
from gradviz.diagnosis.attach import rows_of_nodes
from gradviz.diagnosis.ghosts import innermost
from gradviz.diagnosis.rule import Hit
from gradviz.diagnosis.silent import with_silent_modules
from gradviz.program import Call, History, Program, RawSite, Value

MOST_CUTS = 60
_ASKING = frozenset({"retain_grad"})  # that give nothing, and cut nothing
_MOST_STEPS = 200  # calls to look back over, from where the graph took a value in


@dataclass(slots=True)
class _Cut:
    """A call that cut: what it took from the graph, and who used what it gave."""

    call: Call
    sources: dict[tuple[int, int], None]  # rows of nodes, and which output of each
    users: dict[int, int] = field(default_factory=dict[int, int])  # row -> input


def with_cuts(
    snapshot: ir.Snapshot, run: Program | History, hits: Iterable[Hit] = ()
) -> ir.Snapshot:
    """Return the snapshot with the cuts between its nodes, and those of the hits."""
    try:
        finder = _Finder(snapshot, History(run) if isinstance(run, Program) else run)
        cuts = finder.between()
        for cut in finder.at({site for hit in hits for site in _sites_of(hit)}):
            cuts.setdefault(cut.call.index, cut)
        kept = [cuts[index] for index in sorted(cuts)][:MOST_CUTS]
        drawn = _drawn(snapshot, finder.history, kept)
        return with_silent_modules(drawn, finder.history, finder.rows, set(cuts))
    except Exception as error:  # the graph itself is what counts
        note = f"Cuts were not drawn: {type(error).__name__}: {error}"
        return replace(snapshot, notes=(*snapshot.notes, note))


def _sites_of(hit: Hit) -> Iterator[RawSite]:
    for site in (hit.culprit, *(each.site for each in hit.related)):
        if site is not None:
            yield site


class _Finder:
    """Looks for cuts in a log, with the rows that its nodes have in a snapshot."""

    def __init__(self, snapshot: ir.Snapshot, history: History) -> None:
        self.history = history
        self.rows = rows_of_nodes(snapshot, history.program)
        self.leaves = _leaves(snapshot, history.program)
        self._found: dict[int, list[_Cut]] = {}  # by the call they were looked for from

    def between(self) -> dict[int, _Cut]:
        """Return the cuts whose result came back into the graph, by event index."""
        cuts: dict[int, _Cut] = {}
        for call in self.history.calls:
            user = self._user(call)
            if user is None:
                continue
            row, position = user
            for value in call.inputs:
                if value.requires_grad:
                    continue
                for cut in self._behind(value, call.index):
                    known = cuts.setdefault(cut.call.index, cut)
                    known.users.setdefault(row, position)
        for tensor, row in self.leaves.items():
            for cut in self._behind(tensor):
                cuts.setdefault(cut.call.index, cut).users.setdefault(row, 0)
        return cuts

    def _user(self, call: Call) -> tuple[int, int] | None:
        """Return the node of a call with an input that has no gradient, and which.

        A call may make several: ``linear()`` also transposes its weight.
        """
        made = [key for key in call.nodes if key in self.rows]
        for key in made:
            inputs = self.history.program.nodes[key].next
            if None in inputs:
                return self.rows[key], inputs.index(None)
        return (self.rows[made[0]], 0) if made else None

    def at(self, sites: set[RawSite]) -> Iterator[_Cut]:
        """Yield the cuts at these places, wherever their results went."""
        for call in self.history.calls:
            if call.site in sites and (cut := self._cut(call)) is not None:
                yield cut

    def _behind(self, value: Value | int, before: int | None = None) -> list[_Cut]:
        """Return the cuts that a value without a gradient was computed from."""
        start = self.history.last_producer(value, before)
        if start is None:
            return []
        if start.index not in self._found:
            self._found[start.index] = list(self._walk(start))
        return self._found[start.index]

    def _walk(self, start: Call) -> Iterator[_Cut]:
        def onward(call: Call) -> list[Call | None]:
            given = () if self._cut(call) else call.inputs
            values = [value for value in given if not value.requires_grad]
            return [self.history.last_producer(each, call.index) for each in values]

        calls = reached([start], onward, _MOST_STEPS)
        yield from filter(None, map(self._cut, calls))

    def _cut(self, call: Call) -> _Cut | None:
        """Return the call as a cut if it took from the graph and gave no gradient.

        ``randn_like`` and its kin take a shape alone, and cut nothing.
        """
        gives = call.nodes or any(value.requires_grad for value in call.outputs)
        if gives or call.op in _ASKING or call.op.endswith("_like"):
            return None
        sources = dict.fromkeys(
            (self.rows[value.node], value.output)
            for value in call.inputs
            if value.node is not None and value.node in self.rows
        )
        return _Cut(call, sources) if sources else None


def _leaves(snapshot: ir.Snapshot, program: Program) -> dict[int, int]:
    """Return the rows of leaves by tensor: those whose name is theirs alone.

    A leaf may come out of the graph itself: ``x = h.detach().requires_grad_()``.
    """
    kinds = ("leaf", "accumulate")
    rows = [row for row, node in enumerate(snapshot.nodes) if node.kind in kinds]
    names = Counter(snapshot.nodes[row].call for row in rows)
    latest = {facts.name: tensor for tensor, facts in program.tensors.items()}
    return {
        latest[name]: row
        for row in rows
        if names[name := snapshot.nodes[row].call] == 1 and name in latest
    }


def _drawn(snapshot: ir.Snapshot, history: History, cuts: list[_Cut]) -> ir.Snapshot:
    sited = [cut.call.site for cut in cuts]
    snapshot, row_of = with_sites(snapshot, history, sited)
    nodes, edges = list(snapshot.nodes), list(snapshot.edges)
    tensors = list(snapshot.tensors)
    for cut in cuts:
        place = len(nodes)
        given = [_tensor(value, history.program) for value in cut.call.outputs]
        outputs = tuple(range(len(tensors), len(tensors) + len(given)))
        tensors += given
        first = outputs[0] if outputs else None
        nodes.append(_node(cut, outputs, row_of[cut.call.site], snapshot))
        edges += edges_of(snapshot, place, cut.sources, cut.users.items(), first)
    return replace(
        snapshot, nodes=tuple(nodes), edges=tuple(edges), tensors=tuple(tensors)
    )


def _node(
    cut: _Cut, outputs: tuple[int, ...], site: int | None, snapshot: ir.Snapshot
) -> ir.OpNode:
    op = cut.call.op.removesuffix(".get")
    word = op if cut.call.grad_enabled else "no_grad"
    rows = [*(row for row, _ in cut.sources), *cut.users]
    scope = innermost([snapshot.nodes[row].scope for row in rows], snapshot.scopes)
    return ir.OpNode(op, "cut", word, outputs=outputs, site=site, scope=scope)


def _tensor(value: Value, program: Program) -> ir.TensorMeta:
    facts = program.tensors.get(value.tensor)
    return tensor_of(value, None if facts is None else facts.name)
