"""Graphs of PyTorch: captured when finished and recorded, beside those of gradtape."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

import gradtape
import gradviz
from gradviz import ir
from gradviz._capture.adapters.pytorch import log
from gradviz._capture.adapters.pytorch.view_strides import Layout, view_layouts
from gradviz.ir.validate import validate

# PyTorch keeps these where gradtape has no need to, or under another name.
ONLY_TORCH = {"_saved_running_mean", "_saved_running_var", "_saved_total_weight"}
ONLY_GRADTAPE = {"NllLossBackward0._saved_result1"}


def res_block(t: Any) -> Any:
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 4, 3, padding=1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)
            self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.down = nn.Conv2d(3, 4, 1)

        def forward(self, x: Any) -> Any:
            y = self.norm1(self.conv1(x)).relu()
            return (self.norm2(self.conv2(y)) + self.down(x)).relu().sum()

    return Block()(t.randn(2, 3, 6, 6))


def gpt_block(t: Any) -> Any:
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)
            self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            parts = self.qkv(self.norm1(x)).split(8, dim=2)
            q, k, v = [p.view(2, 5, 2, 4).transpose(1, 2) for p in parts]
            mask = t.tril(t.ones(5, 5)) == 0
            weights = (q @ k.transpose(-2, -1)).masked_fill(mask, float("-inf"))
            y = (weights.softmax(-1) @ v).transpose(1, 2).contiguous().view(2, 5, 8)
            x = x + self.out(y)
            x = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
            logits = self.head(x).view(-1, 11)
            return nn.functional.cross_entropy(logits, tokens.view(-1))

    return Block()(t.randint(0, 11, (2, 5)))


def lstm(t: Any) -> Any:
    nn = t.nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ih, self.hh = nn.Linear(3, 16), nn.Linear(4, 16)

        def forward(self, x: Any) -> Any:
            h, c = t.zeros(2, 4), t.zeros(2, 4)
            for step in range(x.shape[1]):
                i, f, g, o = (self.ih(x[:, step]) + self.hh(h)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            return h.sum()

    return Cell()(t.randn(2, 3, 3))


def captured(t: Any, build: Any) -> ir.Snapshot:
    return gradviz.capture(build(t))


def recorded(t: Any, build: Any) -> ir.Snapshot:
    engine: Any = t.__name__
    with gradviz.record(engine=engine, findings=False) as rec:
        build(t).backward()
    return rec.snapshot()


def nodes_of(s: ir.Snapshot) -> Counter[Any]:
    first = [s.tensors[node.outputs[0]] for node in s.nodes]
    return Counter(
        (node.name, node.kind == "accumulate", out.shape, out.strides, out.dtype)
        for node, out in zip(s.nodes, first, strict=True)
    )


def edges_of(s: ir.Snapshot) -> Counter[Any]:
    return Counter(
        (s.nodes[e.source].name, e.output, s.nodes[e.target].name, e.input)
        for e in s.edges
    )


def saved_of(s: ir.Snapshot) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in s.saved:
        name, tensor = s.nodes[row.node].name, s.tensors[row.tensor]
        if row.slot not in ONLY_TORCH and f"{name}.{row.slot}" not in ONLY_GRADTAPE:
            found[name, row.slot, tensor.shape, tensor.strides] += 1
    return found


@pytest.mark.parametrize("way", [captured, recorded])
@pytest.mark.parametrize("build", [res_block, gpt_block, lstm])
def test_both_engines_draw_the_same_graph(way: Any, build: Any):
    theirs, ours = way(torch, build), way(gradtape, build)
    validate(theirs)
    assert nodes_of(theirs) == nodes_of(ours)
    assert edges_of(theirs) == edges_of(ours)
    assert saved_of(theirs) == saved_of(ours)


def test_a_recording_has_what_the_picture_shows():
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(inplace=True))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradviz.record(title="steps", steps=2, engine="torch") as rec:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(torch.ones(2, 4)).sum()
            loss.register_hook(lambda g: g)
            loss.backward()
            optimizer.step()
    snapshot = rec.snapshot()
    validate(snapshot)
    named = {node.call for node in snapshot.nodes if node.kind == "accumulate"}
    assert named == {"0.weight", "0.bias"}
    last = {node.name: node for node in snapshot.nodes if node.kind != "accumulate"}
    relu, linear = last["ReluBackward0"], last["AddmmBackward0"]
    assert (relu.kind, relu.call, relu.arguments) == (
        *("inplace", "relu"),
        ("inplace=True",),
    )
    assert relu.scope is not None
    assert linear.site is not None
    assert snapshot.scopes[relu.scope].path.startswith("Sequential#3.1")
    assert "net(torch.ones(2, 4))" in snapshot.sites[linear.site].text
    assert linear.flags == ("freed",)
    assert linear.elapsed_ns
    assert last["SumBackward0"].hooks[0].endswith("<lambda>")
    gradient = snapshot.statistics[linear.grad_outputs[0]]
    assert gradient.count == 6
    output = snapshot.tensors[linear.outputs[0]].statistics
    assert output is not None
    assert snapshot.statistics[output].histogram
    assert all(edge.gradient is not None for edge in snapshot.edges)
    kinds = {event.kind for event in snapshot.events}
    assert {"op", "write", "hook", "accumulate", "optimizer_step"} <= kinds
    assert snapshot.notes == ("3 passes were recorded; the last 2 are kept.",)
    assert snapshot.producer == f"PyTorch {torch.__version__}"


def test_a_recording_without_values_keeps_gradients():
    with gradviz.record(values=False, findings=False, engine="torch") as rec:
        x = torch.ones(3, requires_grad=True)
        (x * 2).sum().backward()
    snapshot = rec.snapshot()
    assert all(tensor.statistics is None for tensor in snapshot.tensors)
    assert all(edge.gradient is not None for edge in snapshot.edges)
    assert [node.call for node in snapshot.nodes] == ["x", "mul", "sum"]


def test_a_stale_tensor_is_marked_in_a_finished_graph():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.add_(1)
    snapshot = gradviz.capture(loss)
    (saved,) = snapshot.saved
    assert (saved.slot, saved.version_saved, saved.version_now) == (
        *("_saved_result", 0),
        1,
    )
    assert snapshot.nodes[saved.node].flags == ("modified",)


def test_capture_unpacks_nothing_that_a_hook_packed():
    unpacked: list[int] = []

    def unpack(packed: Any) -> Any:
        unpacked.append(1)
        return packed

    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    snapshot = gradviz.capture(y)
    assert unpacked == []
    assert [saved.hooked for saved in snapshot.saved] == [True, True]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


def test_capture_shows_a_users_function_with_its_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    snapshot = gradviz.capture(Cube.apply(x))
    validate(snapshot)
    node = snapshot.nodes[1]
    assert (node.name, node.kind) == ("CubeBackward", "custom")
    assert "return 3 * x * x * grad" in node.formula
    (saved,) = snapshot.saved
    assert (saved.slot, snapshot.tensors[saved.tensor].name) == (
        "saved_tensors[0]",
        "x",
    )


def test_capture_of_a_deep_graph_needs_no_recursion():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y + 1
    assert len(gradviz.capture(y).nodes) == 5_001


def test_capture_without_a_graph_says_why():
    with pytest.raises(gradviz.CaptureError, match="does not require grad"):
        gradviz.capture(torch.ones(2))


VIEWS = {
    "t": lambda x: x[0].t(),
    "transpose": lambda x: x.transpose(-1, 0),
    "permute": lambda x: x.permute(2, 0, -2),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "select": lambda x: x.select(-1, -2),
    "slice": lambda x: x[:, -2:],
    "steps": lambda x: x[..., 1::2],
    "expand": lambda x: x.unsqueeze(0).expand(5, -1, -1, -1),
    "view": lambda x: x.transpose(0, 1).view(3, 2, 2, 3),
    "flat view": lambda x: x.view(-1),
    "split": lambda x: x.split(2, dim=1)[1],
    "split with sizes": lambda x: x.split([1, 2], dim=1)[1],
    "unbind": lambda x: x.unbind(1)[2],
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_place_of_an_unseen_view_is_worked_out(name: str):
    x = torch.ones(2, 3, 6, requires_grad=True) * 1
    y = VIEWS[name](x)
    snapshot = gradviz.capture(y.sum())
    node = snapshot.nodes[-2]
    output = snapshot.tensors[node.outputs[y.output_nr]]
    assert (output.shape, output.strides) == (tuple(y.shape), y.stride())
    assert output.offset == y.storage_offset()
    assert node.kind == "view"


def test_a_view_that_cannot_be_is_not_laid_out():
    source = Layout((2, 3), (1, 2), 0)
    assert view_layouts(("View",), source, [(6,)]) == []


def test_a_write_into_a_part_says_which_op_and_where():
    base = torch.ones(3, 4).t()  # the last dimension is not the densest
    with gradviz.record(engine="torch") as rec:
        w = torch.ones(4, 3, requires_grad=True)
        x = w * base
        x[0].mul_(3)
        x[1:3] = w[1:3].exp()
        x.t()[1].add_(1)
        x.sum().backward()
    snapshot = rec.snapshot()
    validate(snapshot)
    writes = [node for node in snapshot.nodes if node.name == "CopySlices"]
    assert [(node.call, node.kind) for node in writes] == [
        ("mul_", "inplace"),
        ("__setitem__", "inplace"),
        ("add_", "inplace"),
    ]
    parts = [snapshot.tensors[node.inputs[0]] for node in writes]
    wholes = [snapshot.tensors[node.outputs[0]] for node in writes]
    strides = snapshot.tensors[snapshot.nodes[1].outputs[0]].strides
    assert {(whole.shape, whole.strides) for whole in wholes} == {((4, 3), strides)}
    assert [whole.version for whole in wholes] == [1, 2, 3]
    assert {part.storage for part in parts} == {whole.storage for whole in wholes}
    places = [(part.shape, part.offset) for part in parts]
    row, column = strides
    assert places == [((3,), 0), ((2, 3), row), ((4,), column)]
    numbers = [snapshot.nodes.index(node) for node in writes]
    assert [write.node for write in snapshot.writes] == numbers


def test_a_long_recording_forgets_the_storages_of_long_ago(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(log, "MOST_WITHOUT_VALUES", 100)
    weight = torch.ones(3, requires_grad=True)
    with gradviz.record(engine="torch", findings=False) as recorder:
        for _ in range(300):
            (weight * 2).exp().sum().backward()
        values = recorder._parts[0].recorder.log.values  # type: ignore[union-attr]
    assert 0 < len(values.sizes) < 700  # of 1,200
    snapshot = recorder.snapshot()
    assert all(storage.nbytes for storage in snapshot.storages)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested", "ignore:.torch.jit")
def test_views_of_nested_tensors_have_a_graph() -> None:
    with gradviz.record(engine="torch") as recorder:
        rows = torch.nested.nested_tensor(
            [torch.ones(2, 3), torch.ones(4, 3)], requires_grad=True
        )
        rows.transpose(-1, -2).unbind()[0].sum().backward()
    names = {node.name for node in recorder.snapshot().nodes}
    assert "TransposeBackward0" in names


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_transforms_differentiate_what_they_were_given() -> None:
    ones = torch.ones(2)
    with gradviz.record(engine="torch") as recorder:
        torch.func.vjp(lambda x: (x, x.sin()), ones)[1]((ones, ones))
        torch.func.hessian(lambda _: ones.sum())(ones)
        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            torch.func.grad(lambda x: ones.copy_(x).sum())(torch.ones(2))
    assert [note for note in recorder.diagnose().notes if "left out" in note] == []
