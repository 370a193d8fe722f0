"""Parameters were given to optimizers twice, and others that learn to none.

What it does
    Finds optimizers that hold a parameter twice, or of whose parameters an earlier
    optimizer has every one, while parameters that no optimizer has get gradients. Finds
    optimizers that hold all of another one's parameters beside their own, where the
    gradients that come to what these give have one sign in the passes of one, and the
    other in the other's.

Why is this bad
    A line was copied and its argument kept: one model is stepped by both, for its own
    loss and against it, and the other one stays as it was initialised. A generator's
    optimizer that holds the discriminator too undoes what the discriminator learns.

Example
    ::

        critic_optimizer = torch.optim.Adam(critic.parameters())
        actor_optimizer = torch.optim.Adam(critic.parameters())

Use instead
    ::

        critic_optimizer = torch.optim.Adam(critic.parameters())
        actor_optimizer = torch.optim.Adam(actor.parameters())

When it stays quiet
    Every parameter that gets gradients has an optimizer or is updated or copied by the
    program itself, either optimizer steps less than twice, or the parameters without
    one came later. Two optimizers for one head whose losses agree.

References
    https://pytorch.org/docs/stable/optim.html#constructing-it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import sampled
from gradviz.dependence.nesting import calls_of
from gradviz.diagnosis.decisions.optimizers import of_parameters
from gradviz.diagnosis.edits.training import given, owners
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import applied_by, unstepped
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import History, ModuleCall, Optimizer

_LEAST = 2  # steps of each of the two


@rule("GV643", "optimizer-given-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer that repeats parameters, its own or another one's."""
    yield from _against(history)
    made = moves(history)
    optimizers = [
        each
        for key, each in history.program.optimizers.items()
        if len(made.get(key, ())) >= _LEAST
    ]
    left_out = unstepped(history) & learning.parameters(history).keys()
    left_out -= learning.copies(history)
    for number, later in enumerate(optimizers):
        first = next(
            (o for o in optimizers[:number] if set(later.tensors) <= set(o.tensors)),
            None,
        )
        known = learning.made_before(history, left_out, later.made)
        if known and len(set(later.tensors)) < len(later.tensors):
            yield _repeating(history, later, known)
            continue
        if first is None or not known:
            continue
        chosen = of_parameters(history, later)
        yield Hit(
            f"{optimizer_words(history, later.key)} was given parameters that "
            f"{optimizer_words(history, first.key)} steps already, all of them. "
            f"{learning.listed(history, known)} "
            f"{learning.plural(len(known), 'gets a gradient', 'get gradients')}, and "
            "no optimizer has been given them.",
            chosen.site,
            "Give this optimizer the parameters that its loss is to train.",
            symptom=made[later.key][0].site,
            related=(
                Related("has the same parameters", first.site),
                Related("left out", made_at(history, min(known))),
            ),
            tensors=tuple(sorted(known)),
            edit=None
            if chosen.is_elsewhere
            else given(later.site, owners(history, known)),
            line=chosen.line,
            certainty=0.9,
        )


def _repeating(history: History, optimizer: Optimizer, left_out: set[int]) -> Hit:
    counts = Counter(optimizer.tensors)
    twice = learning.listed(history, [key for key, n in counts.items() if n > 1])
    chosen = of_parameters(history, optimizer)
    return Hit(
        f"{optimizer_words(history, optimizer.key)} was given {twice} twice. "
        f"{learning.listed(history, left_out)} "
        f"{learning.plural(len(left_out), 'gets a gradient', 'get gradients')}, and no "
        "optimizer has been given them: one model stands in the list for another.",
        chosen.site,
        "Name the model once that was meant in place of the repeated one.",
        symptom=moves(history)[optimizer.key][0].site,
        related=(
            Related("optimizer made here", optimizer.site),
            Related("left out", made_at(history, min(left_out))),
        ),
        tensors=tuple(sorted(left_out)),
        certainty=0.9,
    )


def _against(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer that also steps what works against its own part."""
    made = moves(history)
    often = {key for key, steps in made.items() if len(steps) >= _LEAST}
    optimizers = [o for key, o in history.program.optimizers.items() if key in often]
    for more in optimizers:
        for part in optimizers:
            shared, own = set(part.tensors), set(more.tensors) - set(part.tensors)
            if not own or not shared < set(more.tensors):
                continue
            for call in _outermost(history, shared):
                signs = _signs(history, call.module, own, {more.key, part.key})
                ours, theirs = signs[more.key], signs[part.key]
                if len(ours) == len(theirs) == 1 and ours | theirs == {-1, 1}:
                    yield _undoing(history, more, part, call)
                    break


def _outermost(history: History, shared: set[int]) -> Iterator[ModuleCall]:
    """Yield the last call of each module that holds shared parameters alone."""
    for call in {each.module: each for each in history.of(ModuleCall)}.values():
        module = history.program.modules.get(call.module)
        mine = (
            set[int]() if module is None else learning.all_parameters(history, module)
        )
        if mine and mine <= shared and call.parent is None:
            yield call


def _signs(
    history: History, module: int, own: set[int], keys: set[int]
) -> dict[int, set[int]]:
    """Return the signs of what came to a module's results, by who applied the pass.

    Of those results alone that depend on some parameters, through cuts as well. Signs
    of one pass that differ count as none, 0.
    """
    found: dict[int, set[int]] = {key: set() for key in keys}
    applied = applied_by(history)
    calls = calls_of(history).get(module, [])
    for backward in sampled(history):
        incoming = {run.node: run.incoming for run in backward.runs}
        for call in calls:
            made = history.call_at((call.left or 0) - 1)
            value = made.outputs[0] if made is not None and made.outputs else None
            if value is None or value.node not in incoming or made is None:
                continue
            came = incoming[value.node][value.output]
            if came is None or came.minimum is None or came.maximum is None:
                continue
            if history.behind([value], made.index + 1).isdisjoint(own):
                continue
            sign = (came.maximum > 0) - (came.minimum < 0)
            for key in applied.get(backward.index, set()) & keys:
                found[key].add(sign)
    return found


def _undoing(
    history: History, more: Optimizer, part: Optimizer, call: ModuleCall
) -> Hit:
    module = history.program.modules[call.module]
    name = f"`{module.name}`" if module.name else f"the {module.kind}"
    return Hit(
        f"{optimizer_words(history, more.key)} holds the parameters of {name} too, "
        f"which {optimizer_words(history, part.key)} trains. The gradients that come "
        f"to what {name} gives have opposite signs in the passes of the two: each "
        "step of one undoes what the other has taught it.",
        more.site,
        f"Leave the parameters of {name} out of this optimizer; its loss may lead "
        "through them all the same.",
        symptom=moves(history)[more.key][0].site,
        related=(Related("has the same parameters", part.site),),
        tensors=part.tensors,
        certainty=0.8,
    )
