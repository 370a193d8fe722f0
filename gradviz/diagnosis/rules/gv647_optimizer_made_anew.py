"""An optimizer is made anew, and what the one before had gathered is lost.

What it does
    Finds lines that make at least three optimizers of the same parameters, none of
    which steps more than once, and one that steps in the place of an optimizer that
    was given a saved state and never stepped with it.

Why is this bad
    Momentum, and the averages that Adam scales its steps by, are in the optimizer. A
    new one begins with none: every step of Adam then moves each weight by the whole
    learning rate, whatever its gradient is. A training that goes on from a file jumps,
    as if it had kept the weights alone.

Example
    ::

        def train_step(batch):
            optimizer = torch.optim.Adam(model.parameters())
            loss(batch).backward()
            optimizer.step()

Use instead
    ::

        optimizer = torch.optim.Adam(model.parameters())

        def train_step(batch):
            loss(batch).backward()
            optimizer.step()

When it stays quiet
    ``LBFGS``, which does a whole search in one step. Of ``SGD`` without momentum, which
    keeps nothing, and of parameters that are set back in between, it is an information
    only.

References
    https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.loops import turned_at
from gradviz.diagnosis.edits.training import hoisted
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._freed import binds_attribute
from gradviz.diagnosis.rules._loop_helpers import (
    made_anew_at,
    moves,
)
from gradviz.program import Event, History, Optimizer, OptimizerCall, RawSite

_LEAST = 3  # optimizers of one line


@rule("GV647", "optimizer-made-anew", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes them."""
    yield from _after_a_load(history)
    found, stepped = defaultdict[object, list[Optimizer]](list), moves(history)
    for each in history.program.optimizers.values():
        if each.kind != "LBFGS" and each.site is not None and each.key in stepped:
            found[each.site, frozenset(each.tensors)].append(each)
    for made in found.values():
        steps = [stepped[each.key] for each in made]
        if len(made) < _LEAST or any(len(each) != 1 for each in steps):
            continue
        site = _made_at(history, made[-1], steps[-1][0])
        yield Hit(
            f"{history.quoted(site)} made {len(made)} optimizers of the same "
            "parameters, and each did a single step: what one has gathered of earlier "
            "gradients is lost before the next.",
            site,
            "Make the optimizer once, before the loop.",
            symptom=steps[0][0].site,
            related=(Related("its only step", steps[0][0].site),),
            tensors=made[0].tensors,
            edit=hoisted(site),
            severity="info" if _may_be_meant(history, made[0]) else None,
            certainty=0.8,
        )


def _made_at(history: History, made: Optimizer, step: Event) -> RawSite | None:
    """Return the line in a loop that makes an optimizer, or calls a helper for it.

    The helper's own line, where it steps the optimizer, too, or keeps it itself.
    """
    event = history.at(made.made)
    if event is None or (event.site and step.site and event.site[0] is step.site[0]):
        return made.site
    if binds_attribute(history, made.site):
        return made.site
    return turned_at(history, event.frames) or made.site


def _after_a_load(history: History) -> Iterator[Hit]:
    """Yield a hit per line that makes an optimizer in the place of a loaded one."""
    told, stepped = set[object](), moves(history)
    loads = [each for each in history.of(OptimizerCall) if each.what == "load"]
    given = {each.optimizer for each in loads}
    for load in loads:
        loaded = history.program.optimizers.get(load.optimizer)
        if loaded is None or loaded.key in stepped:
            continue
        after = (
            each
            for each in history.program.optimizers.values()
            if each.made > load.index
            and each.site not in told
            and each.kind == loaded.kind
            and not set(each.tensors).isdisjoint(loaded.tensors)
            and each.key in stepped
            and each.key not in given
        )
        made = next(after, None)
        if made is None:
            continue
        told.add(made.site)
        culprit = made_anew_at(history, loaded, made)
        yield Hit(
            f"{history.quoted(culprit)} makes another {made.kind}, and that one does "
            "all the steps. The saved state went into the one before, in "
            f"{history.line(load.site)}, which never steps: the training goes on "
            "without it.",
            culprit,
            f"Run this line before {history.line(load.site)}, so that the state is "
            "loaded into the optimizer that steps.",
            symptom=stepped[made.key][0].site,
            related=(Related("the state is loaded here", load.site),),
            tensors=made.tensors,
            certainty=0.9,
        )


def _may_be_meant(history: History, optimizer: Optimizer) -> bool:
    """Return whether it may keep nothing, or the parameters are set back in between."""
    seen = learning.last_seen(history)
    mine = {seen[each].storage for each in optimizer.tensors if each in seen}
    keeps_nothing = optimizer.kind == "SGD" and not optimizer.momentum
    return keeps_nothing or any(
        call.op in ("copy_", "data.set")
        for storage in mine
        for call, _ in history.writes(storage, after=optimizer.made)
    )
