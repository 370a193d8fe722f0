"""A penalty on gradients is a constant: ``autograd.grad`` recorded no graph.

What it does
    Follows the results of ``torch.autograd.grad(...)``, and ``.grad`` after a
    ``backward()``, without ``create_graph=True`` into a term that is added to a loss,
    or is the loss, or into a sum with what they are the derivative of (where that is
    by parameters, an information only), or into a loss that depends on parameters by
    them alone.

Why is this bad
    The term changes the number that is printed, not a single gradient.

Example
    ::

        (g,) = torch.autograd.grad(score.sum(), x, retain_graph=True)
        loss = score.mean() + 10 * (g.norm() - 1) ** 2

Use instead
    ::

        (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        loss = score.mean() + 10 * (g.norm() - 1) ** 2

When it stays quiet
    Adversarial inputs, first-order meta-learning, adaptive weights of losses: there a
    gradient enters a product or an update, not a term of its own.

References
    https://arxiv.org/abs/1704.00028
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from gradviz.dependence import learning
from gradviz.dependence.cuts import is_dead, sampled
from gradviz.dependence.flow import Flow, name_of
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, Value, following

_API = {"grad": "torch.autograd.grad", "backward": "backward"}
_FAR = 4  # passes after a gradient in which it may still be a term
_MOST = 100  # leaves whose `.grad` is looked at
_ENDING = {"detach", "detach_", "data.get", "item", "numpy", "tolist"}
_JOINS = {"add", "add_", "radd", "iadd", "sub", "sub_", "rsub", "stack"}


@rule("GV314", "gradient-penalty-no-create-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    for grad in sampled(history):
        after = following(history.backwards, grad.index)
        constant = _constants(history, grad) if after else []
        if not constant:
            continue
        later = [each for each in after if each.api == "backward"][:_FAR]
        before = later[-1].index if later else grad.index
        for term, join in _terms(history, grad, constant, before):
            root = _pass_with(join, later)
            if root is not None:
                yield _hit(history, grad, root, term)
                break
        else:  # no term of its own
            yield from _beside(history, grad, constant, later)
            yield from _learned(history, grad, constant, later)
        for root in after[:1]:
            dead = is_dead(root) and root.error is not None
            if dead and _reaches(history, constant, root):
                yield _hit(history, grad, root, None)


def _constants(history: History, grad: Backward) -> list[Value]:
    """Return the gradients of a pass that have no graph of their own."""
    if grad.create_graph:
        return []
    if grad.api == "grad":
        return [each for each in grad.results if each and not each.requires_grad]
    leaves = grad.leaves[:_MOST]
    reads = [call for leaf in leaves for call in history.uses(leaf, grad.index)]
    return [
        value
        for call in reads
        if call.op == "grad.get"
        for value in call.outputs
        if not value.requires_grad
    ]


def _terms(
    history: History, grad: Backward, constant: list[Value], before: int
) -> Iterator[tuple[Call, Call]]:
    """Yield the calls that made a scalar of gradients, with the sum it joins.

    Not ``bias - step * gradient`` of what was differentiated, which is an update.
    """
    updated = {value.tensor for value in grad.inputs} | set(grad.leaves)
    for call, made in _derived(history, constant, before):
        if prod(made.shape) != 1:
            continue
        for use in history.uses(made.tensor):
            others = [each for each in use.inputs if each.tensor != made.tensor]
            if name_of(use) in _JOINS and any(
                each.requires_grad
                and prod(each.shape) == 1
                and each.tensor not in updated
                for each in others
            ):
                yield call, use


def _derived(
    history: History, start: list[Value], before: int
) -> Iterator[tuple[Call, Value]]:
    """Yield what was computed from values without a graph, with the calls."""
    waiting, seen = list({each.tensor for each in start}), set[int]()
    for tensor in waiting:
        for call in history.uses(tensor):
            if call.index >= before:
                break
            for made in call.outputs:
                if not made.requires_grad and made.tensor not in seen:
                    seen.add(made.tensor)
                    waiting.append(made.tensor)
                    yield call, made


def _beside(
    history: History, grad: Backward, constant: list[Value], later: list[Backward]
) -> Iterator[Hit]:
    """Yield a hit where a derivative is added to what it is the derivative of.

    ``du + u`` of an equation, not ``x + step * gradient`` of an update: the graph of
    the other operand is a part of the one that the pass has walked.
    """
    walked = set(grad.nodes) - {value.node for value in grad.inputs}
    before = later[-1].index if later else grad.index
    made = {each.tensor for each in constant}
    if any(use.op in _ENDING for key in made for use in history.uses(key)):
        return  # meant as a constant
    made |= {value.tensor for _, value in _derived(history, constant, before)}
    for tensor in made:
        for use in history.uses(tensor):
            others = [each for each in use.inputs if each.tensor != tensor]
            joins = name_of(use) in _JOINS and any(
                each.node is not None and each.node in walked for each in others
            )
            root = _pass_with(use, later) if joins else None
            if root is not None:
                hit = _hit(history, grad, root, use)
                learned = learning.managed(history)
                by_data = all(each.tensor not in learned for each in grad.inputs)
                severity = None if by_data and grad.inputs else "info"
                yield replace(hit, severity=severity, certainty=0.5)
                return


def _learned(
    history: History, grad: Backward, constant: list[Value], later: list[Backward]
) -> Iterator[Hit]:
    """Yield a hit where leaves of an optimizer act on a loss by the gradient alone.

    As the network of a learned loss does, by the step that is made with its gradient.
    """
    wanted = learning.wanted(history)
    if grad.api != "grad" or wanted is None:
        return
    idle = wanted - learning.given_gradients(history) - learning.copies(history)
    flow = history.once(Flow)
    lost = idle & {
        leaf for root in grad.roots for leaf in flow.leaves(root, grad.index)
    }
    made = {each.tensor for each in constant}
    for root in later if lost else ():
        if made & history.behind(root.roots, before=root.index):
            hit = _hit(history, grad, root, None)
            names = learning.listed(history, lost)
            yield replace(
                hit,
                message=f"`{_API[grad.api]}` in {history.line(grad.site)} ran without "
                f"create_graph, so its result is a constant: the backward pass in "
                f"{history.line(root.site)} depends on {names} by it alone, and cannot "
                "reach them.",
                tensors=tuple(sorted(lost)),
            )
            return


def _pass_with(join: Call, later: list[Backward]) -> Backward | None:
    nodes = {each.node for each in join.outputs}
    for backward in later:
        if backward.index > join.index and nodes & set(backward.nodes):
            return backward
    return None


def _reaches(history: History, constant: list[Value], root: Backward) -> bool:
    made = {each.tensor for each in constant}
    made |= {value.tensor for _, value in _derived(history, constant, root.index)}
    return any(each.tensor in made for each in root.roots)


def _hit(history: History, grad: Backward, root: Backward, term: Call | None) -> Hit:
    what = "the loss" if term is None else "the term made of it"
    does = (
        f"{what} is a constant in {history.line(root.site)} and adds nothing to any "
        "gradient"
    )
    if root.error is not None:
        does = f"{history.line(root.site)} finds nothing to differentiate"
    related = () if term is None else (Related("a constant term", term.site),)
    return Hit(
        f"`{_API[grad.api]}` in {history.line(grad.site)} ran without create_graph, "
        f"so the gradient has no graph: {does}.",
        grad.site,
        "Pass `create_graph=True`.",
        symptom=root.site,
        related=related,
        edit=with_keyword(grad.site, "create_graph", "True", of=("grad",))
        if grad.api == "grad"
        else None,
        explains=history.ended_by(root),
    )
