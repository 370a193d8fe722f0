"""A forward hook puts every output away with its graph.

What it does
    Finds forward hooks that append what a module gave to a list or store it in a dict,
    where the outputs of at least three passes are alive at the end.

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
    Hooks that keep the last output only, or a detached one, and lists that the program
    clears before the next pass.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
from bisect import bisect
from collections.abc import Iterator

from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import keeps
from gradviz.program import History, HookRegistered, ModuleCall, Value

_LEAST = 3  # backward passes that outputs alive are from


@rule("GV242", "hook-keeps-outputs", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per hook that keeps what it is given."""
    told = set[object]()
    for hook in history.of(HookRegistered):
        stored = None if hook.code in told else _stored(history, hook)
        alive = [] if stored is None else _alive(history, hook.target)
        if stored is None or hook.code is None or not _grows(history, alive):
            continue
        told.add(hook.code)
        made = history.producer(alive[-1])
        yield Hit(
            f"`{ast.unparse(stored)}` in a forward hook keeps {len(alive)} outputs "
            "with their graphs, one more with each forward pass: their memory is never "
            "given back.",
            history.places.at_line(hook.code, stored.lineno),
            "Keep `output.detach()`, or the number that is wanted, and clear the list "
            "where it has been read.",
            symptom=made and made.site,
            related=(Related("hook registered here", hook.site),),
            tensors=tuple(value.tensor for value in alive),
            line=stored.lineno,
            edit=kept_without_graph(
                history.places.at_line(hook.code, stored.lineno), (), stored.lineno
            ),
            certainty=0.7,
        )


def _stored(history: History, hook: HookRegistered) -> ast.stmt | None:
    """Return the statement of a forward hook that puts its output away."""
    if hook.kind != "module_forward" or hook.code is None:
        return None
    function = history.places.function(hook.code)
    if function is None or not function.args.args or isinstance(function, ast.Lambda):
        return None
    output = function.args.args[-1].arg
    inside = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
    return next((each for each in inside if keeps(each, {output})), None)


def _alive(history: History, module: int | None) -> list[Value]:
    """Return what a module gave, one for each call, that is alive with its graph."""
    found: list[Value] = []
    for call in history.of(ModuleCall):
        if call.module != module or call.left is None:
            continue
        inside = (history.call_at(index) for index in range(call.index, call.left))
        made = [v for each in inside if each is not None for v in each.outputs]
        facts = history.program.tensors.get(made[-1].tensor) if made else None
        if made and made[-1].node and facts is not None and facts.alive:
            found.append(made[-1])
    return found


def _grows(history: History, alive: list[Value]) -> bool:
    """Return whether what is alive comes from several passes, not from the last one."""
    ends = [each.index for each in history.backwards]
    made = filter(None, (history.producer(value) for value in alive))
    return len({bisect(ends, call.index) for call in made}) >= _LEAST
