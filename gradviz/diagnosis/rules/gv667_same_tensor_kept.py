"""A list keeps one tensor many times, which is changed in place in between.

What it does
    Finds ``stack`` and ``cat`` of one and the same tensor, or of views of all of it as
    ``detach()`` gives them, which was written in place from turn to turn and put into a
    list in between.

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
    A tensor that is repeated on purpose, ``[x] * 4``, or was before it was written, and
    one that nobody writes from turn to turn.

References
    https://pytorch.org/docs/stable/generated/torch.clone.html
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence.op_families import JOINS, plain
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.decisions.keeping import put_into
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History


@rule("GV667", "same-tensor-kept", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that joins one tensor with itself."""
    asked = set[object]()  # calls, by their callers, which not all know; memories
    meant: dict[object, int] = {}  # memories that were joined before they were written
    for call in history.calls:
        if plain(call.op) not in JOINS or len(call.inputs) < 2 or call.frames in asked:
            continue
        memory, count = _memory(call), len(call.inputs)
        if memory is None or memory in asked:
            continue
        storage = call.inputs[0].storage
        writes = [each for each, _ in history.writes(storage, before=call.index)]
        turns = Counter(each.site for each in writes)
        if max(turns.values(), default=0) < 2:
            meant[memory] = max(count, meant.get(memory, 0))
        elif count > meant.get(memory, 0) and _is_taken_over_time(history, call):
            asked.add(call.frames)
            kept = _kept(history, call)
            if kept is not None:
                asked.add(memory)
                out = _handed_out(history, kept, writes[-1])
                yield _hit(history, call, writes[-1], out or kept)


def _memory(call: Call) -> object:
    """Return what all that a call joins has in common, as views of it do, or None."""
    found = {(e.storage, e.offset, e.shape, e.strides) for e in call.inputs}
    return found.pop() if len(found) == 1 else None


def _is_taken_over_time(history: History, call: Call) -> bool:
    """Tell whether views were taken before and after a write.

    Of a tensor itself nobody knows when a list got it.
    """
    first, last = call.inputs[0], call.inputs[-1]
    taken = [history.producer(each, call.index) for each in (first, last)]
    after, before = (-1 if each is None else each.index for each in taken)
    if first.tensor == last.tensor or not 0 <= after < before:
        return True
    return bool(history.writes(first.storage, after, before))


def _kept(history: History, call: Call) -> Spot | None:
    """Return what the only statement that fills the joined list puts into it."""
    where = spot(history, call.site, call.stack)
    joined = None if where is None else given(where, 0, ("tensors",))
    kept = [] if joined is None else put_into(joined)
    return kept[0] if len(kept) == 1 else None


def _handed_out(history: History, kept: Spot, write: Call) -> Spot | None:
    """Return where a method that moves the state of its object returns that itself."""
    moved = spot(history, write.site)
    for each in path(kept):
        around = each.source.statement(each.node)
        is_own = isinstance(each.node, ast.Attribute) and isinstance(around, ast.Return)
        if is_own and moved is not None and each.scope is moved.scope:
            return each
    return None


def _hit(history: History, call: Call, write: Call, kept: Spot) -> Hit:
    name = kept.source.of(kept.node)
    plainly = isinstance(kept.node, ast.Name | ast.Attribute)
    plainly |= called(kept.node) == "detach"
    same = len({each.tensor for each in call.inputs}) == 1
    return Hit(
        f"{history.quoted(call.site)} joins {len(call.inputs)} times the same "
        f"{'tensor' if same else 'memory'}: `{name}` is put away as it is, and "
        f"{history.quoted(write.site)} changes it in place, in every entry.",
        site_of(history, kept),
        f"Keep a copy: `{name}.clone()`." if plainly else "Keep copies: `.clone()`.",
        symptom=call.site,
        related=(
            Related("changed in place here", write.site),
            Related("joined here", call.site),
        ),
        tensors=(call.inputs[0].tensor,),
        certainty=0.9,
    )
