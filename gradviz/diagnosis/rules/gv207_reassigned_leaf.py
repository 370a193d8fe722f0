"""An update binds the name of a leaf to a result, which is no leaf.

What it does
    Finds an update written as ``w = w - rate * w.grad``: the name moves to the result,
    and the leaf that collects gradients has no name left. So it is with a limit in each
    step of an optimizer, ``w = w.clamp(0, 1)`` under ``no_grad``.

Why is this bad
    The new ``w`` is the output of a subtraction, so its ``.grad`` is None after the
    next backward pass, and the graph of every update hangs on it. Under ``no_grad`` the
    new ``w`` needs no gradient at all, and the next backward pass fails; or it reaches
    other leaves alone, and the optimizer steps one that nothing is computed with.

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
    purpose as part of the graph (``autograd.grad`` with ``create_graph=True``). A leaf
    that is bound to a constant once may be meant to stay as it is.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradviz.dependence import learning
from gradviz.dependence.lineage import reached
from gradviz.diagnosis.decisions.sites import line_of, same_line
from gradviz.diagnosis.edits.writes import updated_in_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._grad_reads import NoneRead, none_reads, subject_of
from gradviz.diagnosis.rules._lifetime import failed_backwards, rebound
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.program import (
    Backward,
    Call,
    History,
    Node,
    RawSite,
    Value,
    following,
)

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
            f"`{name}` gets no gradient any more: since {history.line(made)} it is a "
            f"result ({node.name}), not a leaf, and backward() leaves the .grad of a "
            "result None.",
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
    yield from _left_behind(history)


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
        if name is None or not _is_update(history, call):
            continue
        yield Hit(
            f"`{name}` does not require grad any more: {history.line(call.site)} "
            "binds it to a new tensor, which was computed without a graph, in place of "
            "the leaf.",
            call.site,
            _fix(history, name, call.site),
            symptom=backward.site,
            related=(Related("backward pass", backward.site),),
            tensors=tuple(value.tensor for value in call.outputs),
            explains=history.ended_by(backward),
            edit=updated_in_place(call.site),
        )


def _is_update(history: History, call: Call) -> bool:
    """Tell whether a line had used a leaf whose gradient is read by that call."""
    line = None if call.site is None else (call.site[0], line_of(call.site))
    return _updates(history).get(line, call.index + 1) <= call.index


@learning.once
def _updates(history: History) -> dict[object, int]:
    """Return the lines that use leaves whose gradients are read, from which call on."""
    read, found = read_gradients(history), dict[object, int]()
    for call in history.calls:
        leaves = {v.tensor for v in call.inputs if v.is_leaf and v.requires_grad}
        if call.site is not None and not read.isdisjoint(leaves):
            line = call.site[0], line_of(call.site)
            found.setdefault(line, call.index)
    return found


def _left_behind(history: History) -> Iterator[Hit]:
    """Yield a hit where each step binds a name anew, and steps a leaf that it left."""
    told, wanted = set[RawSite | None](), learning.wanted(history) or set[int]()
    walked = {leaf: each.index for each in history.backwards for leaf in each.leaves}
    steps = learning.steps(history)
    stepped = {state.tensor: each.index for each in steps for state in each.states}
    for leaf in sorted(wanted & walked.keys() & stepped.keys()):
        for use in history.uses(leaf, walked[leaf]):
            made = None if use.site in told else _carried(history, leaf, use)
            if made is None:
                continue
            later = _computed_with(history, made, use.index, stepped[leaf])
            if later is not None:
                told.add(use.site)
                yield _left_hit(history, leaf, use, made, later)


def _left_hit(
    history: History, leaf: int, use: Call, made: Value, later: Backward
) -> Hit:
    name = rebound(history, use.site) or history.name(leaf, "a leaf").strip("`")
    return Hit(
        f"`{name}` is not trained after the first step: "
        f"{history.line(use.site)} binds the name to a new tensor without a graph, "
        f"{history.line(later.site)} computes gradients from that tensor, and the "
        "optimizer still holds the leaf before it.",
        use.site,
        f"Write into the leaf: `{name}.copy_(…)`, `{name}.clamp_(…)`, under "
        "`torch.no_grad()`.",
        symptom=later.site,
        related=(Related("created here", learning.created_at(history, leaf)),),
        tensors=(leaf, made.tensor),
        certainty=0.9,
    )


def _carried(history: History, leaf: int, use: Call) -> Value | None:
    """Return the constant that a line made of a leaf, and of which it makes the next.

    An average, which takes the leaf each time, is none.
    """
    behind = following(history.calls, use.index - 1)
    calls = [*takewhile(lambda each: same_line(each.site, use.site), behind)]

    def is_taken_again(tensor: int) -> bool:
        later = history.uses(tensor, calls[-1].index)
        return any(same_line(each.site, use.site) for each in later)

    shape = learning.last_seen(history)[leaf].shape
    made = (value for call in calls for value in call.outputs)
    constants = [e for e in made if e.shape == shape and not e.requires_grad]
    carried = [each for each in constants if is_taken_again(each.tensor)]
    return carried[0] if carried and not is_taken_again(leaf) else None


def _computed_with(
    history: History, made: Value, since: int, until: int
) -> Backward | None:
    """Return the first pass between two events that a constant was used for."""
    for backward in following(history.backwards, since):
        if backward.index >= until:
            break
        if made.tensor in history.behind(backward.roots, backward.index):
            return backward
    return None
