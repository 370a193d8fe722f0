"""What PyTorch's special ways give: each is shown, or a note says what is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz import ir
from gradviz.ir.validate import validate

Build = Callable[[], Any]


def finished(build: Build) -> ir.Snapshot:
    snapshot = gradviz.capture(build())
    validate(snapshot)
    return snapshot


def recorded(build: Build) -> ir.Snapshot:
    with gradviz.record(engine="torch") as rec:
        build().backward()
    snapshot = rec.snapshot()
    validate(snapshot)
    assert [f.code for f in snapshot.findings if f.severity == "error"] == []
    return snapshot


BOTH = pytest.mark.parametrize("way", [finished, recorded])


def names(s: ir.Snapshot) -> list[str]:
    return [node.name for node in s.nodes if node.kind != "accumulate"]


def node(s: ir.Snapshot, name: str) -> ir.OpNode:
    return next(node for node in s.nodes if node.name == name)


def line(s: ir.Snapshot, name: str) -> str:
    site = node(s, name).site
    return "" if site is None else s.sites[site].text.strip()


def noted(s: ir.Snapshot, text: str) -> bool:
    return any(text in note for note in s.notes)


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh())


X = torch.arange(8.0).view(2, 4) / 8


@BOTH
def test_autocast_shows_its_casts(way: Any, net: nn.Module):
    def build() -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return net(X).float().sum()

    snapshot = way(build)
    assert names(snapshot).count("ToCopyBackward0") == 3
    linear = snapshot.tensors[node(snapshot, "AddmmBackward0").outputs[0]]
    assert linear.dtype == "bfloat16"


def test_a_grad_scaler_steps_as_without_a_recording():
    def train() -> tuple[Any, Any]:
        torch.manual_seed(0)
        linear = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for _ in range(2):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = linear(X).float().pow(2).sum()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        return linear.weight.detach(), scaler.get_scale()

    plain = train()
    with gradviz.record(engine="torch") as rec:
        watched = train()
    assert torch.equal(plain[0], watched[0])
    assert plain[1] == watched[1]
    snapshot = rec.snapshot()
    steps = [event for event in snapshot.events if event.kind == "optimizer_step"]
    assert [step.text for step in steps] == ["SGD", "SGD"]
    assert snapshot.findings == ()


def recorded_region(
    when: str, backend: str, net: nn.Module, **options: Any
) -> tuple[Any, ir.Snapshot]:
    torch._dynamo.reset()

    def region(x: Any) -> Any:
        return net(x).sin()

    compiled: Any = region
    if when == "before":
        compiled = torch.compile(region, backend=backend, fullgraph=True)
    elif when == "module":
        compiled = torch.compile(net, backend=backend)
    elif when == "module.compile":
        net.compile(backend=backend)
        compiled = net
    with gradviz.record(engine="torch", **options) as rec:
        if when == "inside":
            compiled = torch.compile(region, backend=backend)
        loss = compiled(X).sum()
        loss.backward()
    return compiled, rec.snapshot()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "inside", "module", "module.compile"])
def test_a_compiled_region_runs_eagerly(when: str, net: nn.Module):
    compiled, snapshot = recorded_region(when, "aot_eager", net)
    validate(snapshot)
    assert "CompiledFunctionBackward" not in names(snapshot)
    assert "TanhBackward0" in names(snapshot)
    assert sum(["ran eagerly while recorded" in note for note in snapshot.notes]) == 1
    assert not noted(snapshot, "was not seen")
    leaves = {n.call for n in snapshot.nodes if n.kind == "accumulate"}
    assert not [name for name in leaves if "_orig_mod" in name]
    assert any(name.endswith("0.weight") for name in leaves)
    whole = "CompiledFunctionBackward" in names(gradviz.capture(compiled(X).sum()))
    assert whole is (when != "module.compile")


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "inside", "module", "module.compile"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_region_kept_compiled_is_one_call(when: str, backend: str, net: nn.Module):
    compiled, snapshot = recorded_region(when, backend, net, keep_compiled=True)
    validate(snapshot)
    assert not noted(snapshot, "left out of the recording")
    assert not noted(snapshot, "not followed to the end")
    made = [n for n in snapshot.nodes if n.kind != "accumulate"]
    places = [
        snapshot.sites[n.site or 0].text.strip() for n in made if n.site is not None
    ]
    assert places == ["loss = compiled(X).sum()"] * len(made)
    region_name = "region" if when in ("before", "inside") else "Sequential"
    assert region_name in [n.call for n in made]
    assert noted(snapshot, f"inside `{region_name}` was not seen: it stayed compiled")
    assert not noted(snapshot, "ran eagerly")
    assert names(snapshot) == names(gradviz.capture(compiled(X).sum()))
    whole = "CompiledFunctionBackward" in names(snapshot)
    assert whole is (backend == "aot_eager" and when != "module.compile")
    assert noted(snapshot, "region that torch.compile made one node of") is whole
    assert all(n.formula == "" for n in made)


@pytest.mark.slow
def test_compiling_gives_the_same_after_a_recording(net: nn.Module):
    torch._dynamo.reset()
    compiled = torch.compile(net, backend="aot_eager")
    before = compiled(X)
    with gradviz.record(engine="torch"):
        during = compiled(X)
    assert torch.equal(before, during)
    assert torch.equal(before, compiled(X))
    switch = torch._dynamo.eval_frame._maybe_set_eval_frame
    assert "gradviz" not in getattr(switch, "__module__", "")


@BOTH
def test_func_gradients_are_shown(way: Any, net: nn.Module):
    parameters = dict(net.named_parameters())

    def loss_of(parameters: Any, x: Any) -> Any:
        return torch.func.functional_call(net, parameters, (x,)).pow(2).sum()

    def build() -> Any:
        gradients = torch.func.grad(loss_of)(parameters, X)
        return gradients["0.weight"].pow(2).sum()

    snapshot = way(build)
    assert "TanhBackwardBackward0" in names(snapshot)
    assert noted(snapshot, "inside a transform of torch.func") is (way is recorded)


def test_a_graph_inside_a_transform_can_be_captured(net: nn.Module):
    found: list[ir.Snapshot] = []

    def loss_of(x: Any) -> Any:
        loss = net(x).sum()
        found.append(gradviz.capture(loss))
        return loss

    torch.func.grad(loss_of)(X[0])
    validate(found[0])
    assert "TanhBackward0" in names(found[0])
    assert noted(found[0], "without memory of their own")


@BOTH
def test_vmap_shows_the_batched_ops(way: Any, net: nn.Module):
    snapshot = way(lambda: torch.func.vmap(lambda row: net(row).sum())(X).sum())
    assert {"MmBackward0", "TanhBackward0"} <= set(names(snapshot))


@BOTH
def test_a_checkpoint_without_reentry_hides_what_is_saved(way: Any, net: nn.Module):
    snapshot = way(lambda: checkpoint(net, X, use_reentrant=False).sum())
    assert names(snapshot)[-2:] == ["TanhBackward0", "SumBackward0"]
    assert noted(snapshot, "inside torch.utils.checkpoint: computed again in backward")
    assert [s.slot for s in snapshot.saved] == []


@BOTH
def test_a_checkpoint_with_reentry_is_one_node(way: Any, net: nn.Module):
    def build() -> Any:
        x = X.clone().requires_grad_()
        return checkpoint(net, x, use_reentrant=True).sum()

    snapshot = way(build)
    assert noted(snapshot, "Pass use_reentrant=False to see them")
    region = node(snapshot, "CheckpointFunctionBackward")
    assert (region.kind, region.formula) == ("custom", "")
    if way is recorded:
        place = "return checkpoint(net, x, use_reentrant=True).sum()"
        assert line(snapshot, "CheckpointFunctionBackward") == place


@BOTH
def test_a_saved_tensor_hook_is_named_and_not_run(way: Any, net: nn.Module):
    def build() -> Any:
        with torch.autograd.graph.save_on_cpu():
            return net(X).sum()

    snapshot = way(build)
    assert noted(
        snapshot, "packed by a saved-tensor hook (save_on_cpu.unpack_from_cpu)"
    )


def test_a_parametrized_weight_shows_how_it_is_made():
    linear = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    snapshot = gradviz.capture(linear(X).sum())
    leaves = {node.call for node in snapshot.nodes if node.kind == "accumulate"}
    weight = "parametrizations.weight.original"
    assert leaves == {"bias", f"{weight}0", f"{weight}1"}
    assert "WeightNormInterfaceBackward0" in names(snapshot)


class Plain(torch.Tensor):
    """A subclass that adds nothing."""


class Wrapper(torch.Tensor):
    """A subclass that holds another tensor, and has no memory."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls: Any, held: torch.Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, requires_grad=held.requires_grad
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        def bare(each: Any) -> Any:
            return each.held if isinstance(each, Wrapper) else each

        found = func(*[bare(each) for each in args], **(kwargs or {}))
        return cls(found) if isinstance(found, torch.Tensor) else found


@BOTH
@pytest.mark.parametrize("cls", [Plain, Wrapper])
def test_a_tensor_subclass_is_shown(way: Any, cls: Any):
    def build() -> Any:
        x = torch.ones(3)
        wrapped = x.as_subclass(Plain) if cls is Plain else Wrapper(x)
        return (wrapped.requires_grad_() * 2).exp().sum()

    snapshot = way(build)
    seen = [name for name in names(snapshot) if name != "AliasBackward0"]
    assert seen == ["MulBackward0", "ExpBackward0", "SumBackward0"]
    if way is recorded:
        assert "(wrapped.requires_grad_() * 2)" in line(snapshot, "MulBackward0")


def in_threads(work: Callable[[], Any], count: int) -> list[Any]:
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(work())) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_nodes_of_another_thread_have_no_line(net: nn.Module):
    snapshot = recorded(lambda: in_threads(lambda: net(X).sum(), 1)[0] * 2)
    assert line(snapshot, "MulBackward0").startswith("snapshot = recorded(lambda:")
    assert node(snapshot, "TanhBackward0").site is None
    assert noted(snapshot, "4 nodes have no line: they were made before the recording")


def test_nodes_of_two_threads_are_all_captured_and_their_loss_is_noted(net: nn.Module):
    def build() -> Any:
        first, second = in_threads(lambda: net(X).sum(), 2)
        return first + second

    assert names(finished(build)).count("TanhBackward0") == 2
    assert noted(recorded(build), "Nodes that other threads made have the same numbers")


@BOTH
def test_a_nested_tensor_is_shown(way: Any):
    def build() -> Any:
        rows = [torch.ones(2), torch.ones(3)]
        x = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
        return (x * 2).values().sum()

    snapshot = way(build)
    assert "MulBackward0" in names(snapshot)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@BOTH
def test_a_nested_tensor_without_a_shape_is_shown(way: Any):
    def build() -> Any:
        rows = [torch.ones(n, 5, requires_grad=True) for n in (2, 3)]
        x = torch.nested.as_nested_tensor(rows)
        return (x * 2).to_padded_tensor(0).sum()

    snapshot = way(build)
    assert "MulBackward0" in names(snapshot)
    assert not noted(snapshot, "Something was left out")


def test_a_hook_may_get_no_gradient():
    got: list[Any] = []
    with gradviz.record(engine="torch") as rec:
        first, second = torch.ones(2, requires_grad=True).unbind()
        first.register_hook(got.append)
        second.backward()
    assert got == [None]
    assert not noted(rec.snapshot(), "Something was left out")


def test_a_view_that_pytorch_gives_up_is_no_reason_to_stop():
    with gradviz.record(engine="torch") as rec:
        base = torch.ones(2, requires_grad=True) * 2
        with torch.inference_mode():
            view = base.view(2, 1)
        base.mul_(2)
        with pytest.raises(RuntimeError, match="created in inference mode"):
            view.grad_fn  # noqa: B018
        base.sum().backward()
    assert not noted(rec.snapshot(), "Something was left out")


def test_a_tensor_that_was_looked_at_may_be_resized():
    x = torch.ones(1)
    with gradviz.record(engine="torch"):
        y = x * 2
        (y * torch.ones(1, requires_grad=True)).sum().backward()
        assert y.resize_(2, 2).shape == (2, 2)


class _AddInto(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(a)
        return a.add_(b)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0], grads[0]


@pytest.mark.parametrize("values", [True, False])
def test_a_function_may_write_into_a_view(values: bool):
    # PyTorch asks for a tensor's hooks while it holds a lock that a look would wait for
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with gradviz.record(engine="torch", values=values) as rec:
        _AddInto.apply(a.clone().view_as(a), b).sum().backward()
    assert a.grad is not None
    assert "CopySlices" in names(rec.snapshot())
