"""A finished graph of PyTorch: what one look at it takes, and what it leaves behind."""

from __future__ import annotations

import copy
import dataclasses
import gc
import linecache
import pickle
import re
import warnings
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gradtape
import gradviz
from gradviz import ir
from gradviz._capture import read_graph
from gradviz._capture.adapters.pytorch.graph.finished import TorchFinished
from gradviz._capture.adapters.pytorch.saved_attributes import unpacks
from gradviz.ir.validate import validate


def only(s: ir.Snapshot, name: str) -> ir.OpNode:
    (node,) = [node for node in s.nodes if node.name == name]
    return node


def output(s: ir.Snapshot, name: str) -> ir.TensorMeta:
    return s.tensors[only(s, name).outputs[0]]


def test_a_look_keeps_no_tensor_and_makes_rows_later():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    seen = weakref.ref(y), weakref.ref(x)
    found = TorchFinished([(y * 2).sum()], title="later")
    del x, y
    assert [each() for each in seen] == [None, None]
    snapshot = found.snapshot()
    validate(snapshot)
    assert [node.name for node in snapshot.nodes] == [
        "AccumulateGrad",
        "ExpBackward0",
        "MulBackward0",
        "SumBackward0",
    ]
    assert [node.call for node in snapshot.nodes] == ["x", "exp", "mul", "sum"]
    assert found.snapshot() is snapshot


def test_capture_leaves_results_and_gradients_as_they_are():
    def gradient(captured: bool) -> Any:
        torch.manual_seed(0)
        linear = torch.nn.Linear(4, 3)
        loss = torch.nn.Dropout()(linear(torch.randn(5, 4))).exp().sum()
        if captured:
            gradviz.capture(loss)
        loss.backward()
        return linear.weight.grad

    assert torch.equal(gradient(captured=True), gradient(captured=False))


def test_variables_of_the_caller_give_results_names_and_places_in_memory():
    x = torch.ones(2, 3, requires_grad=True)
    doubled = (x * 2).t()
    snapshot = gradviz.capture(doubled.sum())
    result = output(snapshot, "TBackward0")
    assert (result.name, result.strides, result.is_view) == ("doubled", (1, 3), True)
    assert result.storage is not None
    assert snapshot.storages[result.storage].nbytes == 24


def test_leaves_stand_in_the_order_of_their_use():
    a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
    snapshot = gradviz.capture((c * b) * a)
    assert [node.call for node in snapshot.nodes[:3]] == ["c", "b", "a"]


def test_hooks_that_can_be_seen_are_named():
    def clip(grad: Any) -> Any:
        return grad

    def log(tensor: Any) -> None:
        del tensor

    x = torch.ones(2, requires_grad=True)
    x.register_hook(clip)
    x.register_post_accumulate_grad_hook(log)
    y = x * 2
    y.register_hook(clip)
    snapshot = gradviz.capture(y.sum())
    names = {node.name: node.hooks for node in snapshot.nodes}
    here = "test_hooks_that_can_be_seen_are_named.<locals>."
    assert names["AccumulateGrad"] == (f"{here}clip", f"{here}log")
    assert names["MulBackward0"] == (f"{here}clip",)
    defined = {
        name: snapshot.sites[row].text.strip()
        for node in snapshot.nodes
        for name, row in zip(node.hooks, node.hook_sites, strict=True)
    }
    assert defined == {
        f"{here}clip": "def clip(grad: Any) -> Any:",
        f"{here}log": "def log(tensor: Any) -> None:",
    }


def test_an_alias_with_a_version_of_its_own_makes_nothing_stale():
    x = torch.ones(3, requires_grad=True)
    other = x.data
    other.add_(1)
    other.add_(1)
    loss = (x * x + other.exp()).sum()
    snapshot = gradviz.capture(loss)
    assert all(node.flags == () for node in snapshot.nodes)


def test_a_freed_graph_says_so():
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    snapshot = gradviz.capture(loss)
    assert only(snapshot, "ExpBackward0").flags == ("freed",)
    assert snapshot.saved == ()


def test_the_row_of_a_live_node_is_found():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    loss = (x * y).sum()
    snapshot, row_of = read_graph(loss)
    total: Any = loss.grad_fn
    product = total.next_functions[0][0]
    leaves = [fn for fn, _ in product.next_functions]
    rows = [row_of(node) for node in (total, product, *leaves)]
    assert [snapshot.nodes[row or 0].call for row in rows] == ["sum", "mul", "x", "y"]
    assert row_of((x + 1).grad_fn) is None


def test_lines_that_anomaly_mode_kept_are_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            x = torch.ones(2, requires_grad=True)
            for _ in range(2):
                x = x * 3
            loss = x.sum()
    snapshot = gradviz.capture(loss)
    validate(snapshot)
    *products, total = snapshot.nodes[1:]
    assert [node.iteration for node in products] == [0, 1]
    texts = [snapshot.sites[node.site or 0].text.strip() for node in products]
    assert texts == ["x = x * 3"] * 2
    assert total.site is not None
    assert snapshot.sites[total.site].function.endswith("anomaly_mode_kept_are_shown")
    line = linecache.getline(__file__, snapshot.sites[total.site].line).strip()
    assert line == "loss = x.sum()"
    assert "anomaly mode kept" in snapshot.notes[0]


def test_without_lines_a_note_says_how_to_get_them():
    x = torch.ones(2, requires_grad=True)
    (note,) = gradviz.capture(x * 2).notes
    assert "lines that made the nodes are not known" in note
    assert "gradviz.record() or a %%gradviz cell" in note


def test_a_capture_leaves_the_collector_as_it_was():
    x = torch.ones(2, requires_grad=True)
    gc.disable()
    try:
        gradviz.capture(x * 2)
        assert not gc.isenabled()
    finally:
        gc.enable()
    gradviz.capture(x * 2)
    assert gc.isenabled()


def test_a_leaf_alone_is_a_graph():
    x = torch.ones(2, requires_grad=True)
    snapshot = gradviz.capture(x)
    assert [node.call for node in snapshot.nodes] == ["x"]
    assert snapshot.roots == (0,)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", ["sparse", "nested", "nested of old"])
def test_tensors_without_strides_are_captured(layout: str):
    if layout == "sparse":
        x = torch.eye(3).to_sparse().requires_grad_()
        loss = torch.sparse.sum(x)
    elif layout == "nested of old":  # without as much as a shape
        x = torch.nested.nested_tensor([torch.ones(2)], requires_grad=True)
        loss = torch.nested.to_padded_tensor(x * x, 0.0).sum()
    else:
        rows = [torch.ones(2), torch.ones(3)]
        x = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
        loss = (x * 2).values().sum()
    snapshot = gradviz.capture(loss)
    validate(snapshot)
    assert snapshot.nodes[0].call == "x"


def test_rows_are_made_late_and_nobody_can_tell():
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()
    seen = weakref.ref(loss), weakref.ref(x)
    captured: list[ir.Snapshot] = []
    for _ in range(6):
        captured.append(gradviz.capture(loss, title="later"))
    x.data.add_(1)
    del x, loss
    assert [each() for each in seen] == [None, None]
    read, *unread = captured
    assert read.nodes[0].call == "x"
    assert unread[0] == read
    assert hash(unread[1]) == hash(read)
    assert pickle.loads(pickle.dumps(unread[2])) == read
    assert copy.deepcopy(unread[3]) == read
    renamed = dataclasses.replace(unread[4], title="now")
    assert (renamed.title, renamed.nodes) == ("now", read.nodes)
    with pytest.raises(AttributeError, match="'Snapshot' object has no attribute 'x'"):
        unread[4].x  # type: ignore[attr-defined]  # noqa: B018


def test_rows_quote_files_as_they_were_at_the_capture(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(SCRIPT)
    space: dict[str, Any] = {"__name__": "mine"}
    exec(compile(SCRIPT, str(file), "exec"), space)
    snapshot = gradviz.capture(space["loss"])
    file.write_text("# all new\n" * 20)
    linecache.checkcache(str(file))
    assert only(snapshot, "DoubleBackward").formula.endswith("return grad * 2")
    (row,) = snapshot.nodes[0].hook_sites
    assert snapshot.sites[row].text == "def clip(grad):"


SCRIPT = """
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
def clip(grad):
    return grad
x = torch.ones(2, requires_grad=True)
x.register_hook(clip)
loss = Double.apply(x).sum()
"""


def test_where_a_saved_tensor_cannot_be_asked_its_version_tells():
    written = SimpleNamespace(data=torch.ones(2).add_(1))
    assert unpacks(written, 0)
    assert not unpacks(written, 1)


def test_versions_that_hide_what_they_saved_are_refused(monkeypatch):
    loss = torch.ones(2, requires_grad=True).exp().sum()
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.9.1+cpu"))
    said = r"PyTorch 2\.10 or newer, and this is 2\.9\.1\+cpu\. Upgrade it"
    with pytest.raises(gradviz.CaptureError, match=said):
        gradviz.capture(loss)
    with pytest.raises(gradviz.CaptureError, match=said):
        gradviz.record(engine="torch").__enter__()
    with gradviz.record() as recorder:
        gradtape.ones(2, requires_grad=True).exp().sum().backward()
    assert len(recorder.snapshot().nodes) == 3
    assert any(re.search(said, note) for note in recorder.snapshot().notes)
