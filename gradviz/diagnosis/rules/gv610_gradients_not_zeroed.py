"""Gradients of earlier steps are still there when the next step adds to them.

What it does
    Finds steps that used a gradient which a step before had used already, with more
    added to it in between. A step of ``LBFGS`` is a search: each pass of its closure
    needs gradients that were cleared. Also steps that use what a pass for another
    optimizer has left on its way: a generator's loss goes through the discriminator,
    whose own pass then adds to the generator's wish.

Why is this bad
    ``backward()`` adds to ``.grad``. Without ``zero_grad()`` every step also applies
    all gradients before it, and training runs off.

Example
    ::

        for x, y in batches:
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()

Use instead
    ::

        for x, y in batches:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()

When it stays quiet
    Accumulation over micro-batches (several passes before one step), and every order
    of zero_grad, backward and step in which each gradient is used once. Several losses
    of one encoder, whose gradients are meant to add up whoever steps in between.

References
    https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.statements import called_at
from gradviz.diagnosis.edits.training import beside_pass
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import Leaf, Moment, moments
from gradviz.diagnosis.rules._left_by_another import of_another
from gradviz.diagnosis.rules._loop_helpers import misplaced, or_uncalled
from gradviz.program import Backward, History, OptimizerCall, RawSite


@rule("GV610", "gradients-not-zeroed", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per step that applies gradients twice, or another's."""
    lines = set[RawSite | None](misplaced(history))  # that is another finding
    for moment in moments(history):
        if moment.what == "clip" or moment.event.site in lines:
            continue
        mixed = moment.leaves if moment.what == "search" else moment.of("mixed")
        if mixed:
            lines.add(moment.event.site)
            yield _hit(history, moment, mixed)
    if not lines:
        yield from of_another(history)


def _hit(history: History, moment: Moment, mixed: dict[int, Leaf]) -> Hit:
    leaf = next(iter(mixed.values()))
    assert leaf.backward is not None
    assert leaf.step is not None
    names = learning.listed(history, mixed)
    site, line, slip = or_uncalled(history, leaf.backward.site, "zero_grad")
    clear = (
        f"Call `{_optimizer(history, moment)}.zero_grad()` before each "
        f"{history.quoted(leaf.backward.site)}."
        if moment.what == "search" or not len(leaf.added) > 1
        else f"Call `{_optimizer(history, moment)}.zero_grad()` after each `step()`."
    )
    twice = None if slip else _cleared_twice(history, leaf.backward, mixed)
    if twice is not None:
        return _mistaken(history, twice, leaf, names, _optimizer(history, moment))
    other = None if slip else _cleared(history, mixed)
    why = slip.strip(" .") or "nothing clears them between two steps"
    if other is not None:
        why = f"{history.line(other)} does not clear them in every iteration"
    elif not slip:
        other = _partly_cleared(history, leaf.backward, mixed)
        if other is not None:
            why = f"{history.line(other)} clears only other parameters"
    return Hit(
        f"Gradients of earlier steps are applied again, because {why}. `backward()` in "
        f"{history.line(leaf.backward.site)} adds to the gradients of {names} that "
        f"{history.line(leaf.step.site)} has already applied.",
        other or site,
        clear
        if moment.what != "update"
        else "Set `.grad` to None (or zero it) after each update.",
        symptom=moment.event.site,
        related=(
            Related("new gradients added here", other and site),
            Related("applied here, and kept", leaf.step.site),
        ),
        tensors=tuple(mixed),
        line=line,
        edit=None
        if moment.what == "update"
        else first_of(
            called_at(site, line) if line is not None else None,
            beside_pass(
                leaf.backward.site,
                _optimizer(history, moment),
                "zero_grad",
                step=moment.event.site,
                safe=True,
            ),
        ),
    )


def _mistaken(
    history: History, cleared: OptimizerCall, leaf: Leaf, names: str, meant: str
) -> Hit:
    """Tell of the line that clears another optimizer once more, and not this one."""
    assert leaf.backward is not None
    assert leaf.step is not None
    row = history.program.optimizers[cleared.optimizer]
    name = f"`{row.name}`" if row.name else "another optimizer"
    return Hit(
        f"Gradients of earlier steps are applied again to {names}, because "
        f"{history.quoted(cleared.site)} clears {name} instead, which is cleared "
        "elsewhere already.",
        cleared.site,
        f"Call `{meant}.zero_grad()` here.",
        symptom=leaf.step.site,
        related=(
            Related("new gradients added here", leaf.backward.site),
            Related("applied here, and kept", leaf.step.site),
        ),
        tensors=row.tensors,
    )


def _cleared_twice(
    history: History, added: Backward, mixed: dict[int, Leaf]
) -> OptimizerCall | None:
    """Return who clears another optimizer right before gradients are added to.

    Where that one is cleared twice between two passes of its own.
    """
    events = [
        each
        for each in history.events
        if isinstance(each, Backward)
        or (isinstance(each, OptimizerCall) and each.what == "zero_grad")
    ]
    place = next((i for i, each in enumerate(events) if each is added), 0)
    for at in range(place - 1, -1, -1):
        each = events[at]
        if isinstance(each, Backward):
            if mixed.keys().isdisjoint(each.leaves):
                return None
            continue
        row = history.program.optimizers.get(each.optimizer)
        if row is None or not mixed.keys().isdisjoint(row.tensors):
            return None
        around = (events[at + 1 :], events[:at][::-1])
        again = (_clears_first(near, each.optimizer, {*row.tensors}) for near in around)
        return each if any(again) else None
    return None


def _clears_first(
    events: list[Backward | OptimizerCall], optimizer: int, tensors: set[int]
) -> bool:
    """Tell whether an optimizer is cleared before a pass reaches its parameters."""
    for each in events:
        if isinstance(each, OptimizerCall):
            if each.optimizer == optimizer:
                return True
        elif not tensors.isdisjoint(each.leaves):
            return False
    return False


def _cleared(history: History, mixed: dict[int, Leaf]) -> RawSite | None:
    """Return the line that clears these gradients, but not between all steps."""
    for event in history.of(OptimizerCall):
        row = history.program.optimizers.get(event.optimizer)
        if event.what == "zero_grad" and row and mixed.keys() & set(row.tensors):
            return event.site
    return None


def _partly_cleared(
    history: History, added: Backward, mixed: dict[int, Leaf]
) -> RawSite | None:
    """Return the one line that clears the other gradients which a pass adds to."""
    sites = {
        leaf.cleared.site
        for moment in moments(history)
        for key, leaf in moment.leaves.items()
        if key not in mixed and leaf.backward is added and leaf.cleared is not None
    }
    return sites.pop() if len(sites) == 1 else None


def _optimizer(history: History, moment: Moment) -> str:
    """Return how the step spells its optimizer, else what that is called elsewhere."""
    spelt, _, method = history.text(moment.event.site).rpartition(".")
    if method.startswith("step(") and spelt.replace(".", "").isidentifier():
        return spelt
    key = moment.event.optimizer if isinstance(moment.event, OptimizerCall) else 0
    row = history.program.optimizers.get(key)
    return row.name if row is not None and row.name else "optimizer"
