"""What the profiler makes of its events: sums, tables, files, and steps of a loop."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import gradtape
from gradtape.autograd.profiler import KinetoStepTracker
from gradtape.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    _format_memory,
    _format_time,
    _format_time_share,
)

from .test_profiler import engines, profiled

# ---- sums and tables ---------------------------------------------------------------


def test_averages_are_pytorchs():
    def run(t: Any) -> Any:
        x = t.ones(2, 3)
        prof = profiled(t, lambda: [x * 2, x * 2, x[0] * 2], record_shapes=True)
        by_name = {e.key: e.count for e in prof.key_averages() if "mul" in e.key}
        grouped = prof.key_averages(group_by_input_shape=True)
        by_shape = [(str(e.input_shapes), e.count) for e in grouped if "mul" in e.key]
        return by_name, by_shape, prof.total_average().key

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_the_table_has_pytorchs_columns():
    def head(t: Any, **options: Any) -> list[str]:
        x = t.ones(2, 3)
        prof = profiled(t, lambda: x * 2, **options)
        table = prof.key_averages(group_by_input_shape=True).table(sort_by="count")
        line = next(line for line in table.splitlines() if "Name" in line)
        return line.split("  ")

    for options in ({}, {"record_shapes": True}, {"profile_memory": True}):
        ours, theirs = (head(t, **options) for t in engines())
        assert [s.strip() for s in ours if s] == [s.strip() for s in theirs if s]


EVENTS = (
    ("outer", 0.0, 3_000_000.0),
    ("aten::mul", 1.0, 2.5),
    ("aten::mul", 3.0, 1500.0),
    ("a name that is far too long for the column that it should be in", 2000.0, 2001.0),
)


def made(t: Any, stacks: bool, **options: Any) -> Any:
    """Return an event list made by hand, the same for both engines."""
    util = t.autograd.profiler_util
    found = util.EventList(
        [
            util.FunctionEvent(
                id=number,
                name=name,
                overload_name="",
                thread=1,
                start_us=start,
                end_us=end,
                input_shapes=[[2, 3]],
                stack=[f"file.py({number}): f", "main.py(1): <module>"] * stacks,
                cpu_memory_usage=number * 1000,
                flops=number * 10,
                trace_name=name,
            )
            for number, (name, start, end) in enumerate(EVENTS)
        ],
        **options,
    )
    found._build_tree()
    return found


@pytest.mark.parametrize("stacks", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort_by": "self_cpu_time_total"},
        {"sort_by": "cpu_memory_usage", "row_limit": 2},
        {"header": "TEST", "top_level_events_only": True},
        {"time_unit": "ms", "max_name_column_width": None},
        {"max_src_column_width": 8, "max_shapes_column_width": 5},
    ],
)
def test_tables_are_pytorchs_to_the_letter(options: dict[str, Any], stacks: bool):
    def run(t: Any) -> list[str]:
        # With both, PyTorch puts the numbers of one column under the head of the other.
        events = made(t, stacks, profile_memory=True, with_flops=not stacks)
        averages = events.key_averages(group_by_stack_n=1)
        return [events.table(**options), averages.table(**options)]

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_numbers_are_written_as_pytorch_writes_them():
    theirs = pytest.importorskip("torch").autograd.profiler_util
    for value in (0, 0.5, 999.9994, 1000, 999_999, 1e6, 12345678.9):
        assert _format_time(value) == theirs._format_time(value)
        assert _format_time_share(value, 1e7) == theirs._format_time_share(value, 1e7)
    for value in (0, 1, -5, 1023, 1024, 1024**2, -(1024**3), 5 * 1024**3):
        assert _format_memory(value) == theirs._format_memory(value)
    assert _format_time_share(0, 0) == theirs._format_time_share(0, 0) == "NaN"


def test_intervals_nest_by_the_narrowest_around():
    def run(t: Any) -> Any:
        util = t.autograd.profiler_util
        spans = [(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3)]
        events = util.EventList(
            [
                util.FunctionEvent(
                    id=i, node_id=0, name="", thread=thread, start_us=start, end_us=end
                )
                for i, (thread, start, end) in enumerate(spans)
            ]
        )
        events._populate_cpu_children()
        return [[child.id for child in event.cpu_children] for event in events]

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs == [[], [], [], [], [3]]


def test_averages_add_up():
    total = FunctionEventAvg()
    for start, end in ((10, 15), (20, 30)):
        total.add(FunctionEvent(0, "foo", 0, start, end))
    total.add(total)
    assert (total.key, total.count, total.cpu_time_total) == ("foo", 4, 30)
    assert (total.self_cpu_time_total, total.cpu_time) == (30, 7.5)
    assert Interval(1, 4).elapsed_us() == 3
    assert Kernel("k", 0, 2.0).duration == 2.0


# ---- files -------------------------------------------------------------------------


def trace_of(prof: Any, path: Path) -> dict[str, Any]:
    prof.export_chrome_trace(str(path))
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_trace_links_each_forward_call_to_its_backward(tmp_path: Path, ending: str):
    x = gradtape.ones(3, requires_grad=True)

    def work() -> None:
        loss = (x * 2).exp().sum()
        loss.backward()

    prof = profiled(gradtape, work, record_shapes=True, profile_memory=True)
    trace = trace_of(prof, tmp_path / f"trace.{ending}")
    events = trace["traceEvents"]
    spans = {e["ts"]: e for e in events if e["ph"] == "X"}
    for span in spans.values():
        assert {"name", "ts", "dur", "pid", "tid", "args"} <= span.keys()
    starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
    pairs = {spans[starts[i]]["name"]: spans[ends[i]]["name"] for i in starts}
    assert pairs == {
        "aten::sum": "SumBackward0",
        "aten::exp": "ExpBackward0",
        "aten::mul": "MulBackward0",
    }
    for i in starts:
        numbers = [spans[at[i]]["args"]["Sequence number"] for at in (starts, ends)]
        assert numbers[0] == numbers[1]
    assert any(e["name"] == "[memory]" and e["args"]["Bytes"] > 0 for e in events)


def test_a_trace_carries_metadata(tmp_path: Path):
    with gradtape.profiler.profile() as prof:
        prof.add_metadata("who", "me")
        prof.add_metadata_json("numbers", "[1, 2]")
    trace = trace_of(prof, tmp_path / "trace.json")
    assert (trace["who"], trace["numbers"]) == ("me", [1, 2])


def test_a_list_of_events_writes_a_trace_of_its_own(tmp_path: Path):
    prof = profiled(gradtape, lambda: gradtape.ones(2) * 2)
    path = tmp_path / "events.json"
    EventList(prof.function_events).export_chrome_trace(str(path))
    assert "aten::mul" in {event["name"] for event in json.loads(path.read_text())}


def test_stacks_are_written_for_flame_graphs(tmp_path: Path):
    prof = profiled(
        gradtape, lambda: gradtape.ones(9, 9) @ gradtape.ones(9, 9), with_stack=True
    )
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    lines = path.read_text().splitlines()
    assert lines
    for line in lines:
        stack, _, value = line.rpartition(" ")
        assert int(value) > 0
        assert " " not in stack
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "count")


def test_a_file_of_nvprof_is_read(tmp_path: Path):
    path = tmp_path / "nvprof.sqlite"
    with sqlite3.connect(path) as base:
        base.executescript(
            """
            CREATE TABLE StringTable (_id_ INTEGER, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (id, name, timestamp);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
                (_id_, cbid, start, "end", correlationId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                (correlationId, name, start, "end");
            INSERT INTO StringTable VALUES (1, 'mul'), (2, 'add');
            INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
                (7, 2, 50), (7, 0, 90), (5, 1, 10), (5, 0, 40);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 211, 20, 30, 3);
            INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (3, 'k', 25, 60);
            """
        )
    base.close()

    def run(t: Any) -> Any:
        events = t.autograd.profiler.load_nvprof(str(path))
        spans = [(e.name, e.time_range.start, e.time_range.end) for e in events]
        return spans, [[tuple(kernel) for kernel in e.kernels] for e in events]

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs == ([("mul", 10, 40), ("add", 50, 90)], [[("k", 0, 35)], []])


# ---- the scheduled profiler --------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 2, "warmup": 1, "active": 4, "repeat": 2, "skip_first": 3},
        {"wait": 5, "warmup": 1, "active": 2, "repeat": 2, "skip_first_wait": 1},
    ],
)
def test_schedules_are_pytorchs(plan: dict[str, int]):
    def run(t: Any) -> list[str]:
        action_at = t.profiler.schedule(**plan)
        return [action_at(step).name for step in range(30)]

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_a_schedule_refuses_what_pytorch_refuses():
    for t in engines():
        with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
            t.profiler.schedule(wait=0, warmup=1, active=0)
        with pytest.warns(UserWarning, match="won't be using warmup"):
            t.profiler.schedule(wait=0, warmup=0, active=1)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("accumulate", [False, True])
def test_traces_are_handed_over_at_the_end_of_each_cycle(accumulate: bool):
    def run(t: Any) -> list[Any]:
        x, found = t.ones(2), []

        def ready(prof: Any) -> None:
            averages = {e.key: e.count for e in prof.key_averages()}
            wanted = ("aten::mul", "ProfilerStep*")
            found.append((prof.step_num, [averages.get(name) for name in wanted]))

        with t.profiler.profile(
            activities=[t.profiler.ProfilerActivity.CPU],
            schedule=t.profiler.schedule(wait=1, warmup=1, active=2, repeat=2),
            on_trace_ready=ready,
            acc_events=accumulate,
        ) as prof:
            for _ in range(10):
                x = x * 2
                prof.step()
        return found

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("packed", [False, True])
def test_tensorboard_gets_a_file_per_cycle(tmp_path: Path, packed: bool):
    handler = gradtape.profiler.tensorboard_trace_handler(
        str(tmp_path / "log"), "worker", use_gzip=packed
    )
    plan = gradtape.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
    with gradtape.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(8):
            gradtape.ones(2)
            prof.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2
    for file in files:
        parts = file.name.split(".")
        assert parts[0] == "worker"
        assert parts[1].isdigit()
        assert parts[2:] == ["pt", "trace", "json"] + ["gz"] * packed


def test_collection_can_be_paused():
    cpu = [gradtape.profiler.ProfilerActivity.CPU]
    with gradtape.profiler.profile(activities=cpu) as prof:
        gradtape.ones(2)
        prof.toggle_collection_dynamic(False, cpu)
        gradtape.zeros(2)
        prof.toggle_collection_dynamic(True, cpu)
        gradtape.rand(2)
    found = {event.name for event in prof.events()}
    assert {"aten::ones", "aten::rand"} <= found
    assert "aten::zeros" not in found


def test_the_global_step_is_that_of_the_furthest():
    start = KinetoStepTracker.current_step()
    KinetoStepTracker.init_step_count("a")
    KinetoStepTracker.init_step_count("b")
    assert KinetoStepTracker.increment_step("a") == start + 1
    assert KinetoStepTracker.increment_step("b") == start + 1
    assert KinetoStepTracker.increment_step("b") == start + 2
    assert KinetoStepTracker.erase_step_count("a")
    assert not KinetoStepTracker.erase_step_count("a")
    KinetoStepTracker.erase_step_count("b")
