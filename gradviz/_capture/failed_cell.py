"""The graph that a failed cell had built until it raised, from the log that saw it."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gradviz import ir
from gradviz._capture.names.tensors import grad_fn_of, names_in_frame
from gradviz._capture.names.user_code import probing
from gradviz._capture.open_log import RunLog
from gradviz._capture.recorder.assemble import assemble
from gradviz.program.events import Backward, Call

MOST_NODES = 20_000
NO_GRAPH = "There is no graph to show: {why}."
_NOTHING_BUILT = "nothing that the cell computed needs a gradient"
_NOTHING_ALIVE = "of what the cell computed nothing is left that has a graph"
_TOO_LARGE = (
    f"it has more than {MOST_NODES:,} nodes; record the cell with %%gradviz to see it"
)


def graph_of_failure(
    log: RunLog, first: int, frame: FrameType | None, title: str
) -> ir.Snapshot:
    """Return the graph behind what the events from ``first`` on computed.

    Variables of the frame give names. Where there is no graph, the snapshot has no
    nodes and a note says why.
    """
    try:
        log.refresh()
        with probing():
            return _graph(log, first, frame, title)
    except Exception as error:  # the card says what failed, with or without a graph
        return _without(title, f"{type(error).__name__}: {error}")


def _graph(log: Any, first: int, frame: FrameType | None, title: str) -> ir.Snapshot:
    events = [event for event in log.program.events if event.index >= first]
    values = [value for event in events for value in _results(event)]
    ends = [value.node for value in values if value.node is not None]
    if not ends:
        return _without(title, _NOTHING_BUILT)
    if log.program.engine == "torch":
        _read_on(log, {value.tensor for value in values}, frame)
        return _of_torch(log, first, ends, title)
    wanted = {value.tensor for value in values}
    alive = [t for number, t in log.tensors.alive() if number in wanted]
    losses = [tensor for tensor in alive if grad_fn_of(tensor) is not None]
    if not losses:
        return _without(title, _NOTHING_ALIVE)
    if not _is_small({loss.grad_fn for loss in losses}):
        return _without(title, _TOO_LARGE)
    from gradviz._capture.adapters.gradtape.finished_graph import graph_of_ends

    return graph_of_ends(losses, frame, title=title)


def _results(event: Any) -> tuple[Any, ...]:
    """Return what an event made; where it failed, what it was given."""
    if isinstance(event, Call):
        return event.inputs if event.error else event.outputs
    return event.roots if isinstance(event, Backward) else ()


def _read_on(log: Any, wanted: set[int], frame: FrameType | None) -> None:
    """Let PyTorch's log read what it left out: it logs less than a recording."""
    with log.torch._C.DisableTorchFunction():
        names = names_in_frame(frame, log.torch.Tensor)
        for number, tensor in list(log.tensors.alive()):
            facts = log.program.tensors[number]
            facts.name = facts.name or names.get(id(tensor))
            if number in wanted:
                log.graph.read(grad_fn_of(tensor))
        for number, tensor in list(log.tensors.alive()):
            leaf = log.program.nodes.get(-number)
            if leaf is not None and not leaf.outputs:
                leaf.outputs = (log.values.of(tensor),)


def _of_torch(log: Any, first: int, ends: list[Any], title: str) -> ir.Snapshot:
    from gradviz._capture.adapters.pytorch.graph_facts import TorchFacts
    from gradviz._capture.recorder.from_log import GraphFromLog

    known = log.program.nodes
    reached = dict.fromkeys(key for key in ends if key in known)
    waiting = list(reached)
    while waiting and len(reached) <= MOST_NODES:
        for edge in known[waiting.pop()].next:
            if edge is not None and edge[0] in known and edge[0] not in reached:
                reached[edge[0]] = None
                waiting.append(edge[0])
    if len(reached) > MOST_NODES:
        return _without(title, _TOO_LARGE)
    used = {edge[0] for key in reached for edge in known[key].next if edge is not None}
    roots = [key for key in reached if key not in used]
    events = log.program.events
    now = [event for event in events if event.index >= first]
    before = [event for event in events if event.index < first]
    graph = GraphFromLog(log, TorchFacts(log))
    return assemble(graph.recording(title, now, reached, roots, before))


def _is_small(nodes: set[Any]) -> bool:
    waiting = list(nodes)
    while waiting and len(nodes) <= MOST_NODES:
        for behind, _ in waiting.pop().next_functions:
            if behind is not None and behind not in nodes:
                nodes.add(behind)
                waiting.append(behind)
    return len(nodes) <= MOST_NODES


def _without(title: str, why: str) -> ir.Snapshot:
    note = NO_GRAPH.format(why=why)
    return ir.Snapshot(producer="gradviz", title=title, notes=(note,))
