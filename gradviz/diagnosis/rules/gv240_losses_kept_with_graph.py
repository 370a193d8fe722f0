"""A list of losses keeps the graph of every step alive.

What it does
    Finds losses of at least three backward passes that a list, dict or attribute of the
    program still holds at the end, each with what is left of its graph.

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

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import keeps
from gradviz.diagnosis.rules._lifetime import (
    frames,
    line_of,
    makers,
    passes_through,
)
from gradviz.program import Call, History, RawSite

_LEAST = 3  # kept losses


@rule("GV240", "losses-kept-with-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    for calls in history.once(_kept).values():
        found = next(filter(None, (_stored(history, each) for each in calls)), None)
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
    """Return the calls of each line whose losses are alive, passed once and done."""
    made_by, found = history.once(makers), defaultdict[object, list[Call]](list)
    for backward in history.backwards:
        for root in backward.roots:
            facts = history.program.tensors.get(root.tensor)
            call = made_by.get(root.node or 0)
            if facts is None or not facts.alive or call is None or call.site is None:
                continue
            if len(passes_through(history, call.nodes[-1])) == 1:
                found[line_of(call.site)].append(call)
    return found


def _grows(history: History, call: Call) -> bool:
    """Return whether another graph was built on a loss after its pass."""
    over = passes_through(history, call.nodes[-1])[-1].index
    uses = (use for value in call.outputs for use in history.uses(value.tensor))
    return any(use.nodes and use.index > over for use in uses)


def _stored(history: History, call: Call) -> tuple[RawSite, str, int] | None:
    """Return the statement that keeps what a call made: site, text and line."""
    assert call.site is not None
    names, file = set[str](), call.site[0].co_filename
    for site in frames(call):
        if site[0].co_filename != file:
            continue
        statement = history.places.statement(site)
        if statement is not None and keeps(statement, None):
            return site, ast.unparse(statement), statement.lineno
        names.update(history.places.targets(site))
    tree = history.places.tree(file)
    for each in [] if tree is None else ast.walk(tree):
        if isinstance(each, ast.stmt) and keeps(each, names):
            site = history.places.at_line(call.site[0], each.lineno)
            return site, ast.unparse(each), each.lineno
    return None
