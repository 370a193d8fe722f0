"""A layer gets gradients, and no optimizer was given its parameters.

What it does
    Finds parameters that require grad and get gradients, and are in no optimizer,
    next to others that an optimizer steps. Of several optimizers, the one is named that
    has parameters of the smallest module around those left out.

Why is this bad
    If they were to learn, they never do. If they were not, computing their gradients
    costs time and memory in every step.

Example
    ::

        optimizer = torch.optim.Adam(encoder.parameters())
        loss = criterion(decoder(encoder(x)), x)

Use instead
    ::

        both = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(both)

When it stays quiet
    Frozen parameters, parameters that the program updates or copies itself, biases
    alone that learn. It is an information only where a loss may well pass through what
    is not to learn: layers of a part of its own, most of a model, or what comes before
    all that learns; beside several optimizers, not even that.

References
    https://pytorch.org/docs/stable/optim.html#constructing-it
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.optimizers import of_selection
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.training import given
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.diagnosis.rules._hidden_layers import untrained
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import History, Optimizer, RawSite

_LEAST = 2  # steps
_LISTED = 2  # parameters that are named one by one
_PAIR = 2  # models


@rule("GV621", "parameters-in-no-optimizer", "info", worst="warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per optimizer that was not given what is beside its own."""
    left_out = unstepped(history) & learning.parameters(history).keys()
    left_out -= learning.copies(history)
    left_out = left_out.difference(*(lost for *_, lost in untrained(history)))  # GV606
    for optimizer, near in _beside(history, left_out):
        before = learning.made_before(history, near, optimizer.made)
        known = learning.trained(history).intersection(optimizer.tensors)
        forgotten = bool(known) and _are_forgotten(history, before, known)
        alone = len(history.program.optimizers) == 1
        if before and known and (forgotten or alone):
            yield _hit(history, optimizer, before, forgotten)


def _beside(
    history: History, left_out: set[int]
) -> Iterator[tuple[Optimizer, set[int]]]:
    """Yield the optimizers that step, with what is left out of the models they step.

    The only one of a run is to have everything.
    """
    stepped, optimizers = learning.steps_of(history), history.program.optimizers
    makers = [o for o in optimizers.values() if len(stepped.get(o.key, ())) >= _LEAST]
    if len(optimizers) == 1:
        yield from ((each, left_out) for each in makers)
        return
    found: dict[int, set[int]] = {}
    for tensor in sorted(left_out):
        for each in learning.nearest(history, makers, tensor)[-1:]:
            found.setdefault(each.key, set()).add(tensor)
    yield from ((optimizers[key], near) for key, near in found.items())


def _hit(
    history: History, optimizer: Optimizer, before: set[int], forgotten: bool
) -> Hit:
    name = f"`{optimizer.name}`" if optimizer.name else f"the {optimizer.kind}"
    names = _spelt(history, before)
    verb = learning.plural(len(before), "gets a gradient", "get gradients")
    are = learning.plural(len(before), "is", "are")
    these = learning.plural(len(before), "this parameter", "these parameters")
    pronouns = ("it", "it") if len(before) == 1 else ("they", "them")
    chosen = of_selection(history, optimizer)
    return Hit(
        f"{names} {are} never trained: {pronouns[0]} {verb}, but {name} "
        f"({history.line(optimizer.site)}) was not given {pronouns[1]}.",
        chosen.site,
        f"Give {name} {these} too{_how(history, optimizer, before)}. If "
        f"{pronouns[0]} {are} meant to stay fixed, freeze {pronouns[1]} with "
        "`requires_grad_(False)`.",
        related=(Related("parameter created here", made_at(history, min(before))),),
        tensors=tuple(sorted(before)),
        severity="warning" if forgotten else None,
        line=chosen.line,
        edit=None if chosen.is_elsewhere else _whole(history, optimizer, before),
        certainty=0.5,
    )


def _models(history: History, at: RawSite | None) -> dict[str, set[int]]:
    """Return the parameters of the outermost models, by how the program spells them.

    One that the function of a line has made before it has its name there, and so has
    one whose name nobody saw.
    """
    found = dict[str, set[int]]()
    for model in learning.outermost(history):
        targets, site = history.places.targets(model.site), model.site
        made = targets[0] if len(targets) == 1 else ""
        before = site and at and site[0] is at[0] and _line(history, site, at)
        name = (made if before else "") or model.name or made
        if name:
            found.setdefault(name, set()).update(
                learning.all_parameters(history, model)
            )
    return found


def _line(history: History, one: RawSite, other: RawSite) -> bool:
    return history.places.line(one) < history.places.line(other)


def _spelt(history: History, tensors: set[int]) -> str:
    """Return parameters by their names, from the outermost model on."""
    names = sorted((history.bare_name(each), each) for each in tensors)
    if len(tensors) > _LISTED or not all(name for name, _ in names):
        return learning.listed(history, tensors)
    full = list[str]()
    for name, tensor in names:
        owners = [e for e, inside in _models(history, None).items() if tensor in inside]
        owner = owners[0] if len(owners) == 1 else ""
        known = not owner or name.startswith((owner.split(".")[-1] + ".", owner + "."))
        full.append(f"`{name}`" if known else f"`{owner}.{name}`")
    return learning.joined(full)


def _how(history: History, optimizer: Optimizer, left_out: set[int]) -> str:
    """Return ": `list(model.parameters()) + list(loss.parameters())`"."""
    now, models = set(optimizer.tensors), _models(history, optimizer.site)
    everything = [e for e, inside in models.items() if inside == now | left_out]
    if everything:
        return f": `{everything[0]}.parameters()` has all of them"
    parts = [
        name
        for name, inside in models.items()
        if inside == now or (inside <= left_out and inside)
    ]
    if (
        len(parts) < _PAIR
        or set[int]().union(*(models[e] for e in parts)) - left_out != now
    ):
        return ""
    return f": `{' + '.join(f'list({each}.parameters())' for each in parts)}`"


def _whole(history: History, optimizer: Optimizer, left_out: set[int]) -> Remedy | None:
    """Return the edit that gives an optimizer whole models, if nobody has the rest."""
    given_now = set(optimizer.tensors)
    models = {
        model.name: learning.all_parameters(history, model)
        for model in learning.outermost(history)
    }
    names = [name for name, inside in models.items() if inside & left_out]
    inside = {key for name in names for key in models[name]}
    if inside <= left_out:
        return given(optimizer.site, names, beside=True)
    return given(optimizer.site, names) if inside == left_out | given_now else None


def _are_forgotten(history: History, left_out: set[int], known: set[int]) -> bool:
    """Tell whether few are left out, behind others of their model that learn.

    Or ones that the program spelt out as parameters, as the weights of a loss.
    """
    if len(left_out) >= len(known):
        return False
    if any(_is_spelt_out(history, key) for key in left_out):
        return True
    if _are_torn_apart(history, left_out, known):
        return True
    for model in learning.outermost(history):
        inside = learning.all_parameters(history, model)
        if inside & left_out and not inside & known:
            return False
    read = {key: history.uses(key) for key in left_out | known}
    first = {key: calls[0].index for key, calls in read.items() if calls}
    learning_from = min([first[key] for key in known if key in first], default=None)
    return learning_from is not None and any(
        first[key] > learning_from for key in left_out if key in first
    )


def _are_torn_apart(history: History, left_out: set[int], known: set[int]) -> bool:
    """Tell whether a layer learns in part, as where names picked the parameters.

    Where only biases learn, that is meant.
    """
    parts = {learning.module_of(history, key) for key in left_out} - {None}
    torn = any(learning.module_of(history, key) in parts for key in known)
    return torn and any(
        len(value.shape) > 1
        for key in known
        for call in history.uses(key)[:1]
        for value in call.inputs
        if value.tensor == key
    )


def _is_spelt_out(history: History, parameter: int) -> bool:
    """Tell whether a class of the program's says ``nn.Parameter`` for it.

    The parameters of a library's layer are registered by the line that makes the layer.
    """
    module = learning.module_of(history, parameter)
    created = learning.created_at(history, parameter)
    if module is None or module.site is None or created is None:
        return False
    return created != module.site
