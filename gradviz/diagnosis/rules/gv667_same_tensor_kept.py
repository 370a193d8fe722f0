"""A list keeps one tensor many times, which is changed in place in between.

What it does
    Finds ``stack`` and ``cat`` of one and the same tensor, which was written in place
    from turn to turn and put into a list in between.

Why is this bad
    A list keeps the tensor, not what it held at that moment. All entries are the last
    state: a replay memory or a history of one moment.

Example
    ::

        for _ in range(100):
            state += move(state)
            memory.append(state)
        batch = torch.stack(memory)

Use instead
    ::

        memory.append(state.clone())

When it stays quiet
    A tensor that is repeated on purpose, ``[x] * 4``, and one that nobody writes.

References
    https://pytorch.org/docs/stable/generated/torch.clone.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import keeps
from gradviz.diagnosis.rules._lifetime import frames
from gradviz.program import Call, History, RawSite

_JOINING = words("stack cat concat concatenate vstack")


@rule("GV667", "same-tensor-kept", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that joins one tensor with itself."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) not in _JOINING or len(call.inputs) < 2 or call.site in told:
            continue
        first = call.inputs[0]
        if any(each.tensor != first.tensor for each in call.inputs):
            continue
        writes = [each for each, _ in history.writes(first.storage, before=call.index)]
        if len(writes) > 1:
            told.add(call.site)
            kept = _kept_at(history, writes[-1])
            if kept is not None:
                yield _hit(history, call, writes[-1], *kept)


def _kept_at(history: History, write: Call) -> tuple[RawSite, str] | None:
    """Return the line that puts what is written into a list, and its name."""
    for site in frames(write):
        names = set(history.places.targets(site))
        tree = history.places.tree(site[0].co_filename) if names else None
        for each in [] if tree is None else ast.walk(tree):
            if isinstance(each, ast.stmt) and keeps(each, names):
                name = next(iter(names))
                return history.places.at_line(site[0], each.lineno), name
    return None


def _hit(history: History, call: Call, write: Call, kept: RawSite, name: str) -> Hit:
    return Hit(
        f"`{history.text(call.site)}` ({history.line(call.site)}) joins "
        f"{len(call.inputs)} times the same tensor: `{name}` is put away as it is, and "
        f"`{history.text(write.site)}` ({history.line(write.site)}) changes it in "
        "place, in every entry.",
        kept,
        f"Keep a copy: `{name}.clone()`.",
        symptom=call.site,
        related=(
            Related("changed in place here", write.site),
            Related("joined here", call.site),
        ),
        tensors=(call.inputs[0].tensor,),
        certainty=0.9,
    )
