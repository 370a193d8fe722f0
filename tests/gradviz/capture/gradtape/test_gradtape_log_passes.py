"""What the program log of gradtape says about backward passes."""

from __future__ import annotations

import gradtape as torch
from gradtape.utils.checkpoint import checkpoint
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz.program.events import Backward
from gradviz.program.places import Places
from tests.gradviz.capture.gradtape.gradtape_logs import calls, leaf, logged, of


def test_a_pass_says_what_it_is_about_to_walk() -> None:
    def run() -> None:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        (x * w).sum().backward(retain_graph=True)

    program = logged(run)
    (passed,) = of(program, Backward)
    names = [program.nodes[key].name for key in passed.nodes]
    assert names == ["SumBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad"]
    assert passed.node_count == 4
    made = [call.outputs[0].tensor for call in calls(program, "tensor")]
    assert sorted(passed.leaves) == made
    assert passed.retain_graph
    assert passed.stale == passed.freed == ()
    assert [run.node for run in passed.runs] == list(passed.nodes)


def test_a_pass_finds_what_was_written_since_it_was_saved() -> None:
    def run() -> None:
        y = leaf(1.0, 2.0).exp()
        y += 1
        y.sum().backward()

    program = logged(run)
    (passed,) = of(program, Backward)
    (stale,) = passed.stale
    node = program.nodes[stale.node]
    assert (node.name, stale.slot) == ("ExpBackward0", "_saved_result")
    assert (stale.value.version, stale.version_now, stale.silent) == (0, 1, False)
    assert stale.value.tensor == calls(program, "exp")[0].outputs[0].tensor
    assert passed.error is not None
    assert passed.error_node == stale.node


def test_a_silent_write_lies_between_two_events() -> None:
    def run() -> None:
        y = leaf(1.0, 2.0) * 2
        loss = (y * y).sum()
        shared = y.detach().numpy()
        shared[0] = 100.0
        loss.backward()

    program = logged(run)
    (passed,) = of(program, Backward)
    assert all(stale.silent for stale in passed.stale)
    assert {stale.after for stale in passed.stale} == {calls(program, "numpy")[0].index}


def test_a_second_pass_finds_the_graph_freed_by_the_first() -> None:
    def run() -> None:
        loss = leaf(1.0).exp()
        loss.backward()
        loss.backward()

    program = logged(run)
    first, second = of(program, Backward)
    assert second.freed == (second.nodes[0],)
    row = program.nodes[second.nodes[0]]
    assert row.freed_by == first.index
    assert row.saved[0].freed
    assert second.error is not None


def test_grad_has_inputs_and_results() -> None:
    def run() -> None:
        x = leaf(3.0)
        (found,) = torch.autograd.grad((x * x).sum(), [x], create_graph=True)
        found.sum().backward()

    first, second = of(logged(run), Backward)
    assert (first.api, first.create_graph, first.retain_graph) == ("grad", True, True)
    assert first.results[0] is not None
    assert first.results[0].text == "[6.]"
    assert second.api == "backward"


def test_gradients_are_summarized_where_values_are_looked_at() -> None:
    def run() -> None:
        leaf(0.0, 1.0).sqrt().sum().backward()

    program = logged(run)
    (passed,) = of(program, Backward)
    (run_of_sqrt,) = [
        run for run in passed.runs if program.nodes[run.node].name == "SqrtBackward0"
    ]
    (outgoing,) = run_of_sqrt.outgoing
    assert outgoing is not None
    assert (outgoing.infs, outgoing.first_bad, outgoing.minimum) == (1, (0,), 0.5)
    assert logged(run, scan=False).scanned is False


def test_values_are_looked_at_again_after_a_write_that_nobody_counts() -> None:
    def run() -> None:
        x = torch.zeros(2)
        x.data.fill_(3)
        x.sum()

    value = calls(logged(run), "sum")[0].inputs[0]
    assert (value.version, value.text) == (0, "[3., 3.]")


def test_preflight_looks_without_running() -> None:
    with GradtapeLog() as log:
        x = leaf(1.0)
        y = x.exp()
        y += 1
        event = log.preflight(y)
    assert [stale.slot for stale in event.stale] == ["_saved_result"]
    assert x.grad is None


def test_preflight_tells_of_writes_from_before_the_log() -> None:
    y = leaf(1.0).exp()
    y += 1
    with GradtapeLog() as log:
        log.preflight(y)
    (call,) = calls(log.program)
    assert call.op == "add_"
    assert [(write.before, write.after) for write in call.writes] == [(0, 1)]
    assert call.site is not None
    assert Places().source_line(__file__, Places().line(call.site)) == "    y += 1"


def test_two_logs_note_each_pass_once_and_the_one_inside_a_checkpoint() -> None:
    x = leaf(1.0, 2.0)
    with GradtapeLog() as outer, GradtapeLog() as inner:
        (x * 2).sum().backward()
        torch.autograd.backward((x * 3).sum())
        checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    for log in (outer, inner):
        passes = of(log.program, Backward)
        assert [len(each.leaves) for each in passes] == [1, 1, 1, 1]
