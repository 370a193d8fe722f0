"""``round``, ``sign`` or a random draw turns every gradient behind it into zeros.

What it does
    Finds nodes whose derivative is zero everywhere (``round``, ``floor``, ``ceil``,
    ``sign``, draws such as ``torch.normal(mean, std)``) that are the only way from a
    root to a leaf. A draw that feeds a layer, beside another way to what it is drawn
    from, is an information only: a loss of its own may be all that these are to get.

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
    Straight-through estimators, and rounding beside a path that carries a gradient.

References
    https://arxiv.org/abs/1308.3432
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.calls import straight_through
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import Backward, History, Node

_STEPS = ("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Fix", "Heaviside")
_DRAWS = ("Normal", "Bernoulli", "Poisson", "Uniform", "Exponential")
_FLAT = (*_STEPS, *_DRAWS)
_LAYERS = ("Addmm", "Mm", "Convolution", "Linear")
_TURNS = ("TBackward", "TransposeBackward", "PermuteBackward")


@rule("GV312", "round-zero-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    if not any(_is_flat(node) for node in history.program.nodes.values()):
        return
    walks = [(each, *_walk(history, each)) for each in history.backwards if each.nodes]
    moved = {leaf for _, reached, _ in walks for leaf in reached}
    wanted = learning.wanted(history)
    for backward, _, flat in walks:
        for node in flat:
            nodes = history.reach([node.key]).values()
            behind = {each.leaf for each in nodes if each.leaf is not None}
            lost = behind - moved if wanted is None else (behind - moved) & wanted
            if lost:
                yield _hit(history, backward, node, lost)
            elif wanted is not None and _is_draw(node):
                fed = _fed(history, backward, node)
                if _learn_together(history, behind, fed):
                    yield _beside(history, backward, node, behind & wanted, fed)


def _walk(history: History, backward: Backward) -> tuple[set[int], list[Node]]:
    """Return the leaves that a gradient reaches, and the flat nodes that stop it."""
    waiting = [root.node for root in backward.roots if root.node is not None]
    leaves: set[int] = set()
    flat: list[Node] = []
    seen: set[int] = set()
    while waiting:
        key = waiting.pop()
        node = history.node(key)
        if key in seen or node is None:
            continue
        seen.add(key)
        if _is_flat(node):
            flat.append(node)
            continue
        if node.leaf is not None:
            leaves.add(node.leaf)
        waiting += [edge[0] for edge in node.next if edge is not None]
    return leaves, flat


def _fed(history: History, backward: Backward, draw: Node) -> set[int]:
    """Return the weights of the layers between a draw and the root of a pass."""
    above, found = {draw.key}, set[int]()
    # A node is younger than what it was made from.
    for key in sorted(key for key in backward.nodes if key > draw.key):
        node = history.node(key)
        edges = [] if node is None else [edge[0] for edge in node.next if edge]
        if node is None or above.isdisjoint(edges):
            continue
        above.add(key)
        if node.name.startswith(_LAYERS):
            near = [history.node(edge) for edge in edges if edge != draw.key]
            near += [
                history.node(edge[0])
                for each in near
                if each is not None and each.name.startswith(_TURNS)
                for edge in each.next
                if edge is not None
            ]
            found |= {each.leaf for each in near if each and each.leaf is not None}
    return found


def _learn_together(history: History, behind: set[int], fed: set[int]) -> bool:
    """Tell whether one optimizer has both: a policy and its critic have one each."""
    given = [set(each.tensors) for each in history.program.optimizers.values()]
    return any(each & behind and each & fed for each in given)


def _is_draw(node: Node) -> bool:
    return node.custom is None and node.name.split("Backward")[0] in _DRAWS


def _is_flat(node: Node) -> bool:
    return node.custom is None and node.name.split("Backward")[0] in _FLAT


def _hit(history: History, backward: Backward, node: Node, lost: set[int]) -> Hit:
    names = learning.listed(history, lost)
    return Hit(
        f"{node.name} has derivative 0 everywhere: the gradient of {names} is exactly "
        "zero, although the graph is connected.",
        node.site,
        _fix(node),
        edit=None if _is_draw(node) else straight_through(node.site),
        symptom=backward.site,
        nodes=(node.key,),
        tensors=tuple(sorted(lost)),
    )


def _beside(
    history: History, backward: Backward, node: Node, behind: set[int], fed: set[int]
) -> Hit:
    return Hit(
        f"{node.name} has derivative 0 everywhere. What it draws feeds "
        f"{learning.listed(history, fed)}, but no gradient comes back through it to "
        f"{learning.listed(history, behind)}: these learn from the other terms of the "
        "loss alone.",
        node.site,
        _fix(node),
        severity="info",
        symptom=backward.site,
        nodes=(node.key,),
        tensors=tuple(sorted(behind)),
        certainty=0.5,
    )


def _fix(node: Node) -> str:
    name = node.name.split("Backward")[0]
    fix = f"`x + (torch.{name.lower()}(x) - x).detach()`"
    if not _is_draw(node):
        return f"Use a straight-through estimator: {fix}."
    return (
        "Scale noise that was drawn without parameters: `mean + std * "
        "torch.randn_like(std)`, or `rsample()` of a distribution; where there is "
        "none, use a loss with `log_prob(sample)`."
    )
