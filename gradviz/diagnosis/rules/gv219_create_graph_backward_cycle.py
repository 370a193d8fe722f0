"""GV219 create-graph-backward-cycle.

What it does
    Finds ``backward(create_graph=True)`` whose gradients are left in ``.grad``.

Why is this bad
    Each ``.grad`` then has a graph that leads back to its own leaf: a cycle that
    reference counting cannot free, and nor can the garbage collector in PyTorch. Every
    step leaks its graph.

Example
    ::

        loss.backward(create_graph=True)
        penalty = w.grad.norm()

Use instead
    ::

        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        penalty = g.norm()

When it stays quiet
    Where the gradients are cleared with ``grad = None`` or ``zero_grad()`` later on.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Rule
from gradviz.diagnosis.rules._lifetime import line_of, name_of
from gradviz.program.events import Backward, Call, OptimizerCall
from gradviz.program.history import History


def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that leaves gradients with graphs behind."""
    cleared_lines: set[object] = set()
    left: list[Backward] = []
    for each in history.backwards:
        if each.api != "backward" or not each.create_graph or each.error:
            continue
        if each.site is not None and _cleared(history, each):
            cleared_lines.add(line_of(each.site))
        else:
            left.append(each)
    for each in left:
        if each.site is None or line_of(each.site) in cleared_lines:
            continue
        leaves = [history.name(leaf, "") for leaf in each.leaves]
        names = ", ".join(name for name in leaves if name) or "its leaves"
        root = name_of(history, each.roots[0], "loss") if each.roots else "loss"
        yield Hit(
            f"backward(create_graph=True) stored gradients of {names} that have graphs "
            "of their own. Each leads back to the leaf that holds it: a cycle, which "
            "is never freed.",
            each.site,
            f"Use torch.autograd.grad({root.strip('`')}, inputs, create_graph=True), "
            "which stores nothing; or set .grad = None when you are done.",
            tensors=each.leaves,
        )


def _cleared(history: History, backward: Backward) -> bool:
    """Tell whether the leaves' gradients were set to None afterwards."""
    leaves = {leaf for leaf in backward.leaves if leaf in history.program.tensors}
    for event in history.program.events:
        if event.index <= backward.index:
            continue
        if isinstance(event, OptimizerCall) and event.what == "zero_grad":
            leaves -= {state.tensor for state in event.states}
            optimizer = history.program.optimizers.get(event.optimizer)
            leaves -= set() if optimizer is None else set(optimizer.tensors)
        elif isinstance(event, Call) and event.op == "grad.set":
            cleared = event.inputs if event.arguments[-1:] == (None,) else ()
            leaves -= {value.tensor for value in cleared}
        if not leaves:
            return True
    return not leaves


RULE = Rule("GV219", "create-graph-backward-cycle", "warning", check)
