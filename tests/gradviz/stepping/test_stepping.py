"""step(): a real backward pass, node by node, on both engines."""

from __future__ import annotations

import gc
import importlib
import threading
import weakref
from typing import Any

import pytest

import gradviz
from gradviz.ir.validate import validate


def model_and_loss(lib: Any) -> tuple[Any, Any]:
    nn = importlib.import_module(f"{lib.__name__}.nn")
    lib.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    return model, model(lib.ones(4, 2)).pow(2).mean()


def grads(model: Any) -> list[Any]:
    return [None if p.grad is None else p.grad.tolist() for p in model.parameters()]


def expected(lib: Any) -> list[Any]:
    model, loss = model_and_loss(lib)
    loss.backward()
    return grads(model)


def test_stepping_to_the_end_gives_the_gradients_of_backward(lib: Any):
    model, loss = model_and_loss(lib)
    stepper = gradviz.step(loss)
    names = []
    while stepper.stop is not None:
        names.append(stepper.stop.name)
        stepper.step()
    assert names[:2] == ["MeanBackward0", "PowBackward0"]
    assert len(names) == stepper._graph.nodes.__len__()
    assert grads(model) == expected(lib)
    assert repr(stepper) == f"The pass is over: {len(names)} nodes ran."
    assert stepper.step() is None


def test_a_stop_says_where_and_how_large(lib: Any):
    x = lib.tensor([3.0, 4.0], requires_grad=True)
    stepper = gradviz.step((x * x).sum())
    stop = stepper.step()
    assert stop.name == "MulBackward0"
    assert str(stop.incoming[0]) == "float32 (2,), norm 1.414"
    assert (stop.number, stop.total) == (1, 3)
    leaf = stepper.step()
    assert (leaf.name, leaf.leaf) == ("AccumulateGrad", "x")
    assert "[2/3] AccumulateGrad of x" in repr(leaf)
    stepper.abort()


def test_gradtape_names_the_line_and_the_module():
    import gradtape

    _, loss = model_and_loss(gradtape)
    with gradviz.step(loss) as stepper:
        stop = stepper.run_to("TanhBackward0")
        assert stop.module == "Sequential.1"
        assert "model(lib.ones(4, 2))" in stop.site.text
        stop = stepper.over()
        assert stop.reason == "left Sequential.1"
        assert stop.module == "Sequential.0"
        after = stepper.over()
        assert (after, stepper.done) == (None, True)  # its leaves are part of it


def test_run_to_a_tensor_or_a_node_and_nowhere_else(lib: Any):
    x = lib.tensor([1.0], requires_grad=True)
    y = x.exp()
    with gradviz.step((y * 2).sum()) as stepper:
        assert stepper.run_to(y).name == "ExpBackward0"
        with pytest.raises(ValueError, match="will not reach"):
            stepper.run_to(x.sin())


def test_breakpoints_stop_on_conditions(lib: Any):
    x = lib.tensor([0.0, 1.0], requires_grad=True)
    stepper = gradviz.step((x.sqrt() * 1e3).sum())
    stepper.break_when(above=100.0)
    assert stepper.resume().name == "SqrtBackward0"
    stepper.break_when(nan=True)
    stop = stepper.resume()
    assert stop.name == "AccumulateGrad"
    assert stop.incoming[0].infs == 1
    assert stop.reason == "norm above 100"
    assert stepper.resume() is None
    with pytest.raises(ValueError, match="needs a condition"):
        stepper.break_when()


def test_a_gradient_can_be_replaced_and_its_shape_is_checked(lib: Any):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    stepper = gradviz.step((x * 3).sum())
    stepper.run_to("MulBackward0")
    with pytest.raises(ValueError, match=r"shape \(2,\) for output 0, not \(3,\)"):
        stepper.replace(lib.ones(3))
    with pytest.raises(IndexError, match="has 1 outputs"):
        stepper.replace(lib.ones(2), index=1)
    stepper.replace(lib.tensor([10.0, 0.0]))
    stepper.resume()
    assert x.grad.tolist() == [30.0, 0.0]
    with pytest.raises(RuntimeError, match="nothing to replace"):
        stepper.replace(lib.ones(2))


def test_abort_leaves_every_grad_as_it_was(lib: Any):
    model, loss = model_and_loss(lib)
    loss.backward(retain_graph=True)
    before = [p.grad for p in model.parameters()]
    values = grads(model)
    stepper = gradviz.step(loss, retain_graph=True)
    stepper.step(8)
    stepper.abort()
    assert all(p.grad is g for p, g in zip(model.parameters(), before, strict=True))
    assert grads(model) == values
    loss.backward()  # the graph was kept, and no hook is left on it
    doubled = [(lib.tensor(v) * 2).tolist() for v in values]
    assert grads(model) == doubled


def test_errors_of_the_pass_reach_the_caller(lib: Any):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = y.sum()
    with lib.no_grad():
        y.add_(1)
    stepper = gradviz.step(loss)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        stepper.resume()
    assert stepper.done


def test_hooks_of_the_user_run_as_in_backward(lib: Any):
    x = lib.tensor([1.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    stepper = gradviz.step(y.sum())
    stepper.resume()
    assert x.grad.tolist() == [10.0]


def test_a_forgotten_stepper_ends_its_thread_and_frees_the_graph(lib: Any):
    count = threading.active_count()
    model, loss = model_and_loss(lib)
    gone = weakref.ref(loss)
    stepper = gradviz.step(loss)
    stepper.step()
    del stepper, loss
    gc.collect()
    assert threading.active_count() == count
    assert gone() is None
    assert grads(model) == [None] * 4


def test_no_graph_is_a_clear_error(lib: Any):
    with pytest.raises(gradviz.CaptureError, match="no graph to step through"):
        gradviz.step(lib.ones(1))
    with pytest.raises(gradviz.CaptureError, match="expected a tensor"):
        gradviz.step(3.0)


def test_the_picture_gains_gradients_as_they_arrive():
    import gradtape

    x = gradtape.tensor([3.0, 4.0], requires_grad=True)
    stepper = gradviz.step((x * x).sum())
    first = stepper.snapshot()
    validate(first)
    names = [node.name for node in first.nodes]
    assert names == ["AccumulateGrad", "MulBackward0", "SumBackward0"]
    assert [node.flags for node in first.nodes] == [(), (), ("waiting",)]
    stepper.step()
    second = stepper.snapshot()
    validate(second)
    (row,) = second.nodes[1].grad_outputs
    assert second.statistics[row].norm == pytest.approx(2**0.5)
    (edge,) = [e for e in second.edges if (e.source, e.target) == (1, 2)]
    assert edge.gradient == row
    stepper.resume()
    assert all(node.grad_outputs for node in stepper.snapshot().nodes)


def test_a_shown_stepper_updates_its_view(monkeypatch: pytest.MonkeyPatch):
    import gradtape

    shown: list[object] = []
    monkeypatch.setattr(
        "gradviz.showing.show.show_live", lambda x: shown.append(x) or shown.append
    )
    x = gradtape.tensor([3.0], requires_grad=True)
    stepper = gradviz.step((x * x).sum())
    stepper.show()
    stepper.step(2)
    stepper.resume()
    assert shown == [stepper] * 3


def test_a_pass_of_pytorch_shows_the_lines_of_its_recording():
    torch = pytest.importorskip("torch")
    with gradviz.record(engine="torch"):
        loss = (torch.ones(2, requires_grad=True) * 2).sum()
        stop = gradviz.step(loss).stop
    assert stop is not None
    assert stop.site is not None
    assert stop.site.text.strip().startswith("loss = (torch.ones")


def test_a_line_that_is_not_known_is_said_with_the_way_to_it():
    torch = pytest.importorskip("torch")
    pass_ = gradviz.step((torch.ones(2, requires_grad=True) * 2).sum())
    assert "its line is not known: run the forward pass inside" in repr(pass_)
    pass_.abort()
