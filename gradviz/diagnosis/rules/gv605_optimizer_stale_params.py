"""A layer was replaced after the optimizer was made: the optimizer steps the old one.

What it does
    Finds parameters that a backward pass reaches, that were created after an optimizer
    which steps, and that no optimizer knows.

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
from gradviz.diagnosis.decisions.decision import parting
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._lifetime import frames
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import Call, Event, History, Module, Optimizer, RawSite


@rule("GV605", "optimizer-stale-params", "warning")
def check(history: History) -> Iterator[Hit]:
    program = history.program
    stepped = {step.optimizer: step.index for step in learning.steps(history)}
    makers = [each for key, each in program.optimizers.items() if key in stepped]
    if not makers:
        return
    first = min(makers, key=lambda each: each.made)
    known = learning.managed(history)
    unknown = _reached_parameters(history) - known - by_hand(history)
    born = learning.births(history)
    new = {each for each in unknown & born.keys() if born[each].index > first.made}
    groups: dict[RawSite | None, set[int]] = {}
    for tensor in sorted(new):
        if not _is_replacement(history, tensor, known):
            continue
        groups.setdefault(_replaced_at(history, first, tensor, born), set()).add(tensor)
    for site, tensors in groups.items():
        yield _hit(history, first, site, tensors)


def _reached_parameters(history: History) -> set[int]:
    tensors = history.program.tensors
    reached = learning.trained(history)
    return {key for key in reached if key in tensors and tensors[key].is_parameter}


def _is_replacement(history: History, tensor: int, known: set[int]) -> bool:
    """Return whether a new parameter stands in a model that an optimizer steps.

    Or else whether an optimizer steps parameters that get no gradient any more. What
    is neither may be a part of the loss that is not meant to learn.
    """
    key = learning.parameters(history).get(tensor)
    while key is not None:
        if _inside(history, key) & known:
            return True
        key = _parent(history, key)
    last = {step.optimizer: step for step in learning.steps(history)}
    return any(
        each.requires_grad and not each.has_grad
        for step in last.values()
        for each in step.states
    )


def _replaced_at(
    history: History, first: Optimizer, tensor: int, born: dict[int, Call]
) -> RawSite | None:
    """Return where the outermost module that came after the optimizer was made."""
    key, site = learning.parameters(history).get(tensor), None
    optimizer = history.at(first.made)
    facts = history.program.tensors[tensor]
    while key is not None:
        module = history.program.modules[key]
        if module.made is None or module.made <= first.made:
            break
        site = _placed_at(history, module, optimizer) or site
        key = _parent(history, key)
    return site or facts.made or made_at(history, tensor) or born[tensor].site


def _placed_at(history: History, module: Module, made: Event | None) -> RawSite | None:
    """Return the line by which a module came after an optimizer, not before it.

    That of the function that led to both: a helper's ``return nn.Linear(…)`` has no
    part in the order.
    """
    own = () if module.site is None else (module.site, *module.stack)
    parted = None if made is None else parting(own, frames(made))
    return module.site if parted is None else parted[0]


def _parent(history: History, key: int) -> int | None:
    for module in history.program.modules.values():
        if key in module.children.values():
            return module.key
    return None


def _inside(history: History, key: int) -> set[int]:
    return learning.all_parameters(history, history.program.modules[key])


def _hit(
    history: History, first: Optimizer, site: RawSite | None, tensors: set[int]
) -> Hit:
    name = f"`{first.name}`" if first.name else f"the {first.kind} optimizer"
    fix = "Create the optimizer after the layer, or call `optimizer.add_param_group`."
    names, made = learning.listed(history, tensors), history.at(first.made)
    around = () if made is None or site is None else frames(made)
    taken = next((each for each in around if site and each[0] is site[0]), first.site)
    return Hit(
        f"{names} {learning.plural(len(tensors), 'was', 'were')} created in "
        f"{history.line(site)}, after {name} in {history.line(first.site)} took its "
        "parameters: gradients come, but no optimizer applies them.",
        site,
        fix,
        symptom=first.site,
        related=(Related("took its parameters here", taken, fix),),
        tensors=tuple(sorted(tensors)),
        edit=moved(first.site, site, after=True, beside=True),
    )
