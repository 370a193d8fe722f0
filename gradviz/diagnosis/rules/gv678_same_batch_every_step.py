"""Every step draws the first batch of a loader that begins anew.

What it does
    Finds lines with ``next(...)`` that put a batch together from rows of a larger
    tensor, in at least three steps of a training, each time with the same contents.

Why is this bad
    ``iter(loader)`` begins at the first sample. Called in every turn of a loop, it
    gives the same samples each time: the model learns one batch by heart, its loss
    falls, and it never sees the rest of the data.

Example
    ::

        for step in range(1000):
            x, y = next(iter(loader))

Use instead
    ::

        for epoch in range(10):
            for x, y in loader:
                ...

When it stays quiet
    Where contents differ, as with ``shuffle=True``; a batch that is drawn once and
    kept; a batch of all the data; batches that no gradient is computed from.

References
    https://pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import cache

from gradviz.dependence.flow import words
from gradviz.dependence.lineage import ahead, is_kept
from gradviz.dependence.nesting import next_pass, turn
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.edits.syntax import calls_in
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_LEAST = 3  # steps with the same batch
_PICKS = words("getitem select index_select")


@rule("GV678", "same-batch-every-step", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that draws them."""
    drawn = defaultdict[RawSite, list[tuple[Call, int]]](list)
    asks = cache(lambda site: _asks_for_next(history, site))
    for call in history.calls if len(history.backwards) >= _LEAST else ():
        rows = _rows_behind(history, call)
        if rows and call.outputs[0].summary is not None:
            site = next(filter(asks, call.frames), None)
            if site is not None:  # a generator of one's own picks elsewhere
                drawn[site].append((call, rows))
    for site, made in drawn.items():
        first, rows = made[0]
        if not _is_learned_from(history, first):
            continue
        turns = defaultdict[int, set[Hashable]](set)  # what each step has drawn
        for call, _ in made:
            turns[turn(history, call.index)].add(_told(call.outputs[0]))
        found = list(turns.values())
        if len(found) >= _LEAST and all(each == found[0] for each in found):
            yield _hit(history, site, first, rows, len(found))


def _rows_behind(history: History, call: Call) -> int | None:
    """Return of how many rows a batch was put together, if it has fewer."""
    name, source = plain(call.op), None
    if not call.inputs or not call.outputs or not call.outputs[0].shape:
        return None
    if name == "stack":
        source = history.producer(call.inputs[0], before=call.index)
    elif name in _PICKS and len(call.inputs) > 1:
        source = call
    if source is None or plain(source.op) not in _PICKS or not source.inputs:
        return None
    shape = source.inputs[0].shape
    return shape[0] if shape and shape[0] > call.outputs[0].shape[0] else None


def _asks_for_next(history: History, site: RawSite) -> bool:
    """Tell whether a statement calls ``next``, and is none that holds others."""
    statement = history.places.statement(site)
    if statement is None or isinstance(statement, ast.For | ast.While | ast.With):
        return False
    return bool(calls_in(statement, ("next",)))


def _is_learned_from(history: History, call: Call) -> bool:
    """Tell whether something that requires a gradient is computed from a batch."""
    uses = ahead(history, call.outputs, is_kept)
    return any(each.requires_grad for _, use in uses for each in use.outputs)


def _told(value: Value) -> Hashable:
    """Return what is known of the contents of a tensor."""
    found = value.summary
    assert found is not None
    return value.text, found.minimum, found.maximum, found.norm, found.zeros


def _hit(history: History, site: RawSite, first: Call, rows: int, turns: int) -> Hit:
    size = first.outputs[0].shape[0]
    learned = next_pass(history, first.index)
    begins = None if learned is None else learned.site
    return Hit(
        f"`{history.text(site)}` gave the same {size} samples in {turns} steps: it "
        f"begins with the first batch each time, and the data has {rows}. The model "
        "learns these, and never sees the others.",
        site,
        "Walk the loader: `for x, y in loader:`; or make the iterator before the loop, "
        "and anew where it raises StopIteration.",
        symptom=begins,
        related=(Related("learned from here", begins),),
        tensors=(first.outputs[0].tensor,),
        certainty=0.9,
    )
