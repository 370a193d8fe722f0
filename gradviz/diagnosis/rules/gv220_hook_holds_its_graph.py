"""A hook holds a tensor whose graph holds the hook.

What it does
    Finds hooks whose function holds, through its closure, a tensor that was computed
    from the very tensor or node that the hook sits on, or that tensor itself.

Why is this bad
    The tensor keeps its graph alive, the graph keeps the hook, the hook keeps the
    tensor: a cycle through memory that the garbage collector cannot see. Every call of
    the function leaks its graph.

Example
    ::

        def forward(self, x):
            h = self.body(x)
            h.register_hook(lambda g: print(h.shape, g.norm()))

Use instead
    ::

        def forward(self, x):
            h = self.body(x)
            shape = h.shape
            h.register_hook(lambda g: print(shape, g.norm()))

When it stays quiet
    Where the hook was removed, where it holds only leaves or detached tensors, and
    where the graph that it holds is another one: that of a detached copy.

References
    https://docs.python.org/3/library/gc.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import graph_behind, made_at, makers, name_of
from gradviz.program import History, HookRegistered, Value


@rule("GV220", "hook-holds-its-graph", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per hook that keeps its own graph alive."""
    for event in history.of(HookRegistered):
        if event.removed:
            continue
        for held in event.holds:
            if held.node is not None and _leads_to_hook(history, held, event):
                name = name_of(history, held, "a tensor")
                yield Hit(
                    f"The hook holds {name}, whose graph holds the hook: a cycle that "
                    "is never freed. Every time this line runs, a graph stays in "
                    "memory.",
                    event.site,
                    f"Take what the hook needs out of {name} beforehand (its shape, a "
                    "name, .detach()), or remove the hook after the backward pass.",
                    related=(Related("made here", made_at(history, held)),),
                    tensors=(held.tensor,),
                )
                break


def _leads_to_hook(history: History, held: Value, event: HookRegistered) -> bool:
    nodes = history.reach([] if held.node is None else [held.node])
    if event.value is None:
        return event.target in nodes
    if event.value.node is None:
        return any(node.leaf == event.value.tensor for node in nodes.values())
    if not nodes:  # no pass walked them: what the calls made, and no way round a cut
        maker = history.once(makers).get(held.node or 0)
        return maker is not None and event.value.node in graph_behind(history, [maker])
    return event.value.node in nodes
