"""Small hand-made snapshots, shared by every test that needs one.

``python -m tests.gradviz.samples FOLDER`` writes them as JSON and as columns, which is
how the TypeScript tests get theirs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gradviz import ir, ir_columns, ir_json

PRODUCER = "samples 1.0"

_MLP_SOURCE = """\
import gradtape as torch

w1 = torch.randn(3, 4, requires_grad=True)
b1 = torch.zeros(4, requires_grad=True)
x = torch.randn(2, 3)
hidden = torch.relu(x @ w1 + b1)
loss = hidden.sum()
loss.backward()
"""


def mlp() -> ir.Snapshot:
    """One linear layer with a ReLU, after backward().

    ::

        w1 ─> mm ─> add ─> relu ─> sum        mm saves x, relu saves its result
              b1 ───┘
    """
    return ir.Snapshot(
        producer=PRODUCER,
        title="mlp",
        nodes=(
            _leaf("w1", tensor=0),
            _leaf("b1", tensor=1),
            _op("MmBackward0", "matmul", (2, 0), (3,), site=0, sequence=0, grad=1),
            _op("AddBackward0", "add", (3, 1), (4,), site=1, sequence=1, grad=1),
            _op("ReluBackward0", "relu", (4,), (5,), site=2, sequence=2, grad=2),
            _op("SumBackward0", "sum", (5,), (6,), site=3, sequence=3, grad=3),
        ),
        edges=(
            ir.Edge(0, 0, 2, 1, tensor=0, gradient=0),
            ir.Edge(2, 0, 3, 0, tensor=3, gradient=1),
            ir.Edge(1, 0, 3, 1, tensor=1, gradient=4),
            ir.Edge(3, 0, 4, 0, tensor=4, gradient=1),
            ir.Edge(4, 0, 5, 0, tensor=5, gradient=2),
        ),
        tensors=(
            _tensor((3, 4), 0, name="w1", leaf=True, statistics=5),
            _tensor((4,), 1, name="b1", leaf=True),
            _tensor((2, 3), 2, name="x", leaf=True, requires_grad=False),
            _tensor((2, 4), 3),
            _tensor((2, 4), 4),
            _tensor((2, 4), 5, name="hidden"),
            _tensor((), 6, name="loss"),
        ),
        saved=(
            ir.Saved(2, "_saved_self", 2, 0, 0),
            ir.Saved(4, "_saved_result", 5, 0, 0),
        ),
        storages=tuple(_storage(n, (t,)) for t, n in enumerate((12, 4, 6, 8, 8, 8, 1))),
        statistics=(
            _normal(12, 1.5),
            _normal(8, 2.0),
            _normal(8, math.sqrt(8)),
            _constant(1, 1.0),
            _normal(4, 1.25),
            _normal(12, 3.25),
        ),
        sites=(
            _site("mlp.py", 6, 20, 26, "hidden = torch.relu(x @ w1 + b1)", source=0),
            _site("mlp.py", 6, 20, 31, "hidden = torch.relu(x @ w1 + b1)", source=0),
            _site("mlp.py", 6, 9, 32, "hidden = torch.relu(x @ w1 + b1)", source=0),
            _site("mlp.py", 7, 7, 19, "loss = hidden.sum()", source=0),
            _site("mlp.py", 8, 0, 15, "loss.backward()", source=0),
        ),
        sources=(ir.Source("mlp.py", _MLP_SOURCE),),
        events=(
            ir.Event("op", 1_000, node=2, tensor=3, site=0, text="matmul"),
            ir.Event("op", 2_000, node=3, tensor=4, site=1, text="add"),
            ir.Event("op", 3_000, node=4, tensor=5, site=2, text="relu"),
            ir.Event("op", 4_000, node=5, tensor=6, site=3, text="sum"),
            ir.Event("backward_begin", 9_000, node=5, tensor=6, site=4),
            ir.Event("node_enter", 9_500, node=5, statistics=3),
            ir.Event("node_leave", 9_700, node=5, statistics=2),
            ir.Event("accumulate", 9_900, node=0, tensor=0, statistics=0),
            ir.Event("backward_end", 10_000),
        ),
        roots=(5,),
    )


_CNN_TEXT = {
    5: "y = self.bn(self.conv(image))",
    6: "y += shift",
    7: "y = F.max_pool2d(y.relu_(), 2)",
    8: "return self.fc(y.view(-1, 16))",
    12: "loss = F.cross_entropy(net(image), label)",
}


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
        _site("net.py", 5, 16, 32, _CNN_TEXT[5], function="forward"),
        _site("net.py", 5, 8, 33, _CNN_TEXT[5], function="forward"),
        _site("net.py", 6, 4, 14, _CNN_TEXT[6], function="forward"),
        _site("net.py", 7, 21, 30, _CNN_TEXT[7], function="forward"),
        _site("net.py", 7, 8, 34, _CNN_TEXT[7], function="forward"),
        _site("net.py", 8, 19, 33, _CNN_TEXT[8], function="forward"),
        _site("net.py", 8, 11, 34, _CNN_TEXT[8], function="forward"),
        _site("net.py", 12, 7, 44, _CNN_TEXT[12]),
        _site("net.py", 12, 23, 33, _CNN_TEXT[12]),
    )
    conv = ("stride=(1, 1)", "padding=(1, 1)", "dilation=(1, 1)", "groups=1")
    nodes = (
        _leaf("net.conv.weight", tensor=0, scope=1),
        _leaf("net.bn.weight", tensor=1, scope=2),
        _leaf("net.fc.weight", tensor=2, scope=3),
        _leaf("net.fc.bias", tensor=3, scope=3),
        _op("ConvolutionBackward0", "conv2d", (4, 0), (5,), 0, 0, 2, 1, conv),
        _op("NativeBatchNormBackward0", "batch_norm", (5, 1), (6,), 1, 1, 2, 2),
        _op("AddBackward0", "add_", (6,), (7,), 2, 2, 2, 0, kind="inplace"),
        _op("ReluBackward0", "relu_", (7,), (8,), 3, 3, 2, 0, kind="inplace"),
        _op("MaxPool2DWithIndicesBackward0", "max_pool2d", (8,), (9,), 4, 4, 3, 0),
        _op("ViewBackward0", "view", (9,), (10,), 5, 5, 3, 0, kind="view"),
        _op("AddmmBackward0", "linear", (3, 10, 2), (11,), 6, 6, 4, 3),
        _op("NllLossBackward0", "cross_entropy", (11,), (12,), 7, 7, 5, None),
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
        statistics=tuple(_normal(n, v) for n, v in _CNN_NORMS),
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
    pooled = _tensor((1, 4, 2, 2), 7)
    return (
        _tensor((4, 1, 3, 3), 0, name="net.conv.weight", leaf=True),
        _tensor((4,), 1, name="net.bn.weight", leaf=True),
        _tensor((10, 16), 2, name="net.fc.weight", leaf=True),
        _tensor((10,), 3, name="net.fc.bias", leaf=True),
        _tensor((1, 1, 4, 4), 4, name="image", leaf=True, requires_grad=False),
        _tensor((1, 4, 4, 4), 5),
        _tensor((1, 4, 4, 4), 6),
        replace(_tensor((1, 4, 4, 4), 6), version=1),
        replace(_tensor((1, 4, 4, 4), 6), version=2, name="y"),
        pooled,
        replace(_tensor((1, 16), 7), is_view=True),
        _tensor((1, 10), 8, name="logits"),
        _tensor((), 9, name="loss"),
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
    alone = [_storage(n, (t,)) for t, n in enumerate((36, 4, 160, 10, 16, 64))]
    return (
        *alone,
        replace(_storage(64, (6, 7, 8)), version=2),
        _storage(16, (9, 10, 13)),
        replace(_storage(10, (11,)), version=1),
        _storage(1, (12,)),
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


def hostile() -> ir.Snapshot:
    """Everything that has broken a viewer before, in one valid snapshot."""
    rtl = "\u202eevil\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629"
    script = "</script><script>alert(1)</script><!--"
    nan, inf = math.nan, math.inf
    return ir.Snapshot(
        producer=PRODUCER + " <b>bold</b>",
        title=script + rtl,
        nodes=(
            ir.OpNode(script, "leaf", script, scope=0, site=0),
            ir.OpNode(
                'A"B\'C&D\\E]]>', "custom", rtl, ("n=NaN", "x" * 5_000), (0,), (1, 2),
                scope=1, site=1, hooks=(script,), flags=("freed", "modified"),
                grad_outputs=(0, -1), elapsed_ns=2**53 - 1, sequence=0,
            ),
            ir.OpNode("", "op", "line\nbreak\ttab\0nul\x1b[31mred", sequence=1),
            ir.OpNode("日本語😀\ud800", "root", "{a|b}<c>"),
        ),
        edges=(
            ir.Edge(0, 0, 1, 0, 0, 0),
            ir.Edge(1, 0, 2, 0, 1, 1),
            ir.Edge(1, 1, 2, 1, 2),
            ir.Edge(0, 0, 2, 2, kind="cut"),
            ir.Edge(2, 0, 3, 0, None, 2),
        ),
        tensors=(
            _tensor((1, 2, 3, 1, 2, 1, 2, 1, 2), 0, name=script, leaf=True),
            _tensor((0, 3), 1, name=rtl),
            ir.TensorMeta((2**31, 2**40), (0, 0), 2**33, "complex128", "cuda:0"),
            ir.TensorMeta((5, 5), (), 0, "float32", "meta"),
        ),
        saved=(ir.Saved(1, "_saved_</script>", 0, 0, 3, hooked=True),),
        storages=(_storage(48, (0,)), ir.StorageMeta(0, "cpu", 4, 0, (1,))),
        writes=(ir.Write(0, 1, script, site=1, node=1),),
        statistics=(
            ir.Statistics(6, nans=6, first_bad=(0,) * 9),
            ir.Statistics(0),
            ir.Statistics(4, nan, inf, -inf, nan, inf, 0, 2, 2, (1, 1), (1,) * 32,
                          -inf, inf),
        ),
        scopes=(
            ir.Scope(script, script, "Net<T>"),
            ir.Scope(script + "." + rtl, rtl, "Module", 0),
        ),
        sites=(
            ir.Site("/tmp/<i>.py", 1, 2, None, None, "a = (\n</script>)", "f", 0),
            ir.Site(rtl, 2**31 - 1, 2**31 - 1, 1, 10_000, "short"),
        ),
        sources=(ir.Source("/tmp/<i>.py", "a = (\n</script>)\n", "Cell In[3]", "c&<"),),
        events=(ir.Event("error", 1, node=1, text=script + "\n" + rtl),),
        roots=(3,),
        notes=(script, rtl, "\ud800 alone"),
    )  # fmt: skip


def empty() -> ir.Snapshot:
    """Return a recording in which nothing happened."""
    return ir.Snapshot(PRODUCER)


def chain(n: int) -> ir.Snapshot:
    """Return one leaf followed by ``n`` operations in a row."""
    nodes = [_leaf("x", tensor=0)]
    for place in range(n):
        op = _op("MulBackward0", "mul", (place,), (place + 1,), None, place, None)
        nodes.append(replace(op, iteration=place))
    return ir.Snapshot(
        producer=PRODUCER,
        title=f"chain of {n}",
        nodes=tuple(nodes),
        edges=tuple(ir.Edge(i, 0, i + 1, 0, tensor=i) for i in range(n)),
        tensors=tuple(_tensor((1,), i) for i in range(n + 1)),
        storages=tuple(_storage(1, (i,)) for i in range(n + 1)),
        roots=(n,),
    )


SAMPLES: dict[str, Callable[[], ir.Snapshot]] = {
    "mlp": mlp,
    "cnn": cnn,
    "hostile": hostile,
    "empty": empty,
    "chain": lambda: chain(1_000),
}


def _leaf(name: str, tensor: int, scope: int | None = None) -> ir.OpNode:
    return ir.OpNode(
        "AccumulateGrad", "accumulate", name, outputs=(tensor,), scope=scope
    )


def _op(
    name: str,
    call: str,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    site: int | None,
    sequence: int,
    grad: int | None,
    scope: int | None = None,
    arguments: tuple[str, ...] = (),
    kind: ir.NodeKind = "op",
) -> ir.OpNode:
    return ir.OpNode(
        name,
        kind,
        call,
        arguments,
        inputs,
        outputs,
        scope=scope,
        site=site,
        sequence=sequence,
        grad_outputs=() if grad is None else (grad,),
        elapsed_ns=None if grad is None else 1_000 * (sequence + 1),
    )


def _tensor(
    shape: tuple[int, ...],
    storage: int,
    *,
    name: str | None = None,
    leaf: bool = False,
    requires_grad: bool = True,
    statistics: int | None = None,
) -> ir.TensorMeta:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return ir.TensorMeta(
        shape,
        tuple(reversed(strides)),
        0,
        "float32",
        "cpu",
        storage,
        requires_grad=requires_grad,
        is_leaf=leaf,
        name=name,
        statistics=statistics,
    )


def _storage(elements: int, tensors: tuple[int, ...]) -> ir.StorageMeta:
    return ir.StorageMeta(4 * elements, "cpu", 4, 0, tensors)


def _site(
    file: str,
    line: int,
    start: int,
    stop: int,
    text: str,
    *,
    function: str = "<module>",
    source: int | None = None,
) -> ir.Site:
    """Return a site; ``start`` and ``stop`` slice ``text`` as Python slices do."""
    indent = 0 if function == "<module>" else 8
    columns = indent + start + 1, indent + stop + 1
    return ir.Site(
        file, line, line, *columns, " " * indent + text, function, source=source
    )


def _normal(count: int, norm: float) -> ir.Statistics:
    """Return the statistics of a bell-shaped array of that many elements."""
    spread = norm / math.sqrt(count)
    weights = [math.exp(-(((i - 15.5) / 6) ** 2)) for i in range(32)]
    bins = [int(count * weight / sum(weights)) for weight in weights]
    bins[16] += count - sum(bins)
    return ir.Statistics(
        count,
        -3 * spread,
        3 * spread,
        0.0,
        spread,
        norm,
        histogram=tuple(bins),
        histogram_low=-3 * spread,
        histogram_high=3 * spread,
    )


def _constant(count: int, value: float) -> ir.Statistics:
    bins = [0] * 32
    bins[16] = count
    return ir.Statistics(
        count,
        value,
        value,
        value,
        0.0,
        abs(value) * math.sqrt(count),
        histogram=tuple(bins),
        histogram_low=value - 0.5,
        histogram_high=value + 0.5,
    )


def write_all(folder: Path) -> None:
    """Write every sample into the folder, as JSON and as columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in SAMPLES.items():
        snapshot = build()
        (folder / f"{name}.gradviz.json").write_text(ir_json.dumps(snapshot))
        (folder / f"{name}.gvc").write_bytes(ir_columns.encode(snapshot))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
