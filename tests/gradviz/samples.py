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

from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from tests.gradviz._sample_cnn import cnn
from tests.gradviz._sample_findings import overwritten, raised
from tests.gradviz._sample_parts import (
    PRODUCER,
    constant,
    leaf,
    normal,
    op,
    site,
    storage,
    tensor,
)

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
            leaf("w1", tensor=0),
            leaf("b1", tensor=1),
            op("MmBackward0", "matmul", (2, 0), (3,), site=0, sequence=0, grad=1),
            op("AddBackward0", "add", (3, 1), (4,), site=1, sequence=1, grad=1),
            op("ReluBackward0", "relu", (4,), (5,), site=2, sequence=2, grad=2),
            op("SumBackward0", "sum", (5,), (6,), site=3, sequence=3, grad=3),
        ),
        edges=(
            ir.Edge(0, 0, 2, 1, tensor=0, gradient=0),
            ir.Edge(2, 0, 3, 0, tensor=3, gradient=1),
            ir.Edge(1, 0, 3, 1, tensor=1, gradient=4),
            ir.Edge(3, 0, 4, 0, tensor=4, gradient=1),
            ir.Edge(4, 0, 5, 0, tensor=5, gradient=2),
        ),
        tensors=(
            tensor((3, 4), 0, name="w1", leaf=True, statistics=5),
            tensor((4,), 1, name="b1", leaf=True),
            tensor((2, 3), 2, name="x", leaf=True, requires_grad=False),
            tensor((2, 4), 3),
            tensor((2, 4), 4),
            tensor((2, 4), 5, name="hidden"),
            tensor((), 6, name="loss"),
        ),
        saved=(
            ir.Saved(2, "_saved_self", 2, 0, 0),
            ir.Saved(4, "_saved_result", 5, 0, 0),
        ),
        storages=tuple(storage(n, (t,)) for t, n in enumerate((12, 4, 6, 8, 8, 8, 1))),
        statistics=(
            normal(12, 1.5),
            normal(8, 2.0),
            normal(8, math.sqrt(8)),
            constant(1, 1.0),
            normal(4, 1.25),
            normal(12, 3.25),
        ),
        sites=(
            site("mlp.py", 6, 20, 26, "hidden = torch.relu(x @ w1 + b1)", source=0),
            site("mlp.py", 6, 20, 31, "hidden = torch.relu(x @ w1 + b1)", source=0),
            site("mlp.py", 6, 9, 32, "hidden = torch.relu(x @ w1 + b1)", source=0),
            site("mlp.py", 7, 7, 19, "loss = hidden.sum()", source=0),
            site("mlp.py", 8, 0, 15, "loss.backward()", source=0),
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
            tensor((1, 2, 3, 1, 2, 1, 2, 1, 2), 0, name=script, leaf=True),
            tensor((0, 3), 1, name=rtl),
            ir.TensorMeta((2**31, 2**40), (0, 0), 2**33, "complex128", "cuda:0"),
            ir.TensorMeta((5, 5), (), 0, "float32", "meta"),
        ),
        saved=(ir.Saved(1, "_saved_</script>", 0, 0, 3, hooked=True),),
        storages=(storage(48, (0,)), ir.StorageMeta(0, "cpu", 4, 0, (1,))),
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
        findings=(
            ir.Finding(script, rtl, "error", script + "\n" + rtl, "x" * 5_000, 0, 1,
                       (1, 0), (script, rtl), (1, 3), (0,), (0,)),
            ir.Finding("", "", "info", ""),
        ),
        roots=(3,),
        notes=(script, rtl, "\ud800 alone"),
        flow_layers=(
            ir.FlowLayer(script, "Net<T>", 3, 1, 0, script),
            ir.FlowLayer(rtl),
        ),
        parts=(ir.Part("be\u202efore", (0, 0)), ir.Part("")),
        answers=(ir.Answer(("w", script), "parameter", "none", f"w {rtl}", "GV306"),),
        answer_steps=(ir.AnswerStep(0, "gate", script, 0, 0, True),),
        loss_terms=(ir.LossTerm(f"fit {rtl}", 0), ir.LossTerm(script)),
        term_shares=(ir.TermShare(0, 0, 0.25), ir.TermShare(0, 1)),
        thumbnails=(
            ir.Thumbnail(0, "maps", 1, 3, (0, 30, 31, 32, 7, 0), 2, -1e308, 1e308, rtl),
            ir.Thumbnail(1, "matrix", 1, 1, (32,), how=script),
        ),
        flow_steps=(ir.FlowStep(3, 2**40, 7, 5, None, 0, nan, True), ir.FlowStep(-1)),
        flow=(
            ir.FlowPoint(0, 0, nan, inf, 2, 1, 1, 0.0, -1.0, 1e308, 2),
            ir.FlowPoint(1, 1),
        ),
    )  # fmt: skip


def empty() -> ir.Snapshot:
    """Return a recording in which nothing happened."""
    return ir.Snapshot(PRODUCER)


def chain(n: int) -> ir.Snapshot:
    """Return one leaf followed by ``n`` operations in a row."""
    nodes = [leaf("x", tensor=0)]
    for place in range(n):
        step = op("MulBackward0", "mul", (place,), (place + 1,), None, place, None)
        nodes.append(replace(step, iteration=place))
    return ir.Snapshot(
        producer=PRODUCER,
        title=f"chain of {n}",
        nodes=tuple(nodes),
        edges=tuple(ir.Edge(i, 0, i + 1, 0, tensor=i) for i in range(n)),
        tensors=tuple(tensor((1,), i) for i in range(n + 1)),
        storages=tuple(storage(1, (i,)) for i in range(n + 1)),
        roots=(n,),
    )


SAMPLES: dict[str, Callable[[], ir.Snapshot]] = {
    "mlp": mlp,
    "cnn": cnn,
    "hostile": hostile,
    "empty": empty,
    "overwritten": overwritten,
    "raised": raised,
    "chain": lambda: chain(1_000),
}


def write_all(folder: Path) -> None:
    """Write every sample into the folder, as JSON and as columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in SAMPLES.items():
        snapshot = build()
        (folder / f"{name}.gradviz.json").write_text(ir_json.dumps(snapshot))
        (folder / f"{name}.gvc").write_bytes(ir_columns.encode(snapshot))


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
