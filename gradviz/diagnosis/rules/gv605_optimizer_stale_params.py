"""A layer was replaced after the optimizer was made: the optimizer steps the old one.

What it does
    Finds parameters that a backward pass reaches, that were created after an optimizer
    which steps, and that no optimizer knows. Of a layer that comes after steps, it
    names the line outside of the model that made it come, where the optimizer can be
    told.

Why is this bad
    An optimizer keeps the tensors it was given. The new layer gets gradients and is
    never updated; the old one is updated by nobody's gradients.

Example
    ::

        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net.head = nn.Linear(64, 10)

Use instead
    ::

        net.head = nn.Linear(64, 10)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

When it stays quiet
    Parameters that were there before the optimizer and were left out of it, those that
    the program updates by hand, ``add_param_group``, and other models behind the loss
    (a perceptual loss) while everything in the optimizer gets gradients.

References
    https://github.com/Lightning-AI/pytorch-lightning/issues/19955
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.nesting import outermost, turn
from gradviz.diagnosis.decisions.order import outside_modules, parting
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.diagnosis.rules._made_anew import made_anew
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import Call, Event, History, Module, Optimizer, RawSite


@rule("GV605", "optimizer-stale-params", "warning")
def check(history: History) -> Iterator[Hit]:
    stepped = learning.steps_of(history)
    makers = [o for key, o in history.program.optimizers.items() if key in stepped]
    if not makers:
        return
    first = min(each.made for each in makers)
    known = learning.managed(history)
    unknown = (e for e in unstepped(history) if learning.is_parameter(history, e))
    born = learning.births(history)
    new = {each for each in unknown if each in born and born[each].index > first}
    new -= _made_in_each_turn(history, {each: born[each] for each in new})
    new -= {tensor for each in made_anew(history) for tensor in each.tensors}  # GV677
    groups: dict[tuple[RawSite | None, int], set[int]] = {}
    for tensor in sorted(new):
        if not _is_replacement(history, tensor, known):
            continue
        optimizer = _meant(history, makers, tensor, born[tensor].index)
        site = _replaced_at(history, optimizer, tensor, born)
        groups.setdefault((site, optimizer.key), set()).add(tensor)
    for (site, key), tensors in groups.items():
        optimizer = history.program.optimizers[key]
        late = all(_stepped(history, optimizer, born[each].index) for each in tensors)
        yield _hit(history, optimizer, site, tensors, late)


def _made_in_each_turn(history: History, born: dict[int, Call]) -> set[int]:
    """Return the parameters that a forward makes anew each time: GV318 and GV645."""
    turns: dict[RawSite | None, set[int]] = {}
    inside = {t: call for t, call in born.items() if outermost(history, call.module)}
    for call in inside.values():
        turns.setdefault(call.site, set()).add(turn(history, call.index))
    return {tensor for tensor, call in inside.items() if len(turns[call.site]) > 1}


def _meant(
    history: History, makers: list[Optimizer], tensor: int, born: int
) -> Optimizer:
    """Return the optimizer that a parameter was too late for.

    Of those that step parameters of the model around it, the last one before it.
    """
    before = [each for each in makers if each.made < born]
    around = learning.nearest(history, before, tensor)
    if around:
        return max(around, key=lambda each: each.made)
    return min(before, key=lambda each: each.made)


def _stepped(history: History, optimizer: Optimizer, before: int) -> bool:
    """Tell whether an optimizer had stepped when something came."""
    steps = learning.steps_of(history).get(optimizer.key)
    return bool(steps) and steps[0].index < before


def _is_replacement(history: History, tensor: int, known: set[int]) -> bool:
    """Return whether a new parameter stands in a model that an optimizer steps.

    Or else whether an optimizer steps parameters that get no gradient any more. What
    is neither may be a part of the loss that is not meant to learn.
    """
    around = learning.around(history, tensor)
    if any(learning.all_parameters(history, each) & known for each in around):
        return True
    return any(
        each.requires_grad and not each.has_grad
        for steps in learning.steps_of(history).values()
        for each in steps[-1].states
    )


def _replaced_at(
    history: History, first: Optimizer, tensor: int, born: dict[int, Call]
) -> RawSite | None:
    """Return the line by which the outermost module came after the optimizer.

    One that could have come before it: in the function that led to both. After steps
    that is no choice; there, the line is where the optimizer can be told of it.
    """
    site, optimizer = None, history.at(first.made)
    late = _stepped(history, first, born[tensor].index)
    for module in learning.around(history, tensor):
        if module.made is None or module.made <= first.made:
            break
        site = _placed_at(history, module, optimizer, late) or site
    created = learning.created_at(history, tensor)
    return site or created or made_at(history, tensor) or born[tensor].site


def _placed_at(
    history: History, module: Module, made: Event | None, late: bool
) -> RawSite | None:
    """Return the line by which a module came after an optimizer, not before it.

    That of the function that led to both: a helper's ``return nn.Linear(…)`` has no
    part in the order.
    """
    own = () if module.site is None else (module.site, *module.stack)
    around = () if made is None else made.frames
    parted = parting(own, around)
    if late and parted is not None:
        own = own[: own.index(parted[0]) + 1]
        return outside_modules(history, own, around) or parted[0]
    return module.site if parted is None else parted[0]


def _hit(
    history: History,
    first: Optimizer,
    site: RawSite | None,
    tensors: set[int],
    late: bool,
) -> Hit:
    name = f"`{first.name}`" if first.name else f"the {first.kind} optimizer"
    fix = "Create the optimizer after the layer."
    if late:
        told = f"{first.name}.add_param_group" if first.name else "add_param_group"
        fix = f"Give the optimizer what is new: `{told}(…)`."
    names, made = learning.listed(history, tensors), history.at(first.made)
    around = () if made is None or site is None else made.frames
    taken = next((each for each in around if site and each[0] is site[0]), first.site)
    return Hit(
        f"{names} {learning.plural(len(tensors), 'was', 'were')} created in "
        f"{history.line(site)}, after {name} in {history.line(first.site)} took its "
        "parameters: they get gradients, but no optimizer applies these.",
        site,
        fix,
        symptom=first.site,
        related=(Related("took its parameters here", taken),),
        tensors=tuple(sorted(tensors)),
        edit=None if late else moved(first.site, site, after=True, beside=True),
    )
