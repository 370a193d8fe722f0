"""The trace file: what chrome://tracing, Perfetto and TensorBoard read."""

from __future__ import annotations

import gzip
import json
import os
import socket
import time
from typing import Any

from ..._profiling.event import Event
from .results import (
    Results,
    category_of,
    concrete_texts,
    dims,
    dtype_text,
    hierarchy_of,
    stack_texts,
    steps,
)

links_enabled = [True]
"""Whether forward calls are linked to their backward by arrows."""

values_shown = [True]
"""Whether the values of arguments that are no tensors are shown."""

_BASE_NS = time.time_ns() - time.perf_counter_ns()


def write_trace(
    results: Results, path: str, header: dict[str, Any], metadata: dict[str, Any]
) -> None:
    """Write a finished run to ``path``, packed where it ends in ".gz"."""
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        **header,
        **metadata,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": _BASE_NS,
        "traceEvents": _trace_events(results),
        "traceName": path,
    }
    if path.endswith(".gz"):
        with gzip.open(path, "wt") as packed:
            json.dump(trace, packed, default=str)
    else:
        with open(path, "w") as file:
            json.dump(trace, file, default=str)


def _trace_events(results: Results) -> list[dict[str, Any]]:
    recorder, pid = results.recorder, os.getpid()
    begin, end = recorder.start_ns / 1000, recorder.stop_ns / 1000
    events = _names(results, pid, begin)
    for number, event in enumerate(results.recorded):
        events.append(_span(results, event, number, pid))
    events += _memory(results, pid, len(events))
    if links_enabled[0]:
        events += _links(results, pid)
    spans: dict[str, Any] = {"pid": "Spans", "ts": begin}
    return [
        *events,
        {
            "ph": "X",
            "cat": "Trace",
            "name": "PyTorch Profiler (0)",
            "tid": "PyTorch Profiler",
            **spans,
            "dur": end - begin,
            "args": {"Op count": 0},
        },
        {
            "ph": "M",
            "name": "process_sort_index",
            "tid": 0,
            **spans,
            "args": {"sort_index": 536870912},
        },
        {
            "ph": "i",
            "s": "g",
            "name": "Iteration Start: PyTorch Profiler",
            "pid": "Traces",
            "tid": "Trace PyTorch Profiler",
            "ts": begin,
        },
        {
            "ph": "i",
            "s": "g",
            "name": "Record Window End",
            "pid": "",
            "tid": "",
            "ts": end,
        },
    ]


def _names(results: Results, pid: int, ts: float) -> list[dict[str, Any]]:
    """Name the process and its threads."""

    def meta(kind: str, tid: int, **args: Any) -> dict[str, Any]:
        place = {"ts": ts, "pid": pid, "tid": tid}
        return {"ph": "M", "name": kind, **place, "args": args}

    named = [
        meta("process_name", 0, name="python"),
        meta("process_labels", 0, labels="CPU"),
        meta("process_sort_index", 0, sort_index=pid),
    ]
    for tid in sorted({event.native_thread for event in results.recorded}):
        named.append(meta("thread_name", tid, name=f"thread {tid} (python)"))
        named.append(meta("thread_sort_index", tid, sort_index=tid))
    return named


def _span(results: Results, event: Event, number: int, pid: int) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id, "Record function id": 0}
    if event.seq >= 0:
        args["Sequence number"] = event.seq
        args["Fwd thread id"] = results.forward_thread(event)
    if event.inputs:
        if values_shown[0]:
            args["Concrete Inputs"] = concrete_texts(event.inputs)
        args["Input type"] = [dtype_text(each) for each in event.inputs]
        args["Input Strides"] = [steps(each) for each in event.inputs]
        args["Input Dims"] = [dims(each) for each in event.inputs]
    if event.stack:
        args["Call stack"] = ";".join(reversed(stack_texts(event)))
    if event.where is not None:
        args["Module Hierarchy"] = hierarchy_of(event.where)
    for name, value in (event.note or {}).items():
        if isinstance(value, str) and '"' in value:
            value = "None"  # PyTorch refuses quotes, and so do its readers
        wanted = int if name == "stream" else bool | int | float | str
        if isinstance(value, wanted):
            args[name] = value
    args["Ev Idx"] = number
    return {
        "ph": "X",
        "cat": category_of(event),
        "name": event.name,
        "pid": pid,
        "tid": event.native_thread,
        "ts": event.start / 1000,
        "dur": (event.end - event.start) / 1000,
        "args": args,
    }


def _memory(results: Results, pid: int, number: int) -> list[dict[str, Any]]:
    """Return a moment for each time that memory came or went."""
    log, total = results.recorder.memory, 0
    moments: list[dict[str, Any]] = []
    for change in () if log is None else log.changes:
        total += change.nbytes
        args = {
            "Total Reserved": 0,
            "Total Allocated": total,
            "Bytes": change.nbytes,
            "Device Id": -1,
            "Device Type": 0,
            "Addr": change.address,
            "Ev Idx": number + len(moments),
        }
        moments.append(
            {
                "ph": "i",
                "cat": "cpu_instant_event",
                "s": "t",
                "name": "[memory]",
                "pid": pid,
                "tid": change.native_thread,
                "ts": change.time_ns / 1000,
                "args": args,
            }
        )
    return moments


def _links(results: Results, pid: int) -> list[dict[str, Any]]:
    """Draw an arrow from every forward call to the run of the node it made."""
    arrows: list[dict[str, Any]] = []
    number = 0
    for event in results.recorded:
        maker = results.makers.get(event.seq)
        if event.scope != 1 or maker is None:
            continue
        number += 1
        for phase, at in (("s", maker), ("f", event)):
            arrow: dict[str, Any] = {
                "ph": phase,
                "id": number,
                "pid": pid,
                "tid": at.native_thread,
                "ts": at.start / 1000,
                "cat": "fwdbwd",
                "name": "fwdbwd",
            }
            arrows.append(arrow | ({"bp": "e"} if phase == "f" else {}))
    return arrows
