"""record(): what a snapshot of a training step holds."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import pytest

import gradtape as gt
import gradviz
from gradviz.ir.validate import validate


def recorded(program, **options):
    with gradviz.record(**options) as recorder:
        program()
    snapshot = recorder.snapshot()
    validate(snapshot)
    return snapshot


def node_named(snapshot, name):
    return next(node for node in snapshot.nodes if node.name == name)


def index_of(snapshot, name):
    return next(i for i, node in enumerate(snapshot.nodes) if node.name == name)


def test_nodes_edges_and_sites():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    snapshot = recorded(lambda: (x * 3).exp().sum().backward())
    assert [node.name for node in snapshot.nodes] == [
        "AccumulateGrad",
        "MulBackward0",
        "ExpBackward0",
        "SumBackward0",
    ]
    assert [(e.source, e.target) for e in snapshot.edges] == [(0, 1), (1, 2), (2, 3)]
    mul = node_named(snapshot, "MulBackward0")
    site = snapshot.sites[mul.site]
    assert site.file == __file__
    assert site.text.strip()[site_slice(site)] == "x * 3"
    assert snapshot.sources[site.source].text.startswith('"""record()')


def site_slice(site):
    indent = len(site.text) - len(site.text.lstrip())
    return slice(site.column - 1 - indent, site.end_column - 1 - indent)


def test_columns_count_characters_not_bytes():
    x = gt.tensor([1.0], requires_grad=True)
    rec = gradviz.record()
    with rec:
        ("ü", x * 2)
    site = rec.snapshot().sites[node_named(rec.snapshot(), "MulBackward0").site]
    assert site.text[site.column - 1 : site.end_column - 1] == "x * 2"


def test_gradients_are_summarized_per_output_and_per_edge():
    x = gt.tensor([3.0, 4.0], requires_grad=True)
    snapshot = recorded(lambda: (x * x).sum().backward())
    leaf = node_named(snapshot, "AccumulateGrad")
    gradient = snapshot.statistics[leaf.grad_outputs[0]]
    assert gradient.norm == pytest.approx(10)
    assert (gradient.minimum, gradient.maximum) == (6, 8)
    per_edge = [e for e in snapshot.edges if e.source == 0]
    norms = [snapshot.statistics[e.gradient].norm for e in per_edge]
    assert norms == pytest.approx([5, 5])


def test_nan_and_inf_are_counted_where_they_arise():
    x = gt.tensor([0.0, 1.0], requires_grad=True)
    snapshot = recorded(lambda: x.log().sum().backward())
    log = node_named(snapshot, "LogBackward0")
    output = snapshot.tensors[log.outputs[0]]
    assert snapshot.statistics[output.statistics].infs == 1
    leaf = node_named(snapshot, "AccumulateGrad")
    assert snapshot.statistics[leaf.grad_outputs[0]].first_bad == (0,)


def test_saved_tensors_with_both_versions_and_the_writer():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    kept = []

    def program():
        y = x.exp()
        kept.append(y)
        y.add_(1)

    snapshot = recorded(program)
    number = index_of(snapshot, "ExpBackward0")
    (saved,) = [s for s in snapshot.saved if s.node == number]
    assert (saved.slot, saved.version_saved, saved.version_now) == (
        "_saved_result",
        0,
        1,
    )
    assert "modified" in snapshot.nodes[number].flags
    storage = snapshot.tensors[saved.tensor].storage
    (write,) = [w for w in snapshot.writes if w.storage == storage]
    assert (write.op, write.version) == ("add_", 1)
    assert snapshot.sites[write.site].text.strip() == "y.add_(1)"
    assert snapshot.nodes[write.node].call == "add_"


def test_views_share_a_storage_and_know_their_offset():
    x = gt.arange(6.0).requires_grad_()
    kept = []

    def program():
        y = x * 1
        kept.append((y, y[2:]))
        kept[-1][1].sum().backward()

    snapshot = recorded(program)
    view = node_named(snapshot, "SliceBackward0")
    base = node_named(snapshot, "MulBackward0")
    view_meta, base_meta = (snapshot.tensors[n.outputs[0]] for n in (view, base))
    assert (view_meta.offset, view_meta.strides, view_meta.shape) == (2, (1,), (4,))
    assert view_meta.is_view
    assert view_meta.storage == base_meta.storage
    aliases = snapshot.storages[view_meta.storage].tensors
    assert {view.outputs[0], base.outputs[0]} <= set(aliases)


def test_write_through_a_view_shows_copy_slices():
    x = gt.ones(3, requires_grad=True)
    kept = []

    def program():
        y = x * 1
        kept.append(y)
        y[0].mul_(5)
        y.sum().backward()

    snapshot = recorded(program)
    write = node_named(snapshot, "CopySlices")
    assert (write.kind, write.call) == ("inplace", "mul_")
    whole, part = snapshot.tensors[write.outputs[0]], snapshot.tensors[write.inputs[0]]
    assert (whole.shape, whole.version, whole.is_view) == ((3,), 1, False)
    assert (part.shape, part.offset, part.is_view) == ((), 0, True)
    flowing = [e.tensor for e in snapshot.edges if snapshot.nodes[e.source] is write]
    assert flowing == [write.outputs[0]]


def test_freed_after_backward_but_not_when_retained():
    x = gt.ones(3, requires_grad=True)
    freed = recorded(lambda: x.exp().sum().backward())
    assert "freed" in node_named(freed, "ExpBackward0").flags
    kept = []

    def program():
        kept.append(x.exp().sum())
        kept[0].backward(retain_graph=True)

    assert "freed" not in node_named(recorded(program), "ExpBackward0").flags


def test_names_of_variables_and_parameters():
    weights = gt.ones(3, requires_grad=True)
    with gradviz.record() as recorder:
        loss = (weights * 2).sum()
        loss.backward()
    snapshot = recorder.snapshot()
    names = {tensor.name for tensor in snapshot.tensors}
    assert {"weights", "loss"} <= names
    assert node_named(snapshot, "AccumulateGrad").call == "weights"


def test_scopes_carry_the_call_number():
    class Twice(gt.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = gt.nn.Linear(2, 2)

        def forward(self, x):
            return self.cell(self.cell(x))

    model = Twice()
    snapshot = recorded(lambda: model(gt.ones(1, 2)).sum().backward())
    assert [scope.path for scope in snapshot.scopes] == [
        "Twice",
        "Twice.cell",
        "Twice.cell#2",
    ]
    assert {s.kind for s in snapshot.scopes} == {"Twice", "Linear"}
    leaf = node_named(snapshot, "AccumulateGrad")
    assert leaf.call in ("cell.weight", "cell.bias")
    assert snapshot.scopes[leaf.scope].path.startswith("Twice.cell")


def test_iterations_of_a_loop():
    x = gt.ones(3, requires_grad=True)

    def program():
        y = x
        for _ in range(3):
            y = y * 2
        y.sum().backward()

    snapshot = recorded(program)
    turns = [n.iteration for n in snapshot.nodes if n.name == "MulBackward0"]
    assert turns == [0, 1, 2]


def test_events_tell_the_story_in_order():
    x = gt.ones(3, requires_grad=True)
    snapshot = recorded(lambda: (x * 2).sum().backward())
    kinds = [event.kind for event in snapshot.events]
    assert kinds == [
        "op",
        "op",
        "backward_begin",
        "node_enter",
        "node_leave",
        "node_enter",
        "node_leave",
        "accumulate",
        "backward_end",
    ]
    times = [event.time_ns for event in snapshot.events]
    assert times == sorted(times)


def test_grad_mode_switches_are_recorded_with_their_line():
    def program():
        with gt.no_grad():
            gt.ones(1) * 2

    snapshot = recorded(program)
    switches = [event for event in snapshot.events if event.kind == "grad_mode"]
    assert [event.text for event in switches] == ["off", "on"]
    assert "gt.no_grad()" in snapshot.sites[switches[0].site].text


def test_block_that_raises_keeps_what_was_recorded():
    x = gt.ones(3, requires_grad=True)
    recorder = gradviz.record()

    def program():
        with recorder:
            (x * 2).sum()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        program()
    snapshot = recorder.snapshot()
    assert [n.name for n in snapshot.nodes][-1] == "SumBackward0"
    assert snapshot.notes == ("The recorded code raised ValueError: broken",)
    assert snapshot.events[-1].kind == "error"


def test_block_without_a_graph_says_so():
    snapshot = recorded(lambda: gt.ones(2) * 2)
    assert snapshot.nodes == ()
    assert "No operation with a gradient was recorded" in snapshot.notes[0]


@pytest.mark.parametrize("bound", [{"steps": 5}, {"steps": 50, "max_nodes": 15}])
def test_old_steps_are_forgotten_but_no_leaf_is_lost(bound):
    from gradviz._capture.adapters.gradtape.graph_facts import ENGINE
    from gradviz._capture.recorder.recorder import Recorder

    x = gt.ones(3, requires_grad=True)
    recorder = Recorder(ENGINE, **bound)
    recorder.begin(None)
    for _ in range(50):
        (x * 2).exp().sum().backward()
    recorder.end(None)
    snapshot = recorder.snapshot()
    validate(snapshot)
    assert snapshot.notes == ("50 passes were recorded; the last 5 are kept.",)
    names = [node.name for node in snapshot.nodes]
    assert names == ["AccumulateGrad"] + 5 * [
        "MulBackward0",
        "ExpBackward0",
        "SumBackward0",
    ]
    assert len(snapshot.edges) == 15


def test_at_least_one_step_is_kept():
    with pytest.raises(ValueError, match="at least 1 step"):
        gradviz.record(steps=0)


def test_recording_keeps_nothing_alive():
    gc.collect()
    x = gt.ones(3, requires_grad=True)
    recorder = gradviz.record()
    with recorder:
        y = x.exp()
        y.sum().backward()
        kept = weakref.ref(y), weakref.ref(y._storage), weakref.ref(y.grad_fn)
        del y
    assert [reference() for reference in kept] == [None, None, None]
    assert len(recorder.snapshot().nodes) == 3


def test_numbers_are_the_same_with_and_without_recording():
    def step():
        gt.manual_seed(0)
        x = gt.randn(50, requires_grad=True)
        (x.exp() * x).sum().backward()
        return x.grad.tolist()

    plain = step()
    with gradviz.record():
        watched = step()
    assert plain == watched


def test_recorder_refuses_to_be_entered_twice():
    recorder = gradviz.record()
    with recorder, pytest.raises(RuntimeError, match="recording already"):
        recorder.__enter__()


def test_values_may_be_left_out():
    x = gt.ones(3, requires_grad=True)
    snapshot = recorded(lambda: (x * 2).sum().backward(), values=False)
    assert all(tensor.statistics is None for tensor in snapshot.tensors)
    assert node_named(snapshot, "MulBackward0").grad_outputs != ()


def test_empty_and_bad_values_record():
    x = gt.ones(0, 3, requires_grad=True)
    nan = gt.full((2, 2), math.nan, requires_grad=True)
    snapshot = recorded(lambda: (x.sum() + nan.sum()).backward())
    bad = [s for s in snapshot.statistics if s.nans]
    assert bad
    assert bad[0].minimum is None


def test_writes_after_the_graph_was_freed_are_no_harm():
    w = gt.ones(3, requires_grad=True)
    optimizer = gt.optim.SGD([w], lr=0.1)

    def program():
        (w * w).sum().backward()
        optimizer.step()

    mul = node_named(recorded(program), "MulBackward0")
    assert "modified" not in mul.flags


def test_call_numbers_start_anew_in_every_call_of_the_parent():
    class Outer(gt.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = gt.nn.Linear(2, 2)

        def forward(self, x):
            return self.cell(x)

    model = Outer()

    def program():
        for _ in range(30):
            model(gt.ones(1, 2)).sum().backward()

    paths = [scope.path for scope in recorded(program).scopes]
    assert "Outer#30.cell" in paths
    assert not [path for path in paths if "cell#" in path]


def test_leaves_of_a_function_are_called_what_it_calls_them():
    def train() -> None:
        weight = gt.ones(3, requires_grad=True)
        shift = gt.zeros(3, requires_grad=True)
        scaled = weight * 2
        (scaled + shift).sum().backward()

    with gradviz.record() as recorder:
        train()
    snapshot = recorder.snapshot()
    leaves = [n for n in snapshot.nodes if n.kind == "accumulate"]
    assert sorted(leaf.call for leaf in leaves) == ["shift", "weight"]
    assert "scaled" in [tensor.name for tensor in snapshot.tensors]


def test_inference_mode_does_not_end_a_recording():
    def program():
        x = gt.ones(3, requires_grad=True)
        with gt.inference_mode():
            gt.ones(3) * 2
        (x * 2).sum().backward()

    snapshot = recorded(program)
    assert not snapshot.notes
    assert "SumBackward0" in [node.name for node in snapshot.nodes]


def test_a_users_function_tells_through_which_lines_it_was_called(lib: Any):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    def squared(x: Any) -> Any:
        return Square.apply(x)

    with gradviz.record(engine=lib.__name__) as recorder:
        squared(lib.ones(2, requires_grad=True)).sum().backward()
    snapshot = recorder.snapshot()
    (node,) = [each for each in snapshot.nodes if each.name == "SquareBackward"]
    assert node.site is not None
    texts = [snapshot.sites[at].text for at in (node.site, *node.stack[:1])]
    assert "return Square.apply(x)" in texts[0]
    assert "squared(lib.ones" in texts[1]


def test_a_recorder_says_what_it_holds():
    recorder = gradviz.record(title="demo", engine="gradtape")
    assert repr(recorder) == "<recorder 'demo': nothing yet>"
    x = gt.ones(2, requires_grad=True)
    with recorder:
        (x * x).sum().backward()
        now = "<recorder 'demo' of gradtape: 1 backward pass so far, recording>"
        assert repr(recorder) == now
    assert repr(recorder) == (
        "<recorder 'demo' of gradtape: 1 backward pass, no findings>"
    )
