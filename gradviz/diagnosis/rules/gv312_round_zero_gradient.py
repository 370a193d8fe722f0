"""``round``, ``sign`` or a random draw turns every gradient behind it into zeros.

What it does
    Finds nodes whose derivative is zero everywhere (``round``, ``floor``, ``ceil``,
    ``sign``, draws such as ``torch.normal(mean, std)``) that are the only way from a
    root to a leaf.

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

from gradviz.diagnosis.rule import Hit, Rule
from gradviz.diagnosis.rules import _leaves
from gradviz.program.events import Backward
from gradviz.program.history import History
from gradviz.program.values import Node

_STEPS = ("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Fix", "Heaviside")
_DRAWS = ("Normal", "Bernoulli", "Poisson", "Uniform", "Exponential")
_FLAT = (*_STEPS, *_DRAWS)


def _check(history: History) -> Iterator[Hit]:
    if not any(_is_flat(node) for node in history.program.nodes.values()):
        return
    walks = [(each, *_walk(history, each)) for each in history.backwards if each.nodes]
    moved = {leaf for _, reached, _ in walks for leaf in reached}
    wanted = _leaves.wanted(history)
    for backward, _, flat in walks:
        for node in flat:
            nodes = history.reach([node.key]).values()
            behind = {each.leaf for each in nodes if each.leaf is not None}
            lost = behind - moved if wanted is None else (behind - moved) & wanted
            if lost:
                yield _hit(history, backward, node, lost)


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


def _is_flat(node: Node) -> bool:
    return node.custom is None and node.name.split("Backward")[0] in _FLAT


def _hit(history: History, backward: Backward, node: Node, lost: set[int]) -> Hit:
    names = _leaves.listed(history, lost)
    name = node.name.split("Backward")[0]
    fix = f"`x + (torch.{name.lower()}(x) - x).detach()`"
    fix = f"Use a straight-through estimator: {fix}."
    if name in _DRAWS:
        fix = (
            "Scale noise that was drawn without parameters: `mean + std * "
            "torch.randn_like(std)`, or `rsample()` of a distribution; where there is "
            "none, use a loss with `log_prob(sample)`."
        )
    return Hit(
        f"{node.name} has derivative 0 everywhere: the gradient of {names} is exactly "
        "zero, although the graph is connected.",
        node.site,
        fix,
        symptom=backward.site,
        nodes=(node.key,),
        tensors=tuple(sorted(lost)),
    )


RULE = Rule("GV312", "round-zero-gradient", "warning", _check)
