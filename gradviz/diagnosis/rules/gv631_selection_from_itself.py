"""A table is overwritten by what was picked from it, and the next turn picks from that.

What it does
    Finds a line that picks entries by an index, and whose result takes the place of
    what it picked from, from one backward pass to the next. The index is data that the
    loss needs as well: labels, for example.

Why is this bad
    The table is gone after the first call. From then on an index of classes is used for
    what was picked for the samples of the last batch: weights of some samples, mixed,
    and soon all the same one. Nothing fails while all batches are of one size.

Example
    ::

        def forward(self, logits, labels):
            self.alpha = self.alpha.gather(0, labels)

Use instead
    ::

        def forward(self, logits, labels):
            alpha = self.alpha.gather(0, labels)

When it stays quiet
    Shuffles, selections and reordered states: an index that nothing with a gradient
    uses. A table that is filled anew in between.

References
    https://pytorch.org/docs/stable/generated/torch.gather.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.nesting import turn
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import code
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_PICKING = words("gather index_select getitem take take_along_dim")
_TURNS = 2  # that pick from what the turn before picked


@rule("GV631", "selection-from-itself", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that picks from what it has picked."""
    last: dict[RawSite, Call] = {}
    turns: dict[RawSite, list[Call]] = {}  # with the first, which picks from the table
    for call in history.calls:
        picks = plain(call.op) in _PICKING and len(call.inputs) > 1
        if not picks or call.site is None or not call.outputs:
            continue
        before = last.get(call.site)
        last[call.site] = call
        if before is not None and _picked(call, before):
            turns.setdefault(call.site, [before]).append(call)
    for site, calls in turns.items():
        turns_met = {turn(history, each.index) for each in calls}
        indices = {each.storage for each in calls[0].inputs[1:]}
        if len(turns_met) > _TURNS and indices & _with_graph(history):
            yield _hit(history, site, calls)


def _picked(call: Call, before: Call) -> bool:
    """Tell whether a call picks from what another one has picked, as it was then."""
    table, made = call.inputs[0], before.outputs[0]
    same = (table.tensor, table.version) == (made.tensor, made.version)
    return same and not table.requires_grad


@learning.once
def _with_graph(history: History) -> set[int]:
    """Return the memory that calls with a graph were given, and that has none."""
    return {
        value.storage
        for call in history.calls
        if any(each.requires_grad for each in call.outputs)
        for value in call.inputs
        if not value.requires_grad
    }


def _hit(history: History, site: RawSite, calls: list[Call]) -> Hit:
    table, picked = calls[0].inputs[0], calls[0].outputs[0]
    made = history.producer(table, before=calls[0].index)
    named = [each for each in history.places.targets(site) if "." in each]
    name = f"`{named[0]}`" if named else "what it picks from"
    return Hit(
        f"`{code(history, site)}` ({history.line(site)}) overwrites {name}, of shape "
        f"{list(table.shape)}, with what it picks from it, of shape "
        f"{list(picked.shape)}: from the second call on it picks from what the last "
        "call has picked. What was there at first is gone.",
        site,
        "Give what was picked a name of its own, read that one below, and leave "
        f"{name} as it is.",
        symptom=calls[1].site,
        related=(Related("made here", made.site if made else None),),
        tensors=(table.tensor,),
        certainty=0.9,
    )
