"""A forward hook puts every output away with its graph.

What it does
    Finds forward hooks that append what a module gave, or what they make of it, to a
    list or store it in a dict, where that of at least three passes, and of half of all,
    was alive at once.

Why is this bad
    Each output holds its memory and the graph down to the parameters. Memory grows with
    every batch, though the passes through it are over.

Example
    ::

        def hook(module, inputs, output):
            outputs.append(output)

Use instead
    ::

        def hook(module, inputs, output):
            outputs.append(output.detach())

When it stays quiet
    Hooks that keep the last outputs only, or detached ones, and lists that the program
    clears now and then. A short run whose list is gone at its end. Hooks that one line
    registered again and again, which GV815 names.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
from bisect import bisect
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence.nesting import calls_in, calls_of
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import put_away_by
from gradviz.program import History, HookRegistered, Value

_LEAST = 3  # backward passes that outputs alive are from


@rule("GV242", "hook-keeps-outputs", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per hook that keeps what it is given."""
    told = set[object]()
    hooks = history.of(HookRegistered)
    there = Counter((e.code, e.target, e.site) for e in hooks if not e.removed)
    for hook in hooks:
        again = there[hook.code, hook.target, hook.site] > 1  # GV815
        known = again or hook.code in told
        statement = None if known else put_away_by(history, hook, True)
        alive = [] if statement is None else _alive(history, hook)
        if statement is None or hook.code is None or not _grows(history, alive):
            continue
        told.add(hook.code)
        site = history.places.at_line(hook.code, statement.lineno)
        made = history.producer(alive[-1])
        yield Hit(
            f"Memory grows with each step: the forward hook stores a tensor with its "
            f"graph in `{ast.unparse(statement)}`, so the graph of every forward pass "
            f"stays alive. {len(alive)} were alive at once in what was recorded.",
            site,
            "Store `.detach()` of it, or a number.",
            symptom=made and made.site,
            related=(Related("hook registered here", hook.site),),
            tensors=tuple(value.tensor for value in alive),
            line=statement.lineno,
            edit=kept_without_graph(site, (), statement.lineno),
            certainty=0.7,
        )


def _alive(history: History, hook: HookRegistered) -> list[Value]:
    """Return what was alive with its graph of what a hook got and made, one per call.

    Nothing where that is the smaller part: then older ones are let go.
    """
    made: list[list[Value]] = []
    for around in calls_of(history).get(hook.target, ()):
        calls = [each for each in calls_in(history, around) if each.outputs]
        own = [each for each in calls if each.site and each.site[0] is hook.code]
        given = [v for each in (*calls[-1:], *own) for v in each.outputs if v.node]
        made += [given] if given else []
    most: list[Value] = []
    for alive in history.program.together:
        kept = ([each for each in given if each.tensor in alive] for given in made)
        most = max(most, [each[-1] for each in kept if each], key=len)
    return most if 2 * len(most) >= len(made) else []


def _grows(history: History, alive: list[Value]) -> bool:
    """Return whether what is alive comes from several passes, not from the last one."""
    ends = [each.index for each in history.backwards]
    made = filter(None, (history.producer(value) for value in alive))
    return len({bisect(ends, call.index) for call in made}) >= _LEAST
