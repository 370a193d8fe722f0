"""Samples with findings: one beside its graph, one of a program that has no graph."""

from __future__ import annotations

from dataclasses import replace

from gradviz import ir
from tests.gradviz._sample_parts import PRODUCER, leaf, op, storage, tensor

_GATE = """\
import gradtape as torch

class Gate(torch.nn.Module):
    def forward(self, x):
        y = x.exp()
        y += 1
        return y

gate = Gate()
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
teacher = (x * 2).detach()
y = gate(x)
best = y.argmax()
loss = (y * teacher).sum()
loss.backward()
"""

_NO_GRAPH = """\
import gradtape as torch

x = torch.ones(3)
loss = x.sum()
loss.backward()
"""


def _site(text: str, line: int, expression: str, file: str) -> ir.Site:
    """Return the place of an expression that occurs once in its line of a text."""
    written = text.splitlines()[line - 1]
    start = written.index(expression) + 1
    stop = start + len(expression)
    function = "forward" if written.startswith(" ") else "<module>"
    return ir.Site(file, line, line, start, stop, written, function, source=0)


def overwritten() -> ir.Snapshot:
    """An output that was saved and then written, and two branches that were cut.

    ::

        x ─> exp ─> add_ ─> mul ─> sum        exp saves its result, add_ overwrites it
        └──> mul ┄> detach ─┘   └┄> argmax    scopes: gate
    """
    names = (
        (5, "x.exp()"),
        (6, "y += 1"),
        (11, "x * 2"),
        (11, "(x * 2).detach()"),
        (13, "y.argmax()"),
        (14, "y * teacher"),
        (14, "(y * teacher).sum()"),
        (15, "loss.backward()"),
    )
    exp, add, mul, *_ = nodes = (
        op("ExpBackward0", "exp", (0,), (1,), 0, 0, None, scope=0),
        op("AddBackward0", "add_", (1,), (2,), 1, 2, None, scope=0, kind="inplace"),
        op("MulBackward0", "mul", (0,), (3,), 2, 1, None),
        ir.OpNode("detach", "cut", "detach", inputs=(3,), outputs=(4,), site=3),
        ir.OpNode("argmax", "cut", "argmax", inputs=(2,), outputs=(5,), site=4),
        op("MulBackward0", "mul", (2, 4), (6,), 5, 3, None),
        op("SumBackward0", "sum", (6,), (7,), 6, 4, None),
    )
    changed = (replace(exp, flags=("modified",)), add, replace(mul, flags=("freed",)))
    return ir.Snapshot(
        producer=PRODUCER,
        title="gate",
        nodes=(leaf("x", tensor=0), *changed, *nodes[3:]),
        edges=(
            ir.Edge(0, 0, 1, 0, 0),
            ir.Edge(1, 0, 2, 0, 1),
            ir.Edge(0, 0, 3, 0, 0),
            ir.Edge(3, 0, 4, 0, 3, kind="cut"),
            ir.Edge(2, 0, 5, 0, 2, kind="cut"),
            ir.Edge(2, 0, 6, 0, 2),
            ir.Edge(4, 0, 6, 1, 4, kind="cut"),
            ir.Edge(6, 0, 7, 0, 6),
        ),
        tensors=(
            tensor((3,), 0, name="x", leaf=True),
            tensor((3,), 1),
            replace(tensor((3,), 1, name="y"), version=1),
            tensor((3,), 2),
            tensor((3,), 2, name="teacher", requires_grad=False),
            replace(tensor((), 3, name="best", requires_grad=False), dtype="int64"),
            tensor((3,), 4),
            tensor((), 5, name="loss"),
        ),
        saved=(ir.Saved(1, "_saved_result", 1, 0, 1),),
        storages=(
            storage(3, (0,)),
            replace(storage(3, (1, 2)), version=1),
            storage(3, (3, 4)),
            ir.StorageMeta(8, "cpu", 8, 0, (5,)),
            storage(3, (6,)),
            storage(1, (7,)),
        ),
        writes=(ir.Write(1, 1, "add_", site=1, node=2),),
        scopes=(ir.Scope("gate", "gate", "Gate"),),
        sites=tuple(_site(_GATE, line, text, "gate.py") for line, text in names),
        sources=(ir.Source("gate.py", _GATE, "Cell In[4]", "gate-cell"),),
        findings=(
            ir.Finding(
                "GV101",
                "inplace-saved-output",
                "error",
                "ExpBackward0 saved its result at version 0, and `y += 1` wrote over "
                "it: it is at version 1 now, so backward() cannot use it.",
                "Write `y = y + 1`, which makes a new tensor.",
                culprit=1,
                symptom=7,
                related=(0,),
                roles=("saved here",),
                nodes=(1, 2),
                tensors=(1,),
                storages=(1,),
            ),
            ir.Finding(
                "GV201",
                "detached-branch",
                "warning",
                "`teacher` was detached, so x gets no gradient through it.",
                "Leave `.detach()` out if the gradient is wanted.",
                culprit=3,
                related=(5,),
                roles=("used here",),
                nodes=(4,),
            ),
            ir.Finding(
                "GV204",
                "argmax-has-no-gradient",
                "info",
                "`argmax()` answers with whole numbers; no gradient passes.",
                culprit=4,
                nodes=(5,),
            ),
        ),
        roots=(7,),
    )


def raised() -> ir.Snapshot:
    """A program whose backward() raised before there was any graph."""
    return ir.Snapshot(
        producer=PRODUCER,
        title="no graph",
        sites=(
            _site(_NO_GRAPH, 3, "torch.ones(3)", "no_graph.py"),
            _site(_NO_GRAPH, 5, "loss.backward()", "no_graph.py"),
        ),
        sources=(ir.Source("no_graph.py", _NO_GRAPH),),
        findings=(
            ir.Finding(
                "GV301",
                "nothing-requires-grad",
                "error",
                "`loss` depends on no tensor that requires a gradient, so backward() "
                "has nothing to do.",
                "Create it with `torch.ones(3, requires_grad=True)`.",
                culprit=0,
                symptom=1,
            ),
        ),
    )
