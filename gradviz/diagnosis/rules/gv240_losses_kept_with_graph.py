"""A list of losses keeps the graph of every step alive.

What it does
    Finds losses of at least three backward passes that a list, dict or attribute of the
    program still holds at the end, or held until another graph was built on them, each
    with what is left of its own.

Why is this bad
    A pass frees what its nodes saved, not the nodes: every kept loss holds a chain of
    them down to the parameters, with whatever custom Functions and hooks keep. Memory
    grows with each step, and adding the losses up later builds one more graph.

Example
    ::

        loss.backward()
        history.append(loss)

Use instead
    ::

        loss.backward()
        history.append(loss.item())

When it stays quiet
    Where one or two are kept, numbers or detached losses, and losses that a later pass
    starts from together. It is an information only where no other graph is built on
    them: what is left of theirs is small.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._kept import put_away
from gradviz.diagnosis.rules._lifetime import makers, passes_through
from gradviz.program import Call, History

_LEAST = 3  # kept losses


@rule("GV240", "losses-kept-with-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    for calls in history.once(_kept).values():
        found = next(filter(None, (put_away(history, each) for each in calls)), None)
        if len(calls) < _LEAST or found is None:
            continue
        site, code, line = found
        yield Hit(
            f"`{code}` keeps {len(calls)} losses with what is left of their graphs, "
            f"although the passes through them are over: one more with each step.",
            site,
            "Keep it without its graph, `.detach()`, or as a number, `.item()`.",
            edit=kept_without_graph(
                site,
                history.places.targets(calls[-1].site),
                line,
            ),
            line=line,
            symptom=calls[-1].site,
            related=(Related("made here", calls[-1].site),),
            nodes=tuple(call.nodes[-1] for call in calls),
            severity=None if any(_grows(history, each) for each in calls) else "info",
            certainty=0.5,
        )


def _kept(history: History) -> dict[object, list[Call]]:
    """Return the calls of each line whose losses were kept, passed once and done."""
    made_by, found = history.once(makers), defaultdict[object, list[Call]](list)
    for backward in history.backwards:
        for root in backward.roots:
            facts = history.program.tensors.get(root.tensor)
            call = made_by.get(root.node or 0)
            if facts is None or not facts.alive or call is None or call.site is None:
                continue
            if len(passes_through(history, call.nodes[-1])) == 1:
                found[line_of(call.site)].append(call)
    for line, spans in _used_later(history).items():
        found[line] = found[line] or _at_once(spans)
    return found


_Span = tuple[int, int]  # the pass that was through with a loss, and its last use


def _used_later(history: History) -> dict[object, dict[Call, _Span]]:
    """Return, by line, the losses that a graph is built on when their pass is over.

    They may all be gone at the end: with the function that had the list.
    """
    made_by = history.once(makers)
    found = defaultdict[object, dict[Call, _Span]](dict)
    for use in history.calls:
        for value in use.inputs if use.nodes else ():
            made = made_by.get(value.node or 0)
            if made is None or made.site is None or math.prod(value.shape) != 1:
                continue
            over = _over(history, made)
            if over is not None and over < use.index:
                found[line_of(made.site)][made] = over, use.index
    return found


def _over(history: History, made: Call) -> int | None:
    """Return the only pass through a loss, or through that of which it is a multiple.

    The multiple, of a loss and a batch's size perhaps, was made when that was over.
    """
    passes = passes_through(history, made.nodes[-1]) if made.nodes else []
    if not passes:
        made_by = history.once(makers)
        known = [made_by.get(each.node or 0) for each in made.inputs]
        behind = [each for each in known if each is not None and each.nodes]
        if len(behind) == 1:
            passes = passes_through(history, behind[0].nodes[-1])
            passes = [each for each in passes if each.index < made.index]
    return passes[0].index if len(passes) == 1 else None


def _at_once(spans: dict[Call, _Span]) -> list[Call]:
    """Return the most losses that were kept at one time."""
    waiting, most = list[Call](), list[Call]()
    for call, (over, _) in sorted(spans.items(), key=lambda row: row[1]):
        waiting = [each for each in waiting if spans[each][1] > over] + [call]
        most = max(most, waiting, key=len)
    return most


def _grows(history: History, call: Call) -> bool:
    """Return whether another graph was built on a loss after its pass."""
    over = _over(history, call) or 0
    uses = (use for value in call.outputs for use in history.uses(value.tensor))
    return any(use.nodes and use.index > over for use in uses)
