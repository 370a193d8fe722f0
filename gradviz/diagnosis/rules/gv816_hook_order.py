"""GV816: ``.grad`` of a retained tensor is what its hooks made of the gradient.

What it does
    Notes tensors with ``retain_grad`` whose hooks replaced the gradient. Warns where
    the gradient was to be kept before the hook was there, and is multiplied with its
    tensor, as by what measures how much a feature matters.
Why is this bad
    ``retain_grad`` sees the gradient after all hooks of the tensor, also after those
    that were registered later. Mostly it is a surprise and no mistake; but a measure
    of the features becomes one of the hook.
Example
    ``h.retain_grad(); h.register_hook(lambda g: g * 10)``
Use instead
    A hook that stores the gradient, registered before the others.
When it stays quiet
    No hook returns another gradient.
References
    pytorch/pytorch#61446.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import permutations

from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.frames import last_name, spot
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._grad_reads import subject_of
from gradviz.diagnosis.rules._gradients import gradient_reads
from gradviz.program import Call, History, HookRan, HookRegistered, RawSite

_PRODUCTS = ("mul", "multiply", "einsum", "dot", "inner", "matmul", "vdot")

_NAMED = ast.Name | ast.Attribute | ast.Subscript


@rule("GV816", "hook-order", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the retained tensors whose gradient a hook replaced."""
    replaced = {event.hook for event in history.of(HookRan) if event.returned}
    retained = {
        value.tensor: call
        for call in history.calls
        if call.op == "retain_grad"
        for value in call.inputs[:1]
        if not value.is_leaf
    }
    reads = {call.inputs[0].tensor: call for call in gradient_reads(history)}
    found: dict[tuple[RawSite | None, RawSite | None], _Kept] = {}
    for hook in history.of(HookRegistered):
        call = retained.get(hook.value.tensor) if hook.value is not None else None
        if hook.kind != "tensor" or hook.hook not in replaced or call is None:
            continue
        each = found.setdefault((hook.site, call.site), _Kept(hook, call))
        read = reads.get(call.inputs[0].tensor)
        if each.weighed is None and read is not None and call.index < hook.index:
            each.weighed = read if _is_weighed(history, read) else None
    yield from (_hit(history, each) for each in found.values())


@dataclass(slots=True)
class _Kept:
    """A hook on a tensor whose gradient is kept, where that is and what reads it."""

    hook: HookRegistered
    call: Call
    weighed: Call | None = None  # the read of a gradient that its tensor is weighed by


def _is_weighed(history: History, read: Call) -> bool:
    """Tell whether the function around a read multiplies a tensor with its gradient.

    By the source: of what is computed without a graph, a long run tells little.
    """
    where = spot(history, read.site)
    if where is None or not isinstance(where.node, ast.Attribute):
        return False
    of_gradient = {ast.unparse(where.node)}
    of_tensor = {ast.unparse(where.node.value)}
    nodes = list(own_nodes(where.scope))
    assigned = [each for each in nodes if isinstance(each, ast.Assign)]
    for each in sorted(assigned, key=lambda each: each.lineno):
        for names in (of_gradient, of_tensor):
            if _speaks_of(each.value, names):
                names.update(map(ast.unparse, each.targets))
                break
    return any(
        _speaks_of(one, of_gradient) and _speaks_of(other, of_tensor)
        for node in nodes
        for one, other in permutations(_factors(node), 2)
    )


def _speaks_of(node: ast.AST, names: Collection[str]) -> bool:
    """Tell whether one of these is in an expression; ``x`` is not in ``x.grad``."""
    if isinstance(node, _NAMED) and ast.unparse(node) in names:
        return True
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        return False
    return any(_speaks_of(each, names) for each in ast.iter_child_nodes(node))


def _factors(node: ast.AST) -> list[ast.expr]:
    """Return what an expression multiplies."""
    match node:
        case ast.BinOp(left, ast.Mult() | ast.MatMult(), right):
            return [left, right]
        case ast.Call(func, given) if last_name(func).rstrip("_") in _PRODUCTS:
            return [func, *given]
        case _:
            return []


def _hit(history: History, kept: _Kept) -> Hit:
    hook, call, weighed = kept.hook, kept.call, kept.weighed
    name = history.name(hook.value or 0, "this tensor")
    if weighed is None:
        return Hit(
            f"The hook of {history.line(hook.site)} replaces the gradient of {name}, "
            f"whose .grad {history.line(call.site)} keeps: .grad holds what all hooks "
            "have made of the gradient, not the gradient as it came.",
            culprit=hook.site,
            fix="To see the gradient as it came, store it in a hook registered before "
            "this one.",
            related=(Related("kept here", call.site),),
            severity="info",
        )
    return Hit(
        f"`{history.text(weighed.site)}` ({history.line(weighed.site)}) is not the "
        f"gradient of the loss but what the hook of {history.line(hook.site)} made of "
        f"it, and what multiplies it with `{subject_of(history, weighed)}` measures "
        "that. `retain_grad()` keeps what all hooks have made of a gradient, also "
        "those that are registered later.",
        culprit=call.site,
        fix="Store the gradient in a hook of its own here, before the other is "
        "registered: `register_hook` in the place of `retain_grad`. Then read that.",
        symptom=weighed.site,
        related=(Related("changed here", hook.site),),
        certainty=0.8,
    )
