"""A long run is looked at in brief: what is seen of it, and what is noticed at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz._capture import detail
from gradviz._capture.adapters.pytorch import backward, calls
from gradviz._capture.adapters.pytorch.graph.nodes import TorchGraph
from gradviz.program import Backward, Call

LATE = 40


@pytest.fixture(autouse=True)
def brief_from_the_third_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_AT_ONCE", -1e9)
    torch.manual_seed(0)


def model() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    return net, torch.optim.SGD(net.parameters(), lr=1e-3)


def train(steps: int, loss_of: Callable[[Any, int], Any], **options: Any) -> Any:
    net, optimizer = model()
    with gradviz.record(engine="torch", **options) as recorder:
        for step in range(steps):
            loss = loss_of(net(torch.randn(4, 8)), step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return recorder


def plain(out: Any, _step: int) -> Any:
    return out.pow(2).mean()


def log_of_zero(out: Any, step: int) -> Any:
    if step == LATE:
        return torch.log(out * 0).mean()
    return out.pow(2).mean()


def root_of_zero(out: Any, step: int) -> Any:
    scale = 0.0 if step == LATE else 1.0
    return torch.sqrt((out * scale).pow(2).sum())


def division_by_zero(out: Any, step: int) -> Any:
    scale = 0.0 if step == LATE else 1.0
    return (out / torch.full((4, 1), scale)).pow(2).mean()


def written_nan(out: Any, step: int) -> Any:
    weight = torch.ones(4, 1)
    weight[0] = float("nan") if step == LATE else 1.0
    return (weight * out).mean()


def root_that_did_no_harm_before(out: Any, step: int) -> Any:
    """A clamp below 0 makes 0 of an infinite gradient; at 0, NaN comes of it."""
    lifted = {LATE // 2: -1.0, LATE: 0.0}.get(step, 1.0)
    return ((out * 0 + lifted).clamp(min=0).sqrt() * out).mean()


@pytest.mark.parametrize(
    "loss",
    [
        log_of_zero,
        root_of_zero,
        division_by_zero,
        written_nan,
        root_that_did_no_harm_before,
    ],
)
def test_a_late_nan_is_found_as_in_full_detail(loss: Callable[[Any, int], Any]):
    in_full = train(LATE + 5, loss, detail="full").diagnose()
    in_brief = train(LATE + 5, loss).diagnose()
    assert in_full
    first, found = in_full.findings[0], in_brief.findings[0]
    assert (found.code, found.culprit) == (first.code, first.culprit)
    assert [f.code for f in in_brief.findings] == [f.code for f in in_full.findings]


def test_the_step_in_which_a_nan_is_born_is_shown():
    snapshot = train(LATE + 5, log_of_zero).snapshot()
    assert any(each.infs for each in snapshot.statistics)
    assert any(node.call == "log" for node in snapshot.nodes)


def test_the_minus_infinity_of_a_mask_is_no_news():
    mask = torch.tensor([[True], [False], [False], [False]])

    def masked(out: Any, _step: int) -> Any:
        return out.masked_fill(mask, -torch.inf).softmax(dim=0).pow(2).sum()

    recorder = train(30, masked)
    assert recorder._parts[0].log.detail.steps_in_full <= 5
    assert not recorder.diagnose()


def test_most_steps_are_looked_at_in_brief_and_the_recording_says_so():
    recorder = train(30, plain)
    (note,) = [each for each in recorder.snapshot().notes if "in full:" in each]
    assert note.startswith("2 of 30 passes")
    log = recorder._parts[0].log
    passes = [each for each in log.program.events if isinstance(each, Backward)]
    assert len(passes) == 30
    assert len([each for each in passes if each.whole and each.runs]) == 2


def test_every_step_is_looked_at_where_that_is_asked_for():
    recorder = train(30, plain, detail="full")
    events = recorder._parts[0].log.program.events
    passes = [each for each in events if isinstance(each, Backward)]
    assert len([each for each in passes if each.runs]) == 30
    assert not [each for each in recorder.snapshot().notes if "in full:" in each]


def test_gradients_of_steps_in_brief_are_in_the_flow():
    in_full, in_brief = [train(30, plain, detail=how) for how in ("full", "auto")]
    flows = [each.snapshot() for each in (in_full, in_brief)]
    for snapshot in flows:
        assert [step.number for step in snapshot.flow_steps] == list(range(30))
        assert len({point.layer for point in snapshot.flow}) == 4
    full, brief = (len(each.flow) for each in flows)
    assert full == brief == 120
    assert all(point.norm for point in flows[1].flow)
    assert all(step.time_ns for step in flows[1].flow_steps)


def test_a_leaf_whose_norms_nobody_knows_is_not_told_as_one_without_gradient():
    net = nn.ModuleDict({"table": nn.Embedding(9, 8, sparse=True)})
    net["body"], net["spare"] = nn.Linear(8, 1), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with gradviz.record(engine="torch") as recorder:
        for step in range(20):
            rows = torch.randn(4, 8)
            if step >= 2:  # from here on in brief, where sparse gradients have no norm
                rows = net["table"](torch.arange(4))
            optimizer.zero_grad()
            net["body"](rows).sum().backward()
            optimizer.step()
    snapshot = recorder.snapshot()
    points = {point.layer for point in snapshot.flow}
    layers = enumerate(snapshot.flow_layers)
    bare = {each.name for row, each in layers if row not in points}
    assert bare == {"spare.weight", "spare.bias"}


def test_gradients_that_add_up_are_not_told_as_those_of_one_step():
    net, _ = model()
    with gradviz.record(engine="torch") as recorder:
        for _ in range(20):
            net(torch.randn(4, 8)).sum().backward()
    snapshot = recorder.snapshot()
    numbers = [step.number for step in snapshot.flow_steps]
    assert numbers == [0, 1, 19]  # how many there were is known
    assert {point.step for point in snapshot.flow} == {0, 1}


def test_what_a_loop_makes_anew_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    from gradviz._capture.adapters.pytorch import log
    from gradviz._capture.training_loop import modules, optimizers

    monkeypatch.setattr(log, "MOST_WITHOUT_VALUES", 200)
    for part in (modules, optimizers):
        monkeypatch.setattr(part, "MOST_GONE", 20)
    with gradviz.record(engine="torch") as recorder:
        for _ in range(150):
            net, optimizer = model()
            net(torch.randn(4, 8)).sum().backward()
            optimizer.step()
    program = recorder._parts[0].log.program
    assert not program.notes  # nothing of ours failed
    assert len(program.modules) < 50  # of 600
    assert len(program.optimizers) < 50  # of 150
    assert len(program.tensors) < 350  # of 600
    assert len(program.left) < 200


def test_a_gradient_a_thousand_times_smaller_is_looked_at_in_full():
    def smaller(out: Any, step: int) -> Any:
        return out.pow(2).mean() * (1e-6 if step >= LATE else 1.0)

    assert train(LATE, smaller)._parts[0].log.detail.steps_in_full == 2
    assert train(LATE + 9, smaller)._parts[0].log.detail.steps_in_full == 4


def test_a_nan_long_ago_is_still_shown(monkeypatch: pytest.MonkeyPatch):
    late = LATE + 5
    monkeypatch.setattr(detail.Detail, "_affords", lambda self, *_: self.steps > late)
    snapshot = train(LATE + 30, log_of_zero).snapshot()
    assert any(node.call == "log" for node in snapshot.nodes)


def test_steps_after_something_new_are_looked_at_in_full():
    recorder = train(LATE + 5, log_of_zero)
    assert recorder._parts[0].log.detail.steps_in_full > 2


def test_what_a_picture_shows_outlives_many_steps(monkeypatch: pytest.MonkeyPatch):
    from gradviz._capture.adapters.pytorch import log

    monkeypatch.setattr(log, "MOST_WITHOUT_VALUES", 200)
    recorder = train(200, plain)
    assert len(recorder._parts[0].log.program.raw) < 400  # of 2,400
    snapshot = recorder.snapshot()
    assert {node.iteration for node in snapshot.nodes if node.sequence} == {0, 1}
    assert any(
        "200 passes were recorded; the last 2" in each for each in snapshot.notes
    )


def test_nobody_asks_a_transform_for_the_norm_of_a_row():
    def curved(out: Any, _step: int) -> Any:
        def value(scale: Any) -> Any:
            return (scale * out).tanh().sum()

        grad, vmap = torch.func.grad, torch.func.vmap
        return vmap(grad(grad(value)))(torch.rand(3)).pow(2).mean()

    recorder = train(LATE, curved)
    assert not recorder.diagnose().notes


def test_losses_are_those_of_a_run_without_a_recording():
    def losses(recorded: bool) -> list[float]:
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 1))
        optimizer = torch.optim.Adam(net.parameters())
        found: list[float] = []

        def step() -> None:
            optimizer.zero_grad()
            loss = net(torch.randn(4, 8)).pow(2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())

        if not recorded:
            for _ in range(20):
                step()
            return found
        with gradviz.record(engine="torch"):
            for _ in range(20):
                step()
        return found

    assert losses(True) == losses(False)


def test_calls_without_a_graph_are_told_a_few_times():
    net, _ = model()
    with gradviz.record(engine="torch") as recorder:
        for _ in range(2):
            net(torch.randn(4, 8)).sum().backward()
        with torch.no_grad():
            for _ in range(100):
                net(torch.randn(4, 8))
    events = recorder._parts[0].log.program.events
    linear = [e for e in events if isinstance(e, Call) and e.op == "linear"]
    assert 4 < len(linear) < 60  # of 204


def test_writes_without_a_graph_are_always_told():
    net, _ = model()
    total = torch.zeros(3)
    with gradviz.record(engine="torch") as recorder:
        for _ in range(2):
            net(torch.randn(4, 8)).sum().backward()
        with torch.no_grad():
            for _ in range(50):
                total.add_(1)
    events = recorder._parts[0].log.program.events
    assert len([e for e in events if isinstance(e, Call) and e.op == "add_"]) == 50


def test_a_run_without_passes_goes_on_in_brief(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_MOST_ASIDE", 50)
    x = torch.ones(3)
    with gradviz.record(engine="torch") as recorder:
        for _ in range(200):
            x = x * 1.0
    log = recorder._parts[0].log
    assert log.brief
    assert len(log.program.events) < 100


def test_leaves_first_met_in_brief_have_their_names_in_a_later_pass(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(detail, "_MOST_ASIDE", 50)
    net, optimizer = model()
    with gradviz.record(engine="torch") as recorder:
        for _ in range(100):  # as when data is prepared: the rest goes on in brief
            torch.zeros(2) + 1
        for _ in range(2):
            loss = net(torch.randn(4, 8)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    nodes = recorder.snapshot().nodes
    leaves = {node.call for node in nodes if node.kind == "accumulate"}
    assert leaves == {"0.weight", "0.bias", "2.weight", "2.bias"}


def test_a_loss_that_grew_large_is_not_called_infinite():
    def huge(out: Any, _step: int) -> Any:
        return (out * 1e30).sum() * 1e-30  # whose squares are Inf in float32

    recorder = train(20, huge)
    assert recorder._parts[0].log.detail.steps_in_full <= 3


def test_hooks_put_on_during_a_pass_run_as_they_would():
    seen: list[int] = []

    def run() -> None:
        x = torch.ones(3, requires_grad=True)
        y = (x * 2) * (x * 3)
        y.grad_fn.register_hook(lambda *_: seen.append(1))
        y.sum().backward()

    with gradviz.record(engine="torch"):
        for _ in range(10):
            run()
    assert len(seen) == 10


@pytest.mark.parametrize("bad", [{"detail": "some"}, {"budget": 0.5}])
def test_what_detail_does_not_know_is_refused(bad: dict[str, Any]):
    with pytest.raises(ValueError, match=r"(detail|a budget) is"):
        gradviz.record(**bad)


def test_numpy_writes_are_found_in_a_late_step():
    net, _ = model()
    with gradviz.record(engine="torch") as recorder:
        batch = torch.randn(4, 8)
        array = batch.numpy()
        for step in range(20):
            out = net(batch)
            if step == 15:
                array[:] = 0
            out.sum().backward()
    assert any(f.slug == "numpy-alias-write" for f in recorder.diagnose().findings)


def test_a_log_that_is_read_while_a_call_is_noted_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    def read(self: calls.TorchCalls, *_: Any) -> None:
        assert self.log.program.events  # as whoever asks which pass freed a graph does

    monkeypatch.setattr(calls.TorchCalls, "_read_what_ends", read)
    recorder = train(3, lambda out, _step: plain(out, 0) + out.mean().item() * 0)
    assert not [note for note in recorder.snapshot().notes if "left out" in note]


def test_products_are_watched_once_gradients_are_large():
    net, _ = model()
    with gradviz.record(engine="torch") as recorder:
        for step in range(LATE + 3):
            out = net(torch.randn(4, 8))
            if step < LATE:
                loss = out.sum() * 1e16
            else:  # finite, but its slope is 1e30 * 1e25
                loss = (out * 1e-30 * 1e25).sum() * 1e30
            net.zero_grad()
            loss.backward()
    log = recorder._parts[0].log
    passes = [each for each in log.program.events if isinstance(each, Backward)]
    (unusual,) = [each for each in passes if each.unusual]
    made = [run for run in unusual.runs if any(g and g.infs for g in run.outgoing)]
    assert log.program.nodes[made[0].node].name == "MulBackward0"


def test_a_call_that_fails_is_told_however_often_it_did_not():
    net, _ = model()

    def run() -> None:
        for step in range(40):
            net(torch.randn(4, 8)).sum().backward()
            left = torch.ones(2, 3 if step < 30 else 4)
            left @ torch.ones(3, 2)

    recorder = gradviz.record(engine="torch")
    with pytest.raises(RuntimeError), recorder:
        run()
    calls = [e for e in recorder._parts[0].log.program.events if isinstance(e, Call)]
    (failed,) = [each for each in calls if each.error]
    assert failed.op == "matmul"
    assert [value.shape for value in failed.inputs] == [(2, 4), (3, 2)]


def test_the_loss_of_a_step_in_brief_is_known():
    def shrinking(out: Any, step: int) -> Any:
        return out.sum() * 0 + 1 / (step + 1)

    events = train(20, shrinking)._parts[0].log.program.events
    roots = [e.roots[0] for e in events if isinstance(e, Backward)]
    losses = [root.summary.minimum for root in roots if root.summary is not None]
    assert losses == pytest.approx([1 / (step + 1) for step in range(20)])
    made = [e for e in events if isinstance(e, Call) and e.op == "add"]
    assert made[-1].outputs[0].summary is None  # nobody looked at what calls gave


def test_a_cut_in_a_late_step_is_looked_at_in_full():
    net, _ = model()
    with gradviz.record(engine="torch") as recorder:
        for step in range(LATE + 5):
            hidden = net[1](net[0](torch.randn(4, 8)))
            if step >= LATE:
                hidden = hidden.detach()
            net.zero_grad()
            net[2](hidden).sum().backward()
    log = recorder._parts[0].log
    assert log.detail.steps_in_full == 4
    passes = [e for e in log.program.events if isinstance(e, Backward)]
    shown = {len(each.leaves) for each in passes if each.whole and each.runs}
    assert shown == {2, 4}
    assert not recorder.diagnose()  # all of it has learned before


def test_a_loop_whose_leaves_vary_is_not_looked_at_in_full_for_long():
    layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(30))
    with gradviz.record(engine="torch") as recorder:
        for step in range(60):
            out = torch.randn(4, 8)
            for layer in list(layers)[: step % 30 + 1]:
                out = layer(out)
            layers.zero_grad()
            out.sum().backward()
    assert recorder._parts[0].log.detail.steps_in_full < 30


def test_steps_whose_loss_falls_below_zero_are_looked_at_in_full():
    def sinking(out: Any, step: int) -> Any:
        return out.pow(2).mean() - max(0, step - LATE)

    above, below = [train(2 * LATE, each)._parts[0].log for each in (plain, sinking)]
    events = [each for each in below.program.events if isinstance(each, Backward)]
    assert any(each.whole for each in events[LATE:])
    assert below.detail.steps_in_full < LATE  # each time that it is twice as low
    assert above.detail.steps_in_full == 2


def test_passes_in_the_closure_of_a_step_are_known_as_such():
    net, _ = model()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
    x = torch.randn(4, 8)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        return loss

    with gradviz.record(engine="torch") as recorder:
        for _ in range(4):
            optimizer.step(closure)
    assert not recorder.diagnose()


def test_relus_that_the_first_steps_killed_are_looked_at_again():
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=20.0)
    x = torch.rand(32, 4)
    with gradviz.record(engine="torch") as recorder:
        for _ in range(6):
            loss = (net(x) - 5).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert "GV503" in [each.code for each in recorder.diagnose().findings]


def test_passes_of_more_nodes_than_are_hooked_are_watched_at_their_leaves(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(backward, "MOST_HOOKED", 3)
    recorder = train(4, plain)
    assert not [each for each in recorder.diagnose().notes if "left out" in each]
    program = recorder._parts[0].log.program
    passes = [each for each in program.raw if isinstance(each, Backward)]
    assert all([*each.at_leaves()] for each in passes)


def test_the_step_of_a_birth_is_told_as_others_are():
    full, brief = [train(LATE + 9, root_of_zero, detail=h) for h in ("full", "auto")]
    for recorder in (full, brief):
        snapshot = recorder.snapshot()
        assert [step.number for step in snapshot.flow_steps] == list(range(LATE + 9))
        bad = {point.step for point in snapshot.flow if point.nans + point.infs}
        assert bad == set(range(LATE, LATE + 9))
        (first, *_) = recorder.diagnose().findings
        assert f"First in backward pass {LATE + 1} of {LATE + 9}." in first.message
        begun = [e for e in snapshot.events if e.kind == "backward_begin"]
        times = {step.time_ns: step.number for step in snapshot.flow_steps}
        numbers = [times[each.time_ns] for each in begun]
        assert LATE in numbers
        assert all(each.node is not None for each in begun)  # graphs have their roots
        born = numbers.index(LATE)
        blamed = snapshot.nodes[snapshot.findings[0].nodes[0]]
        root = snapshot.nodes[begun[born].node]
        before = snapshot.nodes[begun[born - 1].node].sequence if born else -1
        assert before < blamed.sequence <= root.sequence


def test_passes_that_are_drawn_are_known_though_nothing_is_told_of_them():
    net, _ = model()
    with gradviz.record(engine="torch", detail="full") as recorder:
        for _ in range(30):
            net(torch.randn(4, 8)).sum().backward()
    snapshot = recorder.snapshot()
    times = {step.time_ns: step.number for step in snapshot.flow_steps}
    begun = [e for e in snapshot.events if e.kind == "backward_begin"]
    assert [times[each.time_ns] for each in begun] == [26, 27, 28, 29]


def test_graphs_of_derivatives_are_not_read_at_each_pass(
    monkeypatch: pytest.MonkeyPatch,
):
    read, walk = list[Backward](), TorchGraph.inspect_pass

    def counted(self: TorchGraph, roots: list[Any], event: Backward) -> Any:
        read.append(event)
        return walk(self, roots, event)

    monkeypatch.setattr(TorchGraph, "inspect_pass", counted)
    net, optimizer = model()
    with gradviz.record(engine="torch") as recorder:
        for _ in range(2 * LATE):
            x = torch.randn(4, 8, requires_grad=True)
            out = torch.tanh(net(x)).sum()
            (slope,) = torch.autograd.grad(out, x, create_graph=True)
            optimizer.zero_grad()
            slope.pow(2).sum().backward()
            optimizer.step()
    events = recorder._parts[0].log.program.events
    passes = [e for e in events if isinstance(e, Backward)]
    assert len(passes) == 4 * LATE
    assert len(read) < LATE


def test_what_never_had_a_gradient_is_told_of_a_model_that_is_gone():
    def training() -> None:
        net = nn.ModuleDict({"body": nn.Linear(8, 1), "spare": nn.Linear(8, 1)})
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            net["body"](torch.randn(4, 8)).sum().backward()
            optimizer.step()

    with gradviz.record(engine="torch") as recorder:
        for _ in range(3):
            training()
    snapshot = recorder.snapshot()
    met = {point.layer for point in snapshot.flow}
    layers = enumerate(snapshot.flow_layers)
    bare = [each.name for row, each in layers if row not in met]
    assert sorted(bare) == ["spare.bias", "spare.weight"]
