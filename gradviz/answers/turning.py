"""Where on its way to a leaf a gradient turned into zeros, or grew, or shrank."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from gradviz.answers.answer import Step
from gradviz.answers.run import Run
from gradviz.dependence.op_families import function_of
from gradviz.diagnosis.gradient_flow import norm_of
from gradviz.program import Backward, Node, NodeRun
from gradviz.text.words import number

_FEW = 3  # nodes that are named
_FLAT = frozenset(
    ("round", "floor", "ceil", "trunc", "sign", "sgn", "heaviside", "frac")
)


def zero(run: Run, tensor: int, backward: Backward) -> list[Step]:
    """Tell where a gradient became zeros, going back from a leaf."""
    steps: list[Step] = []
    for node, before in _turned(run, tensor, backward):
        name = function_of(node.name)
        why = _reason(run, node, name)
        words = (
            f"A gradient of norm {number(before)} came to `{name}` "
            f"{run.at(node.site)}, and nothing but zeros left it{why}."
        )
        steps.append(run.step("gate", words, node.site, decision=not steps))
        if len(steps) == _FEW:
            break
    if not steps:
        words = f"The pass in {run.line(backward.site)} began with zeros already."
        steps.append(run.step("pass", words, event=backward))
    return steps


def _reason(run: Run, node: Node, name: str) -> str:
    if name in _FLAT:
        return ": its derivative is zero everywhere"
    if node.custom is not None:
        return f": that is what the `backward` of {node.custom.name} answers"
    if name in ("relu", "threshold", "hardtanh", "clamp", "clamp_min", "clamp_max"):
        return ": no element of its input lies where it lets a gradient through"
    if name in ("sigmoid", "tanh", "softmax", "log_softmax"):
        return ": it is saturated"
    factors = [
        saved.value
        for saved in node.saved
        if saved.value.summary is not None
        and saved.value.summary.count == saved.value.summary.zeros
    ]
    if name == "mul" and factors:
        return f": {run.history.name(factors[0], 'the other factor')} is all zeros"
    return ""


def _turned(run: Run, tensor: int, backward: Backward) -> Iterator[tuple[Node, float]]:
    """Yield the nodes that took something and gave zeros, on the ways to a leaf."""
    runs = {each.node: each for each in backward.runs}
    users = _users(run, runs)
    waiting = [key for key in runs if _leaf(run, key) == tensor]
    seen = set(waiting)
    for key in waiting:
        for user in users.get(key, ()):
            if user in seen:
                continue
            seen.add(user)
            node, incoming = run.history.node(user), norm_of(runs[user].incoming)
            if node is not None and incoming is not None and incoming > 0:
                yield node, incoming
            else:
                waiting.append(user)


def _leaf(run: Run, key: int) -> int | None:
    node = run.history.node(key)
    return None if node is None else node.leaf


def _users(run: Run, runs: dict[int, NodeRun]) -> dict[int, list[int]]:
    """Map each node of a pass to those that hand it their gradient."""
    users: dict[int, list[int]] = defaultdict(list)
    for key in runs:
        node = run.history.node(key)
        for edge in () if node is None else node.next:
            if edge is not None:
                users[edge[0]].append(key)
    return users


def size(run: Run, tensor: int, backward: Backward, *, decide: bool) -> list[Step]:
    """Tell where on one way to a leaf the norm of a gradient changed most."""
    runs = {each.node: each for each in backward.runs}
    users = _users(run, runs)
    key = next((each for each in runs if _leaf(run, each) == tensor), None)
    best, at = 0.0, None
    seen: set[int] = set()
    while key is not None and key not in seen:
        seen.add(key)
        above = [each for each in users.get(key, ()) if each not in seen]
        key = max(
            above, key=lambda each: norm_of(runs[each].incoming) or 0.0, default=None
        )
        change = 0.0 if key is None else _change(runs[key])
        if key is not None and abs(change) > abs(best):
            best, at = change, key
    node = run.history.node(at)
    if node is None or at is None:
        return []
    before, after = norm_of(runs[at].incoming), norm_of(runs[at].outgoing)
    words = (
        f"Most of it happens at `{function_of(node.name)}` {run.at(node.site)}: a norm "
        f"of {number(before or 0.0)} came in and {number(after or 0.0)} went on."
    )
    return [run.step("gate", words, node.site, decision=decide)]


def _change(ran: NodeRun) -> float:
    before, after = norm_of(ran.incoming), norm_of(ran.outgoing)
    if not before or not after:
        return 0.0
    return math.log(after) - math.log(before)
