"""The gradient of a tensor is wanted that the result does not depend on.

What it does
    Finds tensors given to ``autograd.grad`` that the result was not computed from, and
    says when they were made and which tensor of the graph they stem from.

Why is this bad
    There is no path from the result to that tensor. Often it is a view or a copy of the
    right one, made for this call: a new tensor, which nothing was computed from.

Example
    ::

        y = (x * 2).sum()
        flat = x.view(-1)
        torch.autograd.grad(y, flat)

Use instead
    ::

        y = (x * 2).sum()
        torch.autograd.grad(y, x)

When it stays quiet
    With ``allow_unused=True`` or ``materialize_grads=True``.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import Flow
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import failed_backwards, made_at, name_of
from gradviz.diagnosis.rules._rebinding_loops import rebindings
from gradviz.program import Backward, Call, History, RawSite, Value

_FIX = (
    "Compute the result from this very tensor, or differentiate with respect to the "
    "one that was used; `allow_unused=True` gives None for the others."
)


@rule("GV213", "unused-input-in-grad", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per call that asked for the gradient of an unused tensor."""
    told = {tensor for each in rebindings(history) for tensor in each.lost}
    for backward in failed_backwards(history, "not have been used in the graph"):
        unused = _unused(history, backward)
        if unused is None or unused.tensor in told:
            continue
        name = name_of(history, unused, "a tensor")
        root = _root_words(history, backward)
        relative = _relative(history, backward, unused)
        words, made = _when_made(history, backward, unused)
        own = unused.is_leaf and (relative is None or not relative.requires_grad)
        culprit = backward.site if own else made or backward.site
        stems = ""
        if relative is not None:
            stems = f" It stems from {name_of(history, relative)}, which was used."
        ended = _cut_between(history, backward, unused)
        if ended is not None:
            culprit = ended.site
        flows, cut = _lost_between(history, backward, unused, ended)
        instead, fix = "", _FIX
        if _is_to_learn(history, unused, relative):
            instead = _used_instead(history, backward)
            fix = f"Compute {root[:1].lower() + root[1:]} from {name}."
        yield Hit(
            f"{root} was not computed from {name}{words}.{stems}{cut}{instead}",
            culprit,
            fix,
            symptom=backward.site,
            related=(
                Related("asked for its gradient", backward.site),
                Related("made here", made),
                Related("result made here", made_at(history, backward.roots[0])),
            ),
            tensors=(unused.tensor,),
            explains=history.ended_by(backward),
            certainty=0.6 if flows else 1.0,
        )


def _is_to_learn(history: History, unused: Value, relative: Value | None) -> bool:
    """Tell whether a tensor is no stand-in for another one that was used.

    A parameter, or a leaf that was made of nothing: to leave it out of what is asked
    for would only hide that nothing was computed from it.
    """
    kept = unused.is_parameter or unused.tensor in learning.managed(history)
    return kept or (unused.is_leaf and relative is None)


def _used_instead(history: History, backward: Backward) -> str:
    leaves = history.leaves_of(backward.roots[0])
    return (
        f" It was computed from {learning.listed(history, leaves)}." if leaves else ""
    )


def _root_words(history: History, backward: Backward) -> str:
    """Name what was differentiated: as it is written where the same line makes it."""
    made = made_at(history, backward.roots[0])
    statement = history.places.statement(made)
    if statement and statement is history.places.statement(backward.site):
        return f"`{history.text(made)}`"
    return name_of(history, backward.roots[0], "The result")


def _lost_between(
    history: History, backward: Backward, unused: Value, ended: Call | None
) -> tuple[bool, str]:
    """Tell whether a tensor's data reached the root, and say what lost its graph."""
    flows = unused.tensor in history.behind(backward.roots, before=backward.index)
    if flows or ended is not None:
        where = "" if ended is None else f" in {history.line(ended.site)}"
        cut = f" Its data was used, but the graph between them was cut{where}."
        return flows, cut
    taken = _gradient_of(history, backward, unused)
    if taken is None:
        return False, ""
    return True, (
        f" The result comes from the gradient that {history.line(taken.site)} took, "
        "and nothing in that gradient depends on it any more: what was differentiated "
        "there is linear in it, or a `backward` cut the graph."
    )


def _gradient_of(
    history: History, backward: Backward, unused: Value
) -> Backward | None:
    """Return the earlier pass whose gradients the root was computed from, if any.

    Of those alone that differentiated something computed from the unused tensor.
    """
    behind = history.behind(backward.roots, before=backward.index)
    for each in reversed(history.backwards):
        if each.create_graph and not behind.isdisjoint(
            got.tensor for got in each.results if got is not None
        ):
            behind |= history.behind(each.roots, before=each.index)
            if unused.tensor in behind:
                return each
    return None


def _cut_between(history: History, backward: Backward, unused: Value) -> Call | None:
    """Return the call behind which the root has no graph to the tensor any more."""
    for crossing in Flow(history).crossings(backward.roots[0], backward.index):
        call = crossing.call
        sources = [crossing.source]
        for each in history.backwards:  # a gradient: no call made it
            if crossing.source.tensor in {got.tensor for got in each.results if got}:
                sources += (*each.roots, *each.inputs)
        behind = history.behind(sources, before=call.index)
        if call.site is not None and unused.tensor in behind:
            return call
    return None


def _unused(history: History, backward: Backward) -> Value | None:
    told = re.search(r"at index (\d+)", backward.error or "")
    if told and int(told[1]) < len(backward.inputs):
        return backward.inputs[int(told[1])]
    reached = history.reach(backward.root_nodes)
    leaves = {node.leaf for node in reached.values()}
    for value in backward.inputs:
        if value.node not in reached and value.tensor not in leaves:
            return value
    return None


def _when_made(
    history: History, backward: Backward, unused: Value
) -> tuple[str, RawSite | None]:
    """Return when the tensor was made next to the result, in words, and where."""
    site = made_at(history, unused)
    mine = _maker(history, unused)
    result = _maker(history, backward.roots[0])
    if mine is None or result is None:
        return "", site
    when = "made before it" if mine.index < result.index else "only made later"
    return f", which was {when}, in {history.line(site)}", site


def _maker(history: History, value: Value) -> Call | None:
    node = history.node(value.node)
    return history.producer(value) if node is None else history.maker(node)


def _relative(history: History, backward: Backward, unused: Value) -> Value | None:
    """Return the nearest tensor used in the graph that the unused one comes from."""
    used = history.behind(backward.roots, before=backward.index)
    waiting, seen = [unused], set[int]()
    while waiting:
        call = _maker(history, waiting.pop(0))
        for value in () if call is None else call.inputs:
            if value.tensor in used and value.tensor != unused.tensor:
                return value
            if value.tensor not in seen:
                seen.add(value.tensor)
                waiting.append(value)
    return None
