"""Modules that run without our mode: nothing is computed or found otherwise."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import gradviz
from gradviz._capture import detail
from gradviz.program import Call, Event, HookRegistered

OFTEN = 40
"""So many calls in a row that most of them are quiet."""


@pytest.fixture(autouse=True)
def brief_from_the_third_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_AT_ONCE", -1e9)
    torch.manual_seed(0)


class Policy(nn.Module):
    """Plays; ``at`` the call with this number it does something else, too."""

    def __init__(self, extra: Callable[[Any, Any], Any] | None = None, at: int = -1):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        self.register_buffer("total", torch.zeros(4))
        self.count, self.extra, self.at = [0], extra, at

    def forward(self, x: Any) -> Any:
        self.count[0] += 1
        out = self.body(x)
        if self.extra is not None and self.count[0] == self.at:
            return self.extra(self, out)
        return out


def pass_twice() -> None:
    """Take the two steps that are looked at in full."""
    net = nn.Linear(8, 1)
    for _ in range(2):
        net(torch.randn(4, 8)).sum().backward()


def record(run: Callable[[], Any], **options: Any) -> Any:
    recorder = gradviz.record(engine="torch", **options)
    with recorder:
        pass_twice()
        run()
    assert not [n for n in log_of(recorder).program.notes if n.startswith("Something")]
    return recorder


def fails(
    run: Callable[[], Any], kind: type[BaseException] = RuntimeError, **options: Any
) -> Any:
    recorder = gradviz.record(engine="torch", **options)

    def all_of_it() -> None:
        pass_twice()
        run()

    with pytest.raises(kind), recorder:
        all_of_it()
    assert not [n for n in log_of(recorder).program.notes if n.startswith("Something")]
    return recorder


def play(net: Any, times: int = OFTEN, rows: int = 4) -> list[Any]:
    results: list[Any] = []
    with torch.no_grad():
        for _ in range(times):
            results.append(net(torch.randn(rows, 8)))
    return results


def log_of(recorder: Any) -> Any:
    return recorder._parts[0].log


def events(recorder: Any) -> list[Event]:
    return list(log_of(recorder).program.events)


def calls(recorder: Any, *ops: str) -> list[Call]:
    found = [each for each in events(recorder) if isinstance(each, Call)]
    return [each for each in found if not ops or each.op in ops]


def line(call: Call) -> str:
    assert call.site is not None
    return call.site[0].co_name


def test_results_and_random_numbers_are_those_of_a_run_without_a_recording():
    def run() -> list[Any]:
        torch.manual_seed(3)
        pass_twice()
        torch.manual_seed(4)
        net = nn.Sequential(Policy(), nn.Dropout(0.5), nn.BatchNorm1d(4))
        return [*play(net), *net.state_dict().values(), torch.get_rng_state()]

    plain, recorded = run(), list[Any]()
    record(lambda: recorded.extend(run()))
    for one, other in zip(plain, recorded, strict=True):
        assert torch.equal(one, other)


def test_a_module_that_repeats_is_told_a_few_times():
    net = Policy()
    recorder = record(lambda: play(net, 200))
    assert 8 <= len(calls(recorder, "tanh")) <= 10  # of 200


def seen_by_the_mode(recorder: Any, run: Callable[[], Any]) -> Counter[str]:
    """Count what passes through our mode, told or not."""
    seen = Counter[str]()
    with recorder:
        pass_twice()
        kind = type(log_of(recorder).calls.mode)
        original = kind.__torch_function__

        def look(mode: Any, func: Any, *rest: Any) -> Any:
            seen[func.__name__] += 1
            return original(mode, func, *rest)

        with mock.patch.object(kind, "__torch_function__", look):
            run()
    return seen


def test_a_quiet_module_runs_without_our_mode():
    net = Policy()
    seen = seen_by_the_mode(gradviz.record(engine="torch"), lambda: play(net, 200))
    assert 8 <= seen["linear"] / 2 <= 10  # of 200
    assert seen["randn"] == 200


def test_every_kind_of_input_is_seen_first():
    net = Policy()

    def run() -> None:
        play(net)
        play(net, rows=5)

    seen = seen_by_the_mode(gradviz.record(engine="torch"), run)
    one = seen_by_the_mode(gradviz.record(engine="torch"), lambda: play(Policy()))
    assert seen["linear"] == one["linear"] + 2


@pytest.mark.parametrize("given", [list, tuple, lambda xs: {"x": xs[0]}])
def test_kinds_of_tensors_in_containers_are_told_apart(given: Any):
    class Inside(nn.Module):
        def forward(self, xs: Any) -> Any:
            return (xs["x"] if isinstance(xs, dict) else xs[0]).tanh()

    net = Inside()

    def run() -> None:
        with torch.no_grad():
            for rows in (2, 3):
                for _ in range(OFTEN):
                    net(given([torch.ones(rows)]))

    seen = seen_by_the_mode(gradviz.record(engine="torch"), run)
    first = seen_by_the_mode(
        gradviz.record(engine="torch"),
        lambda: [Inside()(torch.ones(1, rows)) for rows in (2, 3)],
    )
    assert first["tanh"] == 2
    assert 9 <= seen["tanh"] <= 11  # of 80


# ---- does otherwise than before ------------------------------------------------------


def write_buffer(net: Any, out: Any) -> Any:
    net.total.add_(out.sum(0))
    return out


def test_a_late_write_to_a_known_buffer_is_told():
    net = Policy(write_buffer, at=30)
    recorder = record(lambda: play(net))
    (wrote,) = calls(recorder, "Policy")
    (written,) = wrote.writes
    assert (written.before, written.after) == (0, 1)
    assert written.value.tensor == log_of(recorder).tensors.known(net.total)
    assert line(wrote) == "play"
    assert any("`Policy` was not seen" in n for n in log_of(recorder).program.notes)


def test_after_a_write_a_module_is_no_longer_quiet():
    net = Policy(write_buffer, at=30)

    def run() -> None:
        play(net)
        net.count[0] = 20
        play(net)

    recorder = record(run)
    (_,) = calls(recorder, "Policy")
    (_,) = calls(recorder, "add_")


def test_a_late_write_to_an_argument_is_told():
    class Fills(nn.Module):
        def forward(self, x: Any, state: Any) -> Any:
            count[0] += 1
            return state.add_(x) if count[0] == 30 else x * 2

    net, state, count = Fills(), torch.zeros(8), [0]

    def run() -> None:
        play(nn.Linear(8, 1), 1)
        with torch.no_grad():
            for _ in range(OFTEN):
                net(torch.ones(8), state)

    recorder = record(run)
    (wrote,) = calls(recorder, "Fills")
    assert [each.value.tensor for each in wrote.writes] == [
        log_of(recorder).tensors.known(state)
    ]


def test_a_saved_buffer_that_a_quiet_module_writes_is_found_as_in_full_detail():
    def run(net: Any) -> Callable[[], None]:
        def saved() -> None:
            scale = torch.ones(4, requires_grad=True)
            loss = (scale * net.total).sum()
            play(net)
            loss.backward()

        return saved

    found: list[list[Any]] = []
    for how in ("full", "auto"):
        recorder = fails(run(Policy(write_buffer, at=30)), detail=how)
        found.append([each.code for each in recorder.diagnose().findings])
    assert found[0]
    assert found[1] == found[0]


def test_a_graph_made_within_a_quiet_module_is_known():
    def learn(net: Any, out: Any) -> Any:
        with torch.enable_grad():
            return net.body(out.repeat(1, 2)).pow(2).mean()

    net = Policy(learn, at=30)
    losses: list[Any] = []

    def run() -> None:
        losses.extend(each for each in play(net) if each.requires_grad)
        losses[0].backward()

    recorder = record(run)
    (loss,) = losses
    (made,) = calls(recorder, "Policy")
    program = log_of(recorder).program
    assert {program.nodes[node].name for node in made.nodes} >= {"MeanBackward0"}
    assert made.outputs[0].shape == loss.shape == ()
    assert not recorder.diagnose()


def test_a_hook_that_is_put_on_late_is_seen_to():
    net, seen = Policy(), list[Any]()

    def hook(module: Any, args: Any, output: Any) -> None:
        seen.append(output.abs())

    def run() -> None:
        play(net)
        net.body[1].register_forward_hook(hook)
        play(net, 10)

    recorder = record(run)
    assert len(seen) == 10
    assert len(calls(recorder, "abs")) >= 8
    assert any(isinstance(each, HookRegistered) for each in events(recorder))


def test_a_hook_for_all_modules_is_seen_to():
    net, state = Policy(), torch.zeros(1)

    def hook(module: Any, args: Any, output: Any) -> None:
        state.add_(1)

    def run() -> None:
        play(net)
        with nn.modules.module.register_module_forward_hook(hook):
            play(net, 3)
        play(net)

    recorder = record(run)
    assert state.item() == len(calls(recorder, "add_")) == 3 * 5


def test_a_part_that_is_switched_to_training_is_told_to_write():
    net = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4)).eval()

    def run() -> None:
        play(net)
        net[1].train()
        play(net, 3)
        net.eval()
        play(net)
        net.train()
        play(net, 3)

    recorder = record(run)
    assert len(calls(recorder, "add_")) == 6  # of the batches it has seen


@pytest.mark.parametrize("how", ["assign", "append", "register"])
def test_a_part_that_is_put_in_late_is_seen_to(how: str):
    class Writes(nn.Module):
        def forward(self, x: Any) -> Any:
            state.add_(1)
            return x

    net, state = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), torch.zeros(1)

    def run() -> None:
        play(net)
        if how == "assign":
            net[1] = Writes()
        elif how == "append":
            net.append(Writes())
        else:
            net.register_module("2", Writes())
        play(net)

    recorder = record(run)
    assert state.item() == len(calls(recorder, "add_")) == OFTEN


def test_a_forward_that_is_replaced_by_a_mock_is_seen_to():
    net, state = Policy(), torch.zeros(1)

    def fake(*args: Any) -> Any:
        return state.add_(1)

    def run() -> None:
        play(net)
        with mock.patch.object(Policy, "forward", side_effect=fake):
            play(net, 3)
        with mock.patch.object(nn.Tanh, "forward", fake):
            play(net, 3)
        with mock.patch.object(net.body[1], "forward", side_effect=fake):
            play(net, 3)
        play(net)

    recorder = gradviz.record(engine="torch")
    with recorder:
        pass_twice()
        with mock.patch.object(net.body[2], "forward", lambda x: x):
            run()
    assert state.item() == len(calls(recorder, "add_")) == 9


def test_memory_that_another_instance_hands_out_is_watched():
    class Exports(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.tanh()
            arrays.append(y.numpy())
            return y

    arrays: list[Any] = []
    first, second = Exports(), Exports()
    watched: list[bool] = []

    def run() -> None:
        play(first)
        results = play(second)
        log = log_of(recorder)
        watched.append(log.values.look(results[-1])[1] in log.exports.watched)

    recorder = gradviz.record(engine="torch")
    with recorder:
        pass_twice()
        run()
    assert watched == [True]


# ---- errors --------------------------------------------------------------------------


def failed(recorder: Any) -> list[tuple[str, list[tuple[int, ...]]]]:
    found = [each for each in calls(recorder) if each.error]
    return [(each.op, [value.shape for value in each.inputs]) for each in found]


def test_a_new_shape_that_fails_is_told_with_its_inputs():
    net = Policy()

    def run() -> None:
        play(net)
        with torch.no_grad():
            net(torch.randn(4, 7))

    assert failed(fails(run)) == [("linear", [(4, 7), (16, 8), (16,)])]


def late_operator(net: Any, out: Any) -> Any:
    left = out.repeat(1, 2)
    return left @ net.body[0].bias[:3] if left.dim() == 9 else left @ net.total


def late_function(net: Any, out: Any) -> Any:
    wide = torch.ones(1, 3)
    return torch.cat([out, wide], dim=0)


def late_method(net: Any, out: Any) -> Any:
    return out.view(3, -5)


def late_index(net: Any, out: Any) -> Any:
    return out[7]


def late_module(net: Any, out: Any) -> Any:
    return net.body(out)


def late_embedding(net: Any, out: Any) -> Any:
    table, rows = torch.ones(2, 3), torch.tensor([5])
    return nn.functional.embedding(rows, table)


@pytest.mark.parametrize(
    ("extra", "kind", "told"),
    [
        (late_operator, RuntimeError, ("matmul", [(4, 8), (4,)])),
        (late_function, RuntimeError, ("cat", [(4, 4), (1, 3)])),
        (late_method, RuntimeError, ("view", [(4, 4)])),
        (late_index, IndexError, ("__getitem__", [(4, 4)])),
        (late_module, RuntimeError, ("linear", [(4, 4), (16, 8), (16,)])),
        (late_embedding, IndexError, ("embedding", [(1,), (2, 3)])),
    ],
)
def test_what_fails_in_a_quiet_module_is_told_with_its_inputs(
    extra: Any, kind: type[BaseException], told: Any
):
    net = Policy(extra, at=30)
    recorder = fails(lambda: play(net), kind)
    assert failed(recorder) == [told]
    error = next(each for each in calls(recorder) if each.error)
    assert line(error) == extra.__name__


def test_an_operand_without_a_name_is_not_guessed():
    def nested(net: Any, out: Any) -> Any:
        return out.repeat(1, 2) @ (out + 1)

    assert failed(fails(lambda: play(Policy(nested, at=30)))) == []


def test_an_error_of_the_users_is_no_call_that_failed():
    def refuse(net: Any, out: Any) -> Any:
        raise ValueError(str(out.shape))

    assert failed(fails(lambda: play(Policy(refuse, at=30)), ValueError)) == []


def test_after_an_error_in_a_quiet_module_all_is_recorded():
    net = Policy(late_function, at=30)
    depth = torch._C._len_torch_function_stack

    def run() -> None:
        before = depth()
        with pytest.raises(RuntimeError):
            play(net)
        assert depth() == before
        x = torch.ones(3, requires_grad=True)
        x.sinh().sum().backward()

    recorder = record(run)
    assert len(calls(recorder, "sinh")) == 1
    assert depth() == 0


def test_what_was_written_before_an_error_is_told():
    def write_and_fail(net: Any, out: Any) -> Any:
        net.total.add_(1)
        return net.total.view(3)

    net = Policy(write_and_fail, at=30)
    recorder = fails(lambda: play(net))
    assert failed(recorder) == [("view", [(4,)])]
    (wrote,) = calls(recorder, "Policy")
    assert [each.after for each in wrote.writes] == [1]


# ---- others on the stack -------------------------------------------------------------


def test_a_module_that_two_threads_share_is_told_of_one():
    net, results = Policy(), dict[str, list[Any]]()
    xs = list(torch.randn(OFTEN, 4, 8))

    def loop(name: str) -> None:
        with torch.no_grad():
            results[name] = [net(x) for x in xs]

    def run() -> None:
        other = threading.Thread(target=loop, args=("other",))
        other.start()
        loop("home")
        other.join()
        x = torch.ones(3, requires_grad=True)
        x.sinh().sum().backward()

    recorder = record(run)
    for one, other in zip(results["home"], results["other"], strict=True):
        assert torch.equal(one, other)
    assert len(calls(recorder, "sinh")) == 1
    assert 8 <= len(calls(recorder, "tanh")) <= 10


def test_a_recorder_within_another_sees_what_it_would_alone():
    net = Policy()
    alone = record(lambda: play(net))
    inner: list[Any] = []
    outer = record(lambda: inner.append(record(lambda: play(net))))
    ops = [[each.op for each in calls(each)] for each in (alone, *inner)]
    assert ops[0] == ops[1]
    assert len(calls(outer, "tanh")) >= 8
    full: list[Any] = []
    record(lambda: full.append(record(lambda: play(net), detail="full")))
    assert len(calls(full[0], "tanh")) == OFTEN


def test_a_recorder_in_full_detail_around_one_in_brief_sees_all():
    net = Policy()
    outer = record(lambda: record(lambda: play(net)), detail="full")
    assert len(calls(outer, "tanh")) == OFTEN


def test_a_function_mode_of_the_users_sees_every_call():
    class Counts(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen[func.__name__] += 1
            return func(*args, **(kwargs or {}))

    net, seen = Policy(), Counter[str]()

    def within() -> None:
        with Counts():
            play(net)

    record(within)
    assert seen["linear"] == 2 * OFTEN
    seen.clear()
    with Counts():
        record(lambda: play(net))
    assert seen["linear"] == 2 * OFTEN + 2


def test_a_subclass_of_tensor_is_asked_as_without_a_recording():
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            asked[func.__name__] += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    net, asked = Policy(), Counter[str]()

    def run() -> list[Any]:
        with torch.no_grad():
            return [net(torch.ones(2, 8).as_subclass(Named)) for _ in range(OFTEN)]

    assert {type(each) for each in run()} == {Named}
    plain = asked.copy()
    asked.clear()
    results: list[Any] = []
    record(lambda: results.extend(run()))
    assert {type(each) for each in results} == {Named}
    assert asked == plain  # looks of ours, too, would be counted
    assert plain["linear"] == 2 * OFTEN


# ---- memory that is handed out -------------------------------------------------------


def export_and_write(write: bool) -> Callable[[], None]:
    net = nn.Linear(3, 1)

    def run() -> None:
        for step in range(OFTEN):
            with torch.no_grad():
                batch = torch.full((2, 3), float(step))
                array = batch.numpy()
            out = net(batch)
            if write and step == OFTEN - 2:
                array[:] = 0
            out.sum().backward()

    return run


def test_an_array_written_after_a_passed_over_export_is_found_as_in_full_detail():
    def found(how: str) -> list[SimpleNamespace]:
        findings = record(export_and_write(True), detail=how).diagnose().findings
        return [
            SimpleNamespace(
                code=each.code, culprit=each.culprit, related=len(each.related)
            )
            for each in findings
        ]

    in_full, in_brief = found("full"), found("auto")
    assert "GV110" in [each.code for each in in_full]
    assert in_brief == in_full


def test_an_array_that_nobody_writes_is_no_finding():
    recorder = record(export_and_write(False))
    assert "GV110" not in [each.code for each in recorder.diagnose().findings]


def test_repeated_exports_of_new_memory_are_told_a_few_times():
    def run() -> None:
        with torch.no_grad():
            nn.Linear(8, 1)(torch.ones(8))  # a step begins, in brief
            for _ in range(OFTEN):
                torch.zeros(3).numpy()

    assert len(calls(record(run), "numpy")) <= 10
