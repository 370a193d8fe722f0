"""``backward(create_graph=True)`` leaves gradients whose graphs form cycles.

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
    It only mentions the line where the gradients are cleared later on, with
    ``grad = None`` or ``zero_grad()``, and says nothing of ``autograd.grad``.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.rule import Hit, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.program import Backward, Call, History, OptimizerCall


@rule("GV219", "create-graph-backward-cycle", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose gradients have graphs, milder where cleared."""
    lines: dict[object, list[Backward]] = defaultdict(list)
    for each in history.backwards:
        made = each.api == "backward" and each.create_graph and not each.error
        if made and each.site is not None:
            lines[line_of(each.site)].append(each)
    for passes in lines.values():
        yield _hit(history, passes[-1], any(_cleared(history, each) for each in passes))


def _hit(history: History, backward: Backward, cleared: bool) -> Hit:
    named = [history.name(each, "") for each in _holders(backward)]
    others = "its inputs" if backward.inputs else "its leaves"
    names = ", ".join(name for name in named if name) or others
    root = name_of(history, backward.roots[0], "loss") if backward.roots else "loss"
    until = ", until .grad is cleared" if cleared else ", which is never freed"
    return Hit(
        f"backward(create_graph=True) stored gradients of {names} that have graphs of "
        f"their own. Each leads back to the tensor that holds it: a cycle{until}.",
        backward.site,
        f"Use `torch.autograd.grad({root.strip('`')}, inputs, create_graph=True)`, "
        "which stores nothing; or set .grad = None when you are done.",
        tensors=_holders(backward),
        severity="info" if cleared else None,
    )


def _holders(backward: Backward) -> tuple[int, ...]:
    """Return the tensors that a pass gave a gradient to keep."""
    return tuple(each.tensor for each in backward.inputs) or backward.leaves


def _cleared(history: History, backward: Backward) -> bool:
    """Tell whether the leaves' gradients were set to None afterwards."""
    leaves = set(_holders(backward))
    for event in history.events:
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
