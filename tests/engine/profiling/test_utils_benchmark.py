"""Timing statements: the statistics, the words, and how often a statement runs."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import gradtape
from gradtape.utils.benchmark import Timer

from ..oracle import assert_same

TIMES = {
    "noisy": [1e-5, 1.1e-5, 1.2e-5, 4e-5, 2e-5],
    "unsteady": [1e-5, 1.1e-5, 1.12e-5, 1.2e-5, 1.21e-5],
    "steady": [1e-3, 1.001e-3, 1.002e-3, 1.003e-3],
    "single": [2.5],
}


def benchmark(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils.benchmark")


@pytest.mark.parametrize("case", TIMES)
@pytest.mark.parametrize("label", [None, "sum"])
def test_a_measurement_tells_the_same(case: str, label: str | None) -> None:
    def program(t: Any) -> Any:
        b = benchmark(t)
        task = b.TaskSpec("x\ny", "import x", "", label, "wide", "now", None, 2)
        found = b.Measurement(10, TIMES[case], task)
        told = re.sub("^<.*>", "", repr(found))
        numbers = [found.median, found.mean, found.iqr, found.significant_figures]
        return told, numbers, found.has_warnings, found.as_row_name, found.num_threads

    assert_same(program)


STYLES = {
    "plain": [],
    "trimmed": ["trim_significant_figures"],
    "by column": ["trim_significant_figures", "colorize"],
    "by row": ["highlight_warnings", "colorize"],
}


@pytest.mark.parametrize("envs", [(None,), ("main", "my branch")])
@pytest.mark.parametrize("style", STYLES)
def test_measurements_stand_side_by_side(style: str, envs: tuple[Any, ...]) -> None:
    def program(t: Any) -> Any:
        b, found = benchmark(t), list[Any]()
        for at, (name, times) in enumerate(TIMES.items()):
            for threads in (2, 1):
                for env in envs:
                    told = {"label": "sum" if at else "one", "description": name}
                    for size in ("wide", "narrow")[: 1 + at % 2]:
                        rest = {"sub_label": size, "env": env, "num_threads": threads}
                        task = b.TaskSpec("x", "pass", **told, **rest)
                        scaled = [each * 1.3**at * threads for each in times]
                        found.append(b.Measurement(1, scaled, task))
        table = b.Compare(found[:3])
        table.extend_results(found[3:])
        for change in STYLES[style]:
            if change == "colorize":
                table.colorize(rowwise=style == "by row")
            else:
                getattr(table, change)()
        return str(table)

    assert_same(program)


def test_only_measurements_are_compared() -> None:
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        benchmark(gradtape).Compare([3])


def test_measurements_of_one_task_are_merged() -> None:
    def program(t: Any) -> Any:
        b = benchmark(t)
        tasks = [b.TaskSpec("x", "pass"), b.TaskSpec("y", "pass", label="y")]
        found = [
            b.Measurement(number, [1.0, 2.0], task)
            for task in tasks
            for number in (1, 10)
        ]
        return [(m.title, m.times) for m in b.Measurement.merge(found)]

    assert_same(program)


def test_numbers_and_units_are_written_alike() -> None:
    def program(t: Any) -> Any:
        b = benchmark(t)
        times = (1e-9, 1.5e-7, 2e-6, 0.3, 1.0, 5.0, 2000.0)
        units = [b.select_unit(each) for each in times]
        trimmed = [b.trim_sigfig(x, 2) for x in (3.14159, 123.4, 0.00456)]
        return units, trimmed, [b.unit_to_english(unit) for unit, _ in units]

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        "b.Timer('x', global_setup='y')",
        "b.Timer('x').repeat()",
        "b.Timer('x').autorange()",
        "b.Timer(3)",
        "b.Timer('undefined_name').timeit(2)",
    ],
)
def test_what_a_timer_cannot_do_is_refused(call: str) -> None:
    assert_same(lambda t: eval(call, {"b": benchmark(t)}))


def test_a_timer_runs_its_statement_as_often_as_it_says() -> None:
    runs: list[int] = []
    timer = Timer("run(1)\n", "run(0)", globals={"run": runs.append}, label="run")
    found = timer.timeit(300)
    assert (found.number_per_run, len(found.raw_times)) == (300, 1)
    assert (runs.count(1), runs.count(0)) == (303, 2)  # warmed up with a hundredth


def test_blocks_are_measured_until_the_time_is_over() -> None:
    blocks: list[tuple[int, float]] = []
    timer = Timer("torch.ones(3).sum()", num_threads=1)
    found = timer.blocked_autorange(lambda *block: blocks.append(block), 0.02)
    assert sum(found.raw_times) >= 0.02
    assert blocks == [(found.number_per_run, time) for time in found.raw_times]


def test_an_adaptive_measurement_stops_when_times_agree() -> None:
    ticks = iter(range(10_000))
    timer = Timer("pass", timer=lambda: next(ticks) / 10)
    found = timer.adaptive_autorange(0.5)
    assert len(found.raw_times) == 4
    assert found.meets_confidence(0.5)


def test_c_plus_plus_and_instruction_counts_are_out_of_reach() -> None:
    with pytest.raises(NotImplementedError, match="time a Python statement"):
        Timer("x", language="c++")
    with pytest.raises(NotImplementedError, match="use blocked_autorange"):
        Timer("x").collect_callgrind()


def test_the_engine_is_called_torch_in_statements() -> None:
    seen: list[Any] = []
    Timer("seen.append(torch)", globals={"seen": seen}).timeit(1)
    assert set(seen) == {gradtape}
