"""Two results share a part of the graph, and the first one's pass frees it.

What it does
    Finds two results with a common part of the graph, each with a backward pass of its
    own, where the first pass freed that part. Where the program keeps that part, and
    asks whether it has it already, it names the line that asks.

Why is this bad
    The second pass fails in the shared part. Had it been retained, an optimizer step
    between the passes would make its saved tensors stale.

Example
    ::

        h = trunk(x)
        head_a(h).mean().backward()
        head_b(h).mean().backward()

Use instead
    ::

        h = trunk(x)
        (head_a(h).mean() + head_b(h).mean()).backward()

When it stays quiet
    Where the first pass was given ``retain_graph=True``, where the trunk saves nothing,
    or where it runs once for each result.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.dependence.learning import steps
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._freed import (
    SecondPass,
    reused,
    second_passes,
    steps_between,
    walked_by,
)
from gradviz.diagnosis.rules._lifetime import (
    describe,
    first_difference,
    loop_site,
    name_of,
)
from gradviz.program import Backward, History, Node, RawSite

_SHORT = 60  # characters of an expression that a fix writes out
_ANEW = "Compute it anew for each pass that is to train it, or detach() what is kept."


@rule("GV202", "shared-trunk-two-backwards", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pass that failed in a part it shares with another result."""
    for found in history.once(second_passes):
        if found.reason != "shared trunk":
            continue
        freeing = first_difference(found.first, found.second)
        cached = reused(history, found)
        trunks = _trunks(history, found)
        site, name = _separated(history, found, trunks) or (None, "")
        culprit = site or cached or freeing
        one = name_of(history, found.first.roots[0], "One result")
        other = name_of(history, found.second.roots[0], "another")
        if one == other or same_line(culprit, found.second.site):
            one, other = "The result of the turn before", "that of this turn"
        roots = found.first.roots[0], found.second.roots[0]
        names = [one, other] if one[:1] == other[:1] == "`" else ["loss_a", "loss_b"]
        added = " + ".join(each.strip("`") for each in names)
        once = f"Add the results and call backward() once: `({added}).backward()`."
        if roots[0].tensor in history.behind([roots[1]], found.second.index):
            once = f"Call backward() once, on {other}: {one} is in it already."
        trunk = trunks[0] if found.crossing else found.freed
        yield Hit(
            f"{one} and {other} are both computed from "
            f"{_shared(history, trunk)}. The backward pass in "
            f"{history.line(freeing)} freed the graph of that, so the one in "
            f"{history.line(found.second.site)} fails.",
            culprit,
            _ANEW
            if culprit == cached
            else _fix(history, found, site, name or _name(history, trunk), once),
            symptom=found.second.site,
            related=(
                Related("first pass", freeing if culprit != freeing else None),
                Related("second pass", found.second.site),
                Related("shared", trunk.site),
                Related("freed by then", found.freed.site),
            ),
            nodes=(trunk.key, found.freed.key),
            explains=history.ended_by(found.second),
            edit=None
            if culprit == cached or steps_between(history, found)
            else with_keyword(freeing, "retain_graph", "True", of=("backward", "grad")),
        )


def _separated(
    history: History, found: SecondPass, trunks: list[Node]
) -> tuple[RawSite | None, str] | None:
    """Return where one result takes what only the other one is to train, and as what.

    The second does so where an optimizer stepped the shared part in between, and
    another one has parameters that the second pass is for, and none of that part. The
    first does so where the step in between was of none of it, and another's will be.
    """
    shared = history.leaves_behind([trunk.key for trunk in trunks])
    rest = set(found.second.leaves) - shared
    since = min(trunk.call or found.first.index for trunk in trunks)
    between = range(min(since, found.first.index), found.second.index)
    stepped = {each.optimizer for each in steps(history) if each.index in between}
    given = {k: set(each.tensors) for k, each in history.program.optimizers.items()}
    first = [given[key] for key in stepped & given.keys()]
    second = [each for key, each in given.items() if key not in stepped]
    if any(each & shared for each in first):
        own = [each & rest for each in second if each & rest and not each & shared]
        return _taken(history, found.second, trunks, own) if own else None
    meant = first and any(each & shared for each in second)
    return _taken(history, found.first, trunks, first) if meant else None


def _taken(
    history: History, backward: Backward, trunks: list[Node], own: list[set[int]]
) -> tuple[RawSite | None, str] | None:
    """Return where the graph of a pass meets a shared part, and the name of that.

    The shared part goes as far as what is computed has nothing that the pass is for.
    """
    graph, learnt = _graph(history, backward), set[int]().union(*own)
    users: dict[int, list[int]] = {}
    for key, node in graph.items():
        for below in _below(node):
            users.setdefault(below, []).append(key)
    at = next((trunk.key for trunk in trunks if users.get(trunk.key)), None)
    if at is None:
        return None
    start, above = at, users[at][0]
    while users.get(above) and not history.leaves_behind([above]) & learnt:
        at, above = above, users[above][0]
    node = graph[above if at == start else at]
    maker = history.maker(node)
    site = None if maker is None else loop_site(history, maker)
    return site, _name(history, graph[at])


def _name(history: History, node: Node) -> str:
    """Return what the program calls the result of a node, or nothing."""
    maker = history.maker(node)
    made = () if maker is None else maker.outputs
    names = [name_of(history, each, "") for each in made if each.node == node.key]
    return names[0].strip("`") if names and names[0] else ""


def _shared(history: History, trunk: Node) -> str:
    """Return what two results were computed from: "`tiles` (line 40)"."""
    name = _name(history, trunk)
    made = describe(history, trunk)
    return f"`{name}` ({history.line(trunk.site)})" if name else made


def _trunks(history: History, found: SecondPass) -> list[Node]:
    """Return the nodes of both graphs that each of them takes the results of."""
    cross = found.crossing
    if cross is not None and cross.node.key in walked_by(history, found.first):
        return [cross.node]
    one, other = (_graph(history, each) for each in (found.first, found.second))
    both = one.keys() & other.keys()
    inner = {key for each in both for key in _below(one[each])}
    tops = [one[key] for key in both - inner if one[key].leaf is None]
    return tops or [found.freed]


def _graph(history: History, backward: Backward) -> dict[int, Node]:
    return history.reach(backward.root_nodes)


def _below(node: Node) -> set[int]:
    return {edge[0] for edge in node.next if edge is not None}


def _fix(
    history: History,
    found: SecondPass,
    site: RawSite | None,
    shared: str,
    once: str,
) -> str:
    """Return how to part the graphs, or how to walk them together.

    With an optimizer step in between they are two losses for two sets of parameters,
    and adding them would train both sets with both.
    """
    if not steps_between(history, found):
        one, other = found.first.site, found.second.site
        if one and other and one[0] is not other[0]:  # neither has both losses
            return (
                f"Give the first call `retain_graph=True` "
                f"({history.line(found.first.site)}), with no optimizer step before "
                "the last one; or detach() the shared tensor for one of them."
            )
        return (
            f"{once} Or give the first call `retain_graph=True`, with no optimizer "
            "step before the last one; or detach() the shared tensor for one of them."
        )
    if site is not None:
        taken = _detached(history, site, shared)
        return (
            f"Write {taken} in {history.line(site)}: the loss that is computed there "
            "is not to train what is behind it."
        )
    detached = f"`{shared}.detach()`" if shared else "a detach() of what they share"
    return (
        "An optimizer steps between the two passes, so each needs a graph of its own: "
        f"compute the loss that is not to train the shared part from {detached}."
    )


def _detached(history: History, site: RawSite, shared: str) -> str:
    """Return the expression of a line with what is shared detached in it."""
    text = history.text(site)
    parts = re.split(rf"(?<![\w.]){re.escape(shared)}(?![\w.(])", text)
    if not shared or len(parts) != 2 or len(text) > _SHORT:
        return f"`{shared or '…'}.detach()`"
    return f"`{parts[0]}{shared}.detach(){parts[1]}`"
