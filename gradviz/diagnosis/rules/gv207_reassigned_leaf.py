"""An update binds the name of a leaf to a result, which is no leaf.

What it does
    Finds an update written as ``w = w - rate * w.grad``: the name moves to the result,
    and the leaf that collects gradients has no name left.

Why is this bad
    The new ``w`` is the output of a subtraction, so its ``.grad`` is None after the
    next backward pass, and the graph of every update hangs on it. Under ``no_grad`` the
    new ``w`` needs no gradient at all, and the next backward pass fails.

Example
    ::

        w = w - 0.1 * w.grad

Use instead
    ::

        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None

When it stays quiet
    Where nobody asks for the new tensor's ``.grad``: weights that are updated on
    purpose as part of the graph (``autograd.grad`` with ``create_graph=True``).

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.lineage import reached
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.writes import updated_in_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._grad_reads import NoneRead, none_reads, subject_of
from gradviz.diagnosis.rules._lifetime import failed_backwards, rebound
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.program import Backward, Call, History, Node, RawSite

_MOST = 64  # nodes of an update
_NO_GRAPH = "does not require grad and does not have a grad_fn"


@rule("GV207", "reassigned-leaf", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per name that moved from a leaf to a result."""
    for found in history.once(none_reads):
        if found.why != "rebound":
            continue
        name = rebound(history, found.made) or subject_of(history, found.read)
        node, made = _first_bound(history, found, name)
        yield Hit(
            f"`{name}` was bound to the result of {node.name} in "
            f"{history.line(made)}: it is no leaf any more, so backward passes "
            f"leave its .grad None.",
            made,
            _fix(history, name, made),
            symptom=found.read.site,
            related=(Related("its .grad is read here", found.read.site),),
            nodes=(node.key,),
            tensors=(found.value.tensor,),
            explains=found.explains,
            edit=updated_in_place(made),
        )
    for backward in failed_backwards(history, _NO_GRAPH):
        yield from _without_graph(history, backward)


def _first_bound(
    history: History, found: NoneRead, name: str
) -> tuple[Node, RawSite | None]:
    """Return where the name left the leaf first: an update may take several lines."""

    def below(node: Node) -> list[Node | None]:
        return [history.node(edge[0]) for edge in node.next if edge is not None]

    first = found.node, found.made
    for node in reached([found.node], below, _MOST):
        older = node.key < first[0].key
        if older and rebound(history, node.site) == name:
            first = node, node.site
    return first


def _fix(history: History, name: str, site: RawSite | None) -> str:
    statement = history.places.statement(site)
    several = statement is not None and any(
        isinstance(each, ast.comprehension) for each in ast.walk(statement)
    )
    if several:
        return (
            f"Update each tensor of `{name}` in place, under `torch.no_grad()`, and "
            "set its `.grad` to None."
        )
    return (
        f"Update the leaf itself: `with torch.no_grad(): {name} -= …`; then "
        f"`{name}.grad = None`."
    )


def _without_graph(history: History, backward: Backward) -> Iterator[Hit]:
    """Yield a hit where the update lost requires_grad along with the leaf."""
    behind = history.behind(backward.roots, before=backward.index)
    for call in history.calls:
        mine = any(
            value.tensor in behind and not value.requires_grad for value in call.outputs
        )
        name = rebound(history, call.site) if mine else None
        if name is None or not _read_its_gradient(history, call):
            continue
        yield Hit(
            f"`{name}` was bound to a new tensor in {history.line(call.site)}, "
            "computed without a graph: unlike the leaf before it, it does not require "
            "grad.",
            call.site,
            _fix(history, name, call.site),
            symptom=backward.site,
            related=(Related("backward pass", backward.site),),
            tensors=tuple(value.tensor for value in call.outputs),
            explains=history.ended_by(backward),
            edit=updated_in_place(call.site),
        )


def _read_its_gradient(history: History, update: Call) -> bool:
    """Tell whether the update's statement uses a leaf whose gradient was read."""
    for call in history.calls:
        if call.index > update.index:
            return False
        if not same_line(call.site, update.site):
            continue
        leaves = {v.tensor for v in call.inputs if v.is_leaf and v.requires_grad}
        if leaves & read_gradients(history):
            return True
    return False
