"""capture(): what is known of a graph that was built without a recorder."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape as gt
import gradviz
from gradviz._capture import session as _session
from gradviz.ir.validate import validate


def test_capture_of_a_finished_graph():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    loss = (x.exp() * 2).sum()
    snapshot = gradviz.capture(loss)
    validate(snapshot)
    assert [n.name for n in snapshot.nodes] == [
        "AccumulateGrad",
        "ExpBackward0",
        "MulBackward0",
        "SumBackward0",
    ]
    assert snapshot.roots == (3,)
    output = snapshot.tensors[snapshot.nodes[1].outputs[0]]
    assert (output.shape, output.strides, output.dtype) == ((2,), (1,), "float32")
    assert snapshot.nodes[0].call == "x"


def test_capture_calls_no_op_by_a_name_of_ours():
    x = gt.ones(3, 1, requires_grad=True)
    with gradviz.record() as recorder:
        y = gt.cdist(x, x.detach()).double().squeeze(-1)
        y.squeeze_(0)
    calls = ["cdist", "to_copy", "squeeze"]
    assert [node.call for node in gradviz.capture(y).nodes[1:4]] == calls
    assert [node.call for node in recorder.snapshot().nodes[1:4]] == calls


def test_capture_of_a_deep_graph_needs_no_recursion():
    x = gt.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    assert sum(node.count for node in gradviz.capture(y).nodes) == 20_001


def test_capture_without_a_graph_says_why():
    with pytest.raises(gradviz.CaptureError, match="does not require grad"):
        gradviz.capture(gt.ones(2))


@pytest.mark.parametrize("value", [3, "loss", None, [1]])
def test_capture_of_something_else_says_what_it_got(value):
    with pytest.raises(gradviz.CaptureError, match=type(value).__qualname__):
        gradviz.capture(value)


class Cube(gt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


def test_capture_shows_a_users_function_with_its_backward():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    snapshot = gradviz.capture(Cube.apply(x))
    validate(snapshot)
    node = snapshot.nodes[1]
    assert (node.name, node.kind) == ("CubeBackward", "custom")
    assert "return 3 * x * x * grad" in node.formula
    (saved,) = snapshot.saved
    assert (saved.node, saved.slot, saved.hooked) == (1, "saved_tensors[0]", False)
    assert snapshot.tensors[saved.tensor].name == "x"


def test_capture_marks_what_a_hook_packed():
    x = gt.tensor([[1.0, 2.0]], requires_grad=True)
    with gt.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), gt.tensor):
        y = x.exp() @ x.T
    snapshot = gradviz.capture(y)
    validate(snapshot)
    assert snapshot.saved
    assert all(saved.hooked for saved in snapshot.saved)
    shapes = [snapshot.tensors[saved.tensor].shape for saved in snapshot.saved]
    assert sorted(shapes) == [(1, 2), (1, 2), (2, 1)]


def test_the_graph_behind_all_that_a_model_returns(lib: Any):
    x = lib.ones(3, requires_grad=True)
    hidden = x.exp()
    given = {"hidden": hidden, "losses": [hidden.sum(), x.norm()], "mask": lib.ones(3)}
    snapshot = gradviz.capture(given)
    validate(snapshot)
    names = [snapshot.nodes[root].name for root in snapshot.roots]
    assert sorted(names) == [
        "ExpBackward0",
        "LinalgVectorNormBackward0",
        "SumBackward0",
    ]
    assert len(snapshot.nodes) == 4
    twice = gradviz.capture((hidden, hidden))
    assert [twice.nodes[root].name for root in twice.roots] == ["ExpBackward0"]


def test_capture_says_what_to_give_instead(lib: Any):
    with pytest.raises(gradviz.CaptureError, match="call the module and give what"):
        gradviz.capture(lib.nn.Linear(2, 3))
    with pytest.raises(gradviz.CaptureError, match="tuple without a tensor in it"):
        gradviz.capture((1, [None]))
    with pytest.raises(gradviz.CaptureError, match="none of the 2 tensors has a graph"):
        gradviz.capture([lib.ones(2), lib.ones(3)])


def test_capture_of_two_engines_at_once_is_refused():
    torch = pytest.importorskip("torch")
    both = [torch.ones(1, requires_grad=True), gt.ones(1, requires_grad=True)]
    with pytest.raises(gradviz.CaptureError, match="tensors of one engine"):
        gradviz.capture(both)


def test_an_engine_imported_too_late_is_noted(monkeypatch: pytest.MonkeyPatch):
    imported = iter([["gradtape"], ["gradtape", "torch"]])
    monkeypatch.setattr(_session, "imported_engines", imported.__next__)
    with gradviz.record() as recorder:
        pass
    note = "`torch` was first imported while the recording ran"
    assert any(each.startswith(note) for each in recorder.snapshot().notes)


def test_an_unknown_engine_is_refused_at_once():
    with pytest.raises(ValueError, match="engine is 'gradtape', 'torch' or None"):
        gradviz.record(engine="jax")  # pyright: ignore[reportArgumentType]


def test_a_row_of_a_leaf_filled_under_no_grad_ends_no_recording():
    with gradviz.record() as recorder:
        table = gt.nn.Embedding(10, 4, padding_idx=0)  # fills a view of the weight
        table(gt.tensor([1, 2])).sum().backward()
    snapshot = recorder.snapshot()
    assert "EmbeddingBackward0" in [node.name for node in snapshot.nodes]
    assert snapshot.notes == ()
