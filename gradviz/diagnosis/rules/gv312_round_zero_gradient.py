"""``round``, ``sign`` or a random draw turns every gradient into zeros.

What it does
    Finds nodes whose derivative is zero everywhere (``round``, ``floor``, ``ceil``,
    ``sign``, a division with a ``rounding_mode``, draws such as
    ``torch.normal(mean, std)``) that are the only way from a root, or from one term of
    it, to a leaf.

Why is this bad
    The graph is connected, the parameters have a gradient, the optimizer steps, and
    nothing changes: the gradient is exactly zero.

Example
    ::

        quantized = torch.round(weight)
        loss = (quantized - target).pow(2).sum()

Use instead
    ::

        quantized = weight + (torch.round(weight) - weight).detach()

When it stays quiet
    Straight-through estimators, and rounding beside a path of the same term that
    carries a gradient. A draw with a term for its ``log_prob``, as in policy gradients.

References
    https://arxiv.org/abs/1308.3432
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.dependence import learning
from gradviz.dependence.lineage import reached
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.edits.calls import operand_text, straight_through
from gradviz.diagnosis.edits.numbers import scaled_noise
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._terms import in_all_passes, scored, words
from gradviz.program import Backward, History, Node, RawSite

_STEPS = ("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Fix", "Heaviside")
_DRAWS = ("Normal", "Bernoulli", "Poisson", "Uniform", "Exponential")
_FLAT = (*_STEPS, *_DRAWS)


@rule("GV312", "round-zero-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    if not _flat(history):
        return
    walks = [(each, *_walk(history, each)) for each in history.backwards if each.nodes]
    moved = {leaf for _, reached, _ in walks for leaf in reached}
    wanted = learning.wanted(history)
    for backward, _, flat in walks:
        for node in flat:
            behind = history.leaves_behind([node.key])
            lost = behind - moved if wanted is None else (behind - moved) & wanted
            if lost:
                yield _hit(history, backward, node, lost)
    yield from _of_terms(history, moved)


def _of_terms(history: History, moved: set[int]) -> Iterator[Hit]:
    """Yield one hit per term that is cut off from what learns through others alone."""
    wanted = (learning.wanted(history) or set()) & moved

    def lost(account: Account, term: Term) -> set[int]:
        came = account.moved(term)
        return set() if came is None else (account.leaves(term) - came) & wanted

    by_line = dict[RawSite | None, list[_Beside]]()
    for account, term in in_all_passes(history, lambda *each: bool(lost(*each))):
        behind = lost(account, term)
        for node in account.nodes(term):
            if node.key not in _flat(history):
                continue
            call = history.maker(node)
            mine = behind & history.leaves_behind([node.key])
            drawn = call is not None and scored(history, call.outputs[0], mine)
            if mine and not drawn:
                found = _Beside(account, term, node, mine)
                by_line.setdefault(node.site, []).append(found)
    yield from (_beside(history, each) for each in by_line.values())


@dataclass(frozen=True, slots=True)
class _Beside:
    """A term that a node keeps from parameters which other terms train."""

    account: Account
    term: Term
    node: Node
    lost: set[int]


def _walk(history: History, backward: Backward) -> tuple[set[int], list[Node]]:
    """Return the leaves that a gradient reaches, and the flat nodes that stop it."""
    stops = _flat(history)

    def below(node: Node) -> list[Node | None]:
        edges = () if node.key in stops else node.next
        return [history.node(edge[0]) for edge in edges if edge is not None]

    walked = [*reached(map(history.node, backward.root_nodes), below)]
    flat = [node for node in walked if node.key in stops]
    passed = (node.leaf for node in walked if node.key not in stops)
    return {leaf for leaf in passed if leaf is not None}, flat


@learning.once
def _flat(history: History) -> dict[int, str]:
    """Return the steps and draws of a run, whose derivative is 0, by their nodes."""
    named = {key: _step(history, node) for key, node in history.program.nodes.items()}
    return {key: name for key, name in named.items() if name}


def _step(history: History, node: Node) -> str:
    """Return the step or draw that a node is, "" where its derivative may not be 0."""
    name = node.name.split("Backward")[0]
    if node.custom is not None:
        return ""
    call = history.maker(node) if name == "Div" else None
    if call is not None:
        return call.keywords.get("rounding_mode") or ""
    return name.lower() if name in _FLAT else ""


def _is_draw(node: Node) -> bool:
    return node.name.split("Backward")[0] in _DRAWS


def _said(history: History, node: Node) -> str:
    who = history.quoted(node.site)
    if _is_draw(node):
        return f"{who} draws random numbers, which pass no gradient back"
    return f"{who} has derivative 0 everywhere"


def _hit(history: History, backward: Backward, node: Node, lost: set[int]) -> Hit:
    names = learning.listed(history, lost)
    return Hit(
        f"The gradient of {names} is exactly 0, although the graph is connected: "
        f"{_said(history, node)}.",
        node.site,
        _fix(history, node),
        edit=_edit(history, node),
        symptom=backward.site,
        nodes=(node.key,),
        tensors=tuple(sorted(lost)),
    )


def _beside(history: History, alike: list[_Beside]) -> Hit:
    """Tell of one line that keeps one term or several from what others train."""
    first = alike[0]
    account, term, node = first.account, first.term, first.node
    lost = set[int]().union(*(each.lost for each in alike))
    names = dict.fromkeys(words(history, each.account, each.term) for each in alike)
    return Hit(
        f"{learning.listed(history, lost)} learn nothing from "
        f"{learning.joined(names)}, only from other terms of the loss: "
        f"{_said(history, node)}.",
        node.site,
        _fix(history, node),
        edit=_edit(history, node),
        symptom=account.backward.site,
        related=(Related("the term", term.site),),
        nodes=(node.key,),
        tensors=tuple(sorted(lost)),
        certainty=0.8,
    )


def _edit(history: History, node: Node) -> Remedy | None:
    if not _is_draw(node):
        return straight_through(node.site)
    call = history.maker(node)
    apart = call is not None and len(call.inputs) > 1  # a mean and a spread
    return scaled_noise(node.site) if apart else None


def _fix(history: History, node: Node) -> str:
    if not _is_draw(node):
        divided = node.name.startswith("Div")
        x = "exact" if divided else operand_text(history, node.site) or "x"
        of_what = ", of the `exact` quotient" if divided else ""
        return (
            f"Use a straight-through estimator{of_what}: "
            f"`{x} + (torch.{_step(history, node)}({x}) - {x}).detach()`."
        )
    if _edit(history, node) is None:
        return "Use a loss with `log_prob()` of what was drawn."
    return (
        "Draw noise without parameters and scale it: mean + spread * noise, as "
        "`rsample()` of a distribution does."
    )
