"""The sample that has everything: scopes, sites, writes, views, a cut, events."""

from __future__ import annotations

from dataclasses import replace

from gradviz import ir
from tests.gradviz._sample_parts import (
    PRODUCER,
    leaf,
    normal,
    op,
    site,
    storage,
    tensor,
)

_CNN_TEXT = {
    5: "y = self.bn(self.conv(image))",
    6: "y += shift",
    7: "y = F.max_pool2d(y.relu_(), 2)",
    8: "return self.fc(y.view(-1, 16))",
    12: "loss = F.cross_entropy(net(image), label)",
}


def _site(line: int, expression: str, function: str = "<module>") -> ir.Site:
    """Return the place of an expression that occurs once in its line."""
    text = _CNN_TEXT[line]
    start = text.index(expression)
    return site("net.py", line, start, start + len(expression), text, function=function)


def cnn() -> ir.Snapshot:
    """A convolution net called once: nested scopes, in-place writes, views, a cut.

    ::

        weight ─> conv ─> bn ─> add_ ─> relu_ ─> pool ─> view ─> addmm ─> cross_entropy
        gamma ───────────┘                     (cut ┄┄> detached)   fc.weight, fc.bias
    """
    scopes = (
        ir.Scope("net", "net", "Net"),
        ir.Scope("net.conv", "conv", "Conv2d", 0),
        ir.Scope("net.bn", "bn", "BatchNorm2d", 0),
        ir.Scope("net.fc", "fc", "Linear", 0),
    )
    sites = (
        _site(5, "self.conv(image)", "forward"),
        _site(5, "self.bn(self.conv(image))", "forward"),
        _site(6, "y += shift", "forward"),
        _site(7, "y.relu_()", "forward"),
        _site(7, "F.max_pool2d(y.relu_(), 2)", "forward"),
        _site(8, "y.view(-1, 16)", "forward"),
        _site(8, "self.fc(y.view(-1, 16))", "forward"),
        _site(12, "F.cross_entropy(net(image), label)"),
        _site(12, "net(image)"),
    )
    conv = ("stride=(1, 1)", "padding=(1, 1)", "dilation=(1, 1)", "groups=1")
    nodes = (
        leaf("net.conv.weight", tensor=0, scope=1),
        leaf("net.bn.weight", tensor=1, scope=2),
        leaf("net.fc.weight", tensor=2, scope=3),
        leaf("net.fc.bias", tensor=3, scope=3),
        op("ConvolutionBackward0", "conv2d", (4, 0), (5,), 0, 0, 2, 1, conv),
        op("NativeBatchNormBackward0", "batch_norm", (5, 1), (6,), 1, 1, 2, 2),
        op("AddBackward0", "add_", (6,), (7,), 2, 2, 2, 0, kind="inplace"),
        op("ReluBackward0", "relu_", (7,), (8,), 3, 3, 2, 0, kind="inplace"),
        op("MaxPool2DWithIndicesBackward0", "max_pool2d", (8,), (9,), 4, 4, 3, 0),
        op("ViewBackward0", "view", (9,), (10,), 5, 5, 3, 0, kind="view"),
        op("AddmmBackward0", "linear", (3, 10, 2), (11,), 6, 6, 4, 3),
        op("NllLossBackward0", "cross_entropy", (11,), (12,), 7, 7, 5, None),
        ir.OpNode("detach", "cut", "detach", inputs=(9,), outputs=(13,), site=5),
    )
    return ir.Snapshot(
        producer=PRODUCER,
        title="cnn, one step",
        nodes=tuple(
            replace(node, stack=(8,)) if node.scope is not None else node
            for node in nodes
        ),
        edges=_cnn_edges(),
        tensors=_cnn_tensors(),
        saved=(
            ir.Saved(4, "_saved_input", 4, 0, 0),
            ir.Saved(4, "_saved_weight", 0, 0, 0),
            ir.Saved(5, "_saved_input", 5, 0, 0),
            ir.Saved(7, "_saved_result", 8, 2, 2),
            ir.Saved(10, "_saved_mat1", 10, 0, 0, freed=True),
            ir.Saved(11, "_saved_self", 11, 0, 1),
        ),
        storages=_cnn_storages(),
        writes=(
            ir.Write(6, 1, "add_", site=2, node=6),
            ir.Write(6, 2, "relu_", site=3, node=7),
        ),
        statistics=tuple(normal(n, v) for n, v in _CNN_NORMS),
        scopes=scopes,
        sites=sites,
        events=_cnn_events(),
        roots=(11,),
        notes=("The value read by detach() on line 8 has no gradient.",),
    )


_CNN_NORMS = ((36, 0.75), (4, 0.05), (256, 0.25), (64, 0.5), (40, 1.5), (1, 1.0))


def _cnn_edges() -> tuple[ir.Edge, ...]:
    return (
        ir.Edge(0, 0, 4, 1, 0, 0),
        ir.Edge(4, 0, 5, 0, 5, 2),
        ir.Edge(1, 0, 5, 1, 1, 1),
        ir.Edge(5, 0, 6, 0, 6, 2),
        ir.Edge(6, 0, 7, 0, 7, 2),
        ir.Edge(7, 0, 8, 0, 8, 2),
        ir.Edge(8, 0, 9, 0, 9, 3),
        ir.Edge(3, 0, 10, 0, 3, 4),
        ir.Edge(9, 0, 10, 1, 10, 3),
        ir.Edge(2, 0, 10, 2, 2, 4),
        ir.Edge(10, 0, 11, 0, 11, 4),
        ir.Edge(8, 0, 12, 0, 9, kind="cut"),
    )


def _cnn_tensors() -> tuple[ir.TensorMeta, ...]:
    pooled = tensor((1, 4, 2, 2), 7)
    return (
        tensor((4, 1, 3, 3), 0, name="net.conv.weight", leaf=True),
        tensor((4,), 1, name="net.bn.weight", leaf=True),
        tensor((10, 16), 2, name="net.fc.weight", leaf=True),
        tensor((10,), 3, name="net.fc.bias", leaf=True),
        tensor((1, 1, 4, 4), 4, name="image", leaf=True, requires_grad=False),
        tensor((1, 4, 4, 4), 5),
        tensor((1, 4, 4, 4), 6),
        replace(tensor((1, 4, 4, 4), 6), version=1),
        replace(tensor((1, 4, 4, 4), 6), version=2, name="y"),
        pooled,
        replace(tensor((1, 16), 7), is_view=True),
        tensor((1, 10), 8, name="logits"),
        tensor((), 9, name="loss"),
        replace(
            pooled,
            shape=(2, 2),
            strides=(1, 2),
            offset=4,
            is_view=True,
            requires_grad=False,
        ),
    )


def _cnn_storages() -> tuple[ir.StorageMeta, ...]:
    alone = [storage(n, (t,)) for t, n in enumerate((36, 4, 160, 10, 16, 64))]
    return (
        *alone,
        replace(storage(64, (6, 7, 8)), version=2),
        storage(16, (9, 10, 13)),
        replace(storage(10, (11,)), version=1),
        storage(1, (12,)),
    )


def _cnn_events() -> tuple[ir.Event, ...]:
    return (
        ir.Event("module_enter", 100, scope=0, text="net"),
        ir.Event("module_enter", 200, scope=1, text="net.conv"),
        ir.Event("op", 300, node=4, tensor=5, site=0, scope=1, text="conv2d"),
        ir.Event("module_leave", 400, scope=1, text="net.conv"),
        ir.Event("op", 500, node=6, tensor=7, site=2, scope=0, text="add_"),
        ir.Event("write", 510, node=6, storage=6, site=2, text="add_"),
        ir.Event("module_leave", 900, scope=0, text="net"),
        ir.Event("backward_begin", 1_000, node=11),
        ir.Event("accumulate", 1_500, node=0, tensor=0, statistics=0),
        ir.Event("backward_end", 2_000),
        ir.Event("optimizer_step", 2_500, text="SGD"),
    )
