"""The profiler: its rows, sums and files, side by side with PyTorch's where it can."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

import gradtape
from gradtape.autograd.profiler import record_function
from gradtape.ops import profiler as ops

Profile = gradtape.autograd.profiler.profile


def engines() -> list[Any]:
    return [gradtape, pytest.importorskip("torch")]


def profiled(t: Any, run: Any, **options: Any) -> Any:
    with t.autograd.profiler.profile(**options) as prof:
        run()
    return prof


def rows(prof: Any, *names: str) -> list[Any]:
    return [event for event in prof.function_events if event.name in names]


def names(prof: Any) -> list[str]:
    return [event.name for event in prof.function_events]


# ---- what is recorded --------------------------------------------------------------


def training_step(t: Any) -> Any:
    model = t.nn.Linear(3, 4)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1)
    x = t.ones(2, 3, requires_grad=True)

    def step() -> None:
        loss = (model(x) ** 2).relu().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


MAIN_ROWS = (
    "aten::linear",
    "aten::addmm",
    "aten::pow",
    "aten::relu",
    "aten::sum",
    "Optimizer.zero_grad#SGD.zero_grad",
    "autograd::engine::evaluate_function: SumBackward0",
    "SumBackward0",
    "autograd::engine::evaluate_function: ReluBackward0",
    "ReluBackward0",
    "autograd::engine::evaluate_function: PowBackward0",
    "PowBackward0",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "AddmmBackward0",
    "autograd::engine::evaluate_function: TBackward0",
    "TBackward0",
    "Optimizer.step#SGD.step",
)


def test_a_training_step_has_pytorchs_rows_in_its_order():
    found = []
    for t in engines():
        prof = profiled(t, training_step(t))
        top = [e for e in rows(prof, *MAIN_ROWS) if "aten::sum" not in e.name]
        found.append([e.name for e in top if not around(e, "Backward")])
    assert found[0] == found[1]
    assert set(found[0]) == set(MAIN_ROWS) - {"aten::sum"}


def around(event: Any, part: str) -> bool:
    """Tell whether an op row lies inside of a node's."""
    parent = event.cpu_parent if event.name.startswith("aten::") else None
    while parent is not None and part not in parent.name:
        parent = parent.cpu_parent
    return parent is not None


def test_forward_and_backward_share_a_sequence_number():
    for t in engines():
        x = t.ones(3, requires_grad=True)
        y = t.ones(3, requires_grad=True)
        prof = profiled(t, lambda x=x, y=y: (x + y).sum().backward())
        for op, node in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward0")):
            outer = f"autograd::engine::evaluate_function: {node}"
            forward, *backward = rows(prof, op, outer, node)[:3]
            assert [forward.name, *(e.name for e in backward)] == [op, outer, node]
            assert forward.sequence_nr >= 0
            assert {e.sequence_nr for e in backward} == {forward.sequence_nr}
            assert forward.fwd_thread == 0
            assert [e.fwd_thread for e in backward] == [forward.thread] * 2
            assert [e.scope for e in (forward, *backward)] == [0, 0, 1]


def test_shapes_values_and_kinds_of_arguments_are_pytorchs():
    def run(t: Any) -> Any:
        x = t.ones(2, 6)
        prof = profiled(
            t,
            lambda: (
                x.as_strided([4, 3], [1, 4]),
                x.sum(0),
                t.cat([x, x]),
                t.mm(x, x.t()),
                t.nn.functional.linear(x, t.ones(5, 6), t.ones(5)),
                x.add_(x),
            ),
            record_shapes=True,
        )
        wanted = ("as_strided", "sum", "cat", "mm", "linear", "add_")
        found = rows(prof, *(f"aten::{name}" for name in wanted))
        return [
            (
                e.name,
                e.input_shapes,
                e.concrete_inputs,
                e.input_dtypes,
                e.structured_input_shapes,
                e.structured_input_strides,
            )
            for e in found
            if e.cpu_parent is None or e.name == "aten::mm"
        ]

    ours, theirs = (run(t) for t in engines())
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine[0], mine[1]) == (other[0], other[1])
        if mine[0] != "aten::sum":  # whose dim stays as the user wrote it
            assert mine == other


def test_blocks_with_names_hold_what_ran_inside():
    def run(t: Any) -> Any:
        x = t.ones(4)

        def work() -> None:
            with t.autograd.profiler.record_function("outer"):
                y = x * 2
                with t.autograd.profiler.record_function("inner"):
                    y = y - 1
            y = y / 1

        prof = profiled(t, work)
        return [
            (e.name, e.cpu_parent and e.cpu_parent.name, e.is_user_annotation, e.scope)
            for e in rows(prof, "outer", "inner", "aten::mul", "aten::sub", "aten::div")
        ]

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_a_decorated_function_is_a_row_each_time_it_is_called():
    @record_function("mine")
    def work(x: Any) -> Any:
        return x + 1

    work(gradtape.ones(2))
    prof = profiled(gradtape, lambda: work(work(gradtape.ones(2))))
    assert names(prof).count("mine") == 2


def test_blocks_take_values_along():
    autograd, u = gradtape.autograd, gradtape.ones(3, 4)
    with Profile(record_shapes=True) as prof, record_function("one", "1, 2"):
        values = (1, False, 2.5, [u, u], "hello", u)
        block = autograd._record_function_with_args_enter("two", *values)
        autograd._record_function_with_args_exit(block)
        ops._record_function_exit(ops._record_function_enter_new("three"))
    shapes = {e.name: e.input_shapes for e in rows(prof, "one", "two", "three")}
    assert shapes == {"one": [[]], "two": [[]] * 5 + [[3, 4]], "three": []}


def test_a_block_may_end_in_any_order_or_twice():
    block = record_function("outer")
    block.__enter__()
    with record_function("inner"):
        block.__exit__(None, None, None)
    block.__exit__(None, None, None)
    with Profile() as prof:
        block.__enter__()
    block.__exit__(None, None, None)
    assert names(prof) == ["outer"]


def test_self_time_is_what_the_events_inside_leave():
    prof = profiled(gradtape, training_step(gradtape))
    for event in prof.function_events:
        inside = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.self_cpu_time_total == pytest.approx(event.cpu_time_total - inside)
        assert event.self_cpu_time_total >= 0
    tops = [e for e in prof.function_events if e.cpu_parent is None]
    total = sum(e.cpu_time_total for e in tops)
    assert prof.self_cpu_time_total == pytest.approx(total)


def test_memory_is_counted_where_it_is_taken_and_given_back():
    def run(t: Any) -> Any:
        with t.autograd.profiler.profile(profile_memory=True) as prof:
            with t.autograd.profiler.record_function("take"):
                x = t.rand(10, 10)
            with t.autograd.profiler.record_function("work"):
                y = x * 2
                z = y.t()
            with t.autograd.profiler.record_function("give back"):
                del x
            del y, z
        wanted = ("take", "aten::rand", "aten::mul", "aten::t", "give back", "[memory]")
        return {e.name: e.cpu_memory_usage for e in rows(prof, *wanted)}

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_flops_are_pytorchs():
    def run(t: Any) -> Any:
        a, b = t.ones(3, 4), t.ones(4, 5)
        image, weight = t.ones(2, 4, 9, 8), t.ones(6, 2, 3, 2)
        prof = profiled(
            t,
            lambda: (
                a @ b,
                a * a,
                t.bmm(t.ones(2, 3, 4), t.ones(2, 4, 5)),
                t.addmm(t.ones(5), a, b),
                t.nn.functional.conv2d(image, weight, None, (2, 1), 1, (1, 2), 2),
            ),
            with_flops=True,
        )
        ops = ("mm", "mul", "bmm", "addmm", "conv2d")
        return {e.name: e.flops for e in rows(prof, *(f"aten::{op}" for op in ops))}

    ours, theirs = (run(t) for t in engines())
    assert ours == theirs


def test_stacks_lead_from_backward_to_the_forward_line():
    x = gradtape.ones(3, requires_grad=True)

    def forward() -> Any:
        return (x * 2).sum()

    prof = profiled(gradtape, lambda: forward().backward(), with_stack=True)
    (node,) = rows(prof, "MulBackward0")
    assert node.stack[0].startswith(f"{__file__}(")
    assert node.stack[0].endswith("): forward")


def test_modules_are_told_when_asked():
    model = gradtape.nn.Sequential(gradtape.nn.Linear(2, 2), gradtape.nn.ReLU())
    prof = profiled(gradtape, lambda: model(gradtape.ones(1, 2)), with_modules=True)
    found = {
        e.name: e.module_hierarchy for e in rows(prof, "aten::addmm", "aten::relu")
    }
    assert found == {
        "aten::addmm": "TOP(Sequential)::forward.0(Linear)::forward.",
        "aten::relu": "TOP(Sequential)::forward.1(ReLU)::forward.",
    }


def test_only_this_thread_is_recorded_unless_all_are_asked_for():
    def elsewhere() -> None:
        thread = threading.Thread(target=lambda: gradtape.ones(2).exp())
        thread.start()
        thread.join()

    assert "aten::exp" not in names(profiled(gradtape, elsewhere))
    begin, done = threading.Event(), threading.Event()

    def work() -> None:
        gradtape.ones(1)
        begin.wait()
        gradtape.ones(2).sigmoid()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    config = gradtape.profiler._ExperimentalConfig(profile_all_threads=True)

    def all_three() -> None:
        gradtape.ones(2).tanh()
        begin.set()
        done.wait()
        elsewhere()

    prof = profiled(gradtape, all_three, experimental_config=config)
    thread.join()
    found = rows(prof, "aten::sigmoid", "aten::tanh", "aten::exp")
    assert len({e.thread for e in found}) == 3


def test_nothing_is_left_behind():
    linear, reshape = gradtape.nn.functional.linear, gradtape.Tensor.reshape  # type: ignore[attr-defined]
    assert not gradtape.autograd._profiler_enabled()
    with Profile():
        assert gradtape.autograd._profiler_enabled()
        assert gradtape.autograd.profiler._is_profiler_enabled
        assert gradtape.nn.functional.linear is not linear
        with Profile() as inner:
            gradtape.ones(2)
        assert gradtape.autograd._profiler_enabled()
    assert "aten::ones" in names(inner)
    assert not gradtape.autograd._profiler_enabled()
    assert not gradtape.autograd.profiler._is_profiler_enabled
    assert gradtape.nn.functional.linear is linear
    assert gradtape.Tensor.reshape is reshape  # type: ignore[attr-defined]


def test_results_are_the_same_with_the_profiler_on():
    def run() -> Any:
        gradtape.manual_seed(0)
        model = gradtape.nn.Sequential(
            gradtape.nn.Linear(4, 8), gradtape.nn.ReLU(), gradtape.nn.Linear(8, 2)
        )
        out = model(gradtape.randn(3, 4))
        out.clone().mul_(2).t().reshape(-1)[1:].sum().backward()
        return out, [p.grad for p in model.parameters()]

    before = run()
    with Profile(record_shapes=True, profile_memory=True, with_stack=True):
        after = run()
    assert str(before) == str(after)


# ---- refusals ----------------------------------------------------------------------


def test_switched_off_it_records_nothing_and_enters_as_none():
    with Profile(enabled=False) as prof:
        assert prof is None


def test_unfinished_and_entered_twice():
    prof = Profile()
    assert str(prof) == "<unfinished torch.autograd.profile>"
    with prof, pytest.raises(RuntimeError, match="is not reentrant"):
        prof.__enter__()


def test_a_device_that_is_not_there_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert Profile(use_device="cuda").use_device is None
    with (
        pytest.warns(FutureWarning, match="use_cuda"),
        pytest.warns(UserWarning, match="CUDA is not available"),
    ):
        Profile(use_cuda=True)
    with pytest.warns(UserWarning, match="The nonsense is not a valid device option"):
        Profile(use_device="nonsense")


def test_ranges_for_other_profilers_need_their_libraries(monkeypatch: Any):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(RuntimeError, match="install the cupy package"):
        gradtape.autograd.profiler.emit_nvtx().__enter__()
    with pytest.raises(RuntimeError, match="ITT functions not installed"):
        gradtape.autograd.profiler.emit_itt().__enter__()
    assert not gradtape.profiler.itt.is_available()
    with gradtape.autograd.profiler.emit_nvtx(enabled=False):
        pass


def test_nvtx_ranges_open_and_close_around_ops(monkeypatch: Any):
    """With a stand-in for CuPy's module, which only a machine with CUDA has."""
    from gradtape.autograd._profiler import nvtx as _profiler_nvtx

    log: list[str] = []
    depth = [0]

    def push(text: str) -> None:
        log.append("  " * depth[0] + text.split(", seq")[0])
        depth[0] += 1

    def pop() -> None:
        depth[0] -= 1

    ranges = SimpleNamespace(RangePush=push, RangePop=pop)
    monkeypatch.setattr(_profiler_nvtx.emit_nvtx, "_open", lambda self: ranges)
    x = gradtape.ones(2, requires_grad=True)
    with gradtape.autograd.profiler.emit_nvtx():
        y = gradtape.nn.functional.linear(x, x)
        (y * 2).backward()
    assert depth == [0]
    assert log[0] == "aten::linear"
    assert "  MulBackward0" in log
    assert gradtape.autograd._profiler_enabled() is False
