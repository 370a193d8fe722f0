"""The timeline of a recording: its log's events, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz._capture.recorder.engine import Inside, Translated
from gradviz._capture.recorder.raw import RawEvent
from gradviz.program.events import (
    Backward,
    Call,
    Event,
    HookRan,
    HookRegistered,
    ModeSwitched,
    ModuleCall,
    OptimizerCall,
    Raised,
)


def timeline(graph: Translated, events: list[Event]) -> list[RawEvent]:
    """Return what happened, in order."""
    found: list[RawEvent] = []
    hooks: dict[int, HookRegistered] = {}
    leaving: list[ModuleCall] = []
    for event in events:
        while leaving and (leaving[-1].left or 0) <= event.index and leaving[-1].left:
            found.append(_left(graph, leaving.pop(), event))
        if isinstance(event, HookRegistered):
            hooks[event.hook] = event
        elif isinstance(event, HookRan):
            if graph.facts.tells_inside:
                continue  # in their place among the nodes of the pass
            put = hooks.get(event.hook)
            name = "" if put is None or put.code is None else put.code.co_qualname
            found.append(RawEvent("hook", _time(graph, event), text=name))
        else:
            found += _raw(graph, event)
        if isinstance(event, ModuleCall):
            leaving.append(event)
    return found


def _left(graph: Translated, event: ModuleCall, now: Event) -> RawEvent:
    scope = graph.scope(event.index)
    return RawEvent("module_leave", _time(graph, now), scope=scope)


def _raw(graph: Translated, event: Event) -> Iterator[RawEvent]:
    time = _time(graph, event)
    if isinstance(event, Call):
        yield from _called(graph, event, time)
    elif isinstance(event, Backward):
        yield from _passed(graph, event, time)
    elif isinstance(event, ModeSwitched):
        text = "on" if event.enabled else "off"
        yield RawEvent("grad_mode", time, site=event.site, text=text)
    elif isinstance(event, ModuleCall):
        yield RawEvent("module_enter", time, scope=graph.scope(event.index))
    elif isinstance(event, OptimizerCall) and event.what == "step":
        row = graph.program.optimizers.get(event.optimizer)
        text = "" if row is None else row.kind
        yield RawEvent("optimizer_step", time, site=event.site, text=text)
    elif isinstance(event, Raised):
        yield RawEvent("error", time, text=f"{event.kind}: {event.text}")


def _called(graph: Translated, call: Call, time: int) -> Iterator[RawEvent]:
    node = graph.nodes.get(call.nodes[-1]) if call.nodes else None
    told = graph.facts.tells_inside and graph.is_inside(call)
    if call.outputs and not told and not call.op.endswith((".get", ".set")):
        tensor = graph.tensor(call.outputs[0])
        if graph.facts.tells_inside and len(call.nodes) > 1:
            yield from _ops(graph, call, time)
        else:
            yield RawEvent("op", time, node=node, tensor=tensor, text=call.op)
    for write in call.writes:
        storage = graph.storage(write.value)
        yield RawEvent(
            "write",
            time,
            storage=storage,
            site=call.site,
            text=call.op,
            version=write.after,
        )


def _ops(graph: Translated, call: Call, time: int) -> Iterator[RawEvent]:
    """Tell each op with a node of a call that several make up."""
    for key in call.nodes:
        raw = graph.nodes.get(key)
        if raw is not None:
            tensor = raw.outputs[0] if raw.outputs else None
            yield RawEvent("op", time, node=raw, tensor=tensor, text=raw.call)


def _passed(graph: Translated, event: Backward, time: int) -> Iterator[RawEvent]:
    roots = [graph.nodes.get(each.node or 0) for each in event.roots]
    yield RawEvent(
        "backward_begin",
        time,
        node=roots[0] if roots else None,
        site=event.site,
        text=f"{event.node_count} nodes",
    )
    inside = list(reversed(graph.facts.inside(event)))
    for at, run in enumerate(event.runs):
        while inside and inside[-1].runs <= at:
            yield _inside(graph, inside.pop(), time)
        raw = graph.nodes.get(run.node)
        if raw is None:
            continue
        # What this run received: a leaf's record holds what came in last.
        first = next((each.full for each in run.incoming if each), None)
        began, time = time, time + (run.elapsed_ns or 0)
        if raw.kind == "accumulate":
            tensor = raw.outputs[0] if raw.outputs else None
            grad = None if run.grad is None else run.grad.full
            yield RawEvent(
                "accumulate", time, node=raw, tensor=tensor, statistics=first, grad=grad
            )
        else:
            yield RawEvent("node_enter", began, node=raw, statistics=first)
            if run.elapsed_ns is not None:  # else it raised
                yield RawEvent("node_leave", time, node=raw)
    while inside:
        yield _inside(graph, inside.pop(), time)
    yield RawEvent("backward_end", time, text=event.error or "")


def _inside(graph: Translated, ran: Inside, time: int) -> RawEvent:
    node = graph.nodes.get(ran.node or 0)
    tensor = None
    if ran.kind == "op" and node is not None and node.outputs:
        tensor = node.outputs[0]
    return RawEvent(ran.kind, time, node=node, tensor=tensor, text=ran.text)


def _time(graph: Translated, event: Event) -> int:
    return graph.log.times.get(event.index, 0)
