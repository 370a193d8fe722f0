"""Saved states that an optimizer refused: which groups differ, and who made them."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.diagnosis.rules._lifetime import first_difference
from gradviz.program import History, OptimizerCall, RawSite
from gradviz.text.words import counted


@dataclass(frozen=True, slots=True)
class RefusedState:
    """An optimizer and the state of another one, whose groups have other sizes."""

    load: OptimizerCall
    kind: str  # of the optimizer: "SGD"
    made: RawSite | None  # the line that chose what it was given
    other: RawSite | None  # the one that made the optimizer of the state, in this run

    @property
    def words(self) -> str:
        """Say which groups differ."""
        own, saved = self.load.sizes, self.load.given
        if len(own) != len(saved):
            return (
                f"The {self.kind} has {counted(len(own), 'group')} of parameters, the "
                f"saved state {counted(len(saved), 'group')}."
            )
        pairs = [
            f"Group {place} has {counted(mine, 'parameter')} in the {self.kind} and "
            f"{theirs} in the saved state"
            for place, (mine, theirs) in enumerate(zip(own, saved, strict=True))
            if mine != theirs
        ]
        return f"{'. '.join(pairs)}."


def refused_state(history: History) -> RefusedState | None:
    """Return the state whose refusal ended the run, where the groups are known."""
    raised = history.raised
    loads = [each for each in history.of(OptimizerCall) if each.what == "refused"]
    load = loads[-1] if loads else None
    if raised is None or load is None or load.site not in raised.frames:
        return None
    if load.sizes == load.given:
        return None
    row = history.program.optimizers.get(load.optimizer)
    init = history.at(None if row is None else row.made)
    if row is None or not isinstance(init, OptimizerCall):
        return None
    other = next(
        (
            each
            for each in reversed(history.of(OptimizerCall))
            if each.what == "init" and each.sizes == load.given
        ),
        None,
    )
    made, its = row.site, None
    if other is not None:  # where one function makes both: who called it otherwise
        made, its = first_difference(init, other), first_difference(other, init)
    return RefusedState(load, row.kind, made, its)
