"""An optimizer steps parameters that no forward pass uses: copies of the model's own.

What it does
    Finds optimizers that step at least twice, none of whose tensors ever has a
    gradient then, while parameters that no optimizer has get gradients, or copies that
    were made of the optimizer's, or new leaves that each iteration makes of them.

Why is this bad
    The optimizer was given copies, or another model's parameters, or a copy learns in
    the place of its model, as in meta-learning. ``step()`` skips what has no gradient
    and says nothing: the model never changes.

Example
    ::

        optimizer = torch.optim.Adam(copy.deepcopy(net).parameters())
        loss = criterion(net(x), y)

Use instead
    ::

        optimizer = torch.optim.Adam(net.parameters())
        loss = criterion(net(x), y)

When it stays quiet
    Any of the optimizer's tensors gets a gradient, or a pass reaches nothing that was
    made of them.

References
    https://pytorch.org/docs/stable/optim.html#constructing-it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import cuts
from gradviz.diagnosis.edits.leaves import with_its_graph
from gradviz.diagnosis.edits.training import given, owners
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.diagnosis.rules._loop_helpers import moves, optimizer_words
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import Call, History, Optimizer, OptimizerCall, RawSite

_MOST = 10_000  # calls that are followed back
_ENDS = ("nn.Parameter", ".data", ".detach()", "torch.tensor", ".requires_grad_()")
# of a graph


@rule("GV641", "optimizer-of-other-parameters", "warning")
def check(history: History) -> Iterator[Hit]:
    optimizers = history.program.optimizers
    for key, made in moves(history).items():
        optimizer = optimizers.get(key)
        steps = [each for each in made if isinstance(each, OptimizerCall)]
        met = [state for each in steps for state in each.states]
        if optimizer is None or len(steps) < 2 or any(each.has_grad for each in met):
            continue
        if any(_is_used(history, each, optimizer.made) for each in optimizer.tensors):
            yield from _of_new_leaves(history, optimizer, steps)
            continue
        left_out = learning.made_before(history, unstepped(history), optimizer.made)
        copied = _copied(history, optimizer) if not left_out else {}
        if copied:
            yield _of_copies(history, key, copied, made[0].site)
        if left_out:
            yield Hit(
                f"{optimizer_words(history, key)} trains nothing: its parameters are "
                "not used in the forward pass and get no gradient. The gradients go "
                f"to {learning.listed(history, left_out)}, which no optimizer holds.",
                optimizer.site,
                f"In {history.line(optimizer.site)}, give the optimizer the parameters "
                f"{_of_models(history, left_out)}.",
                symptom=made[0].site,
                related=(
                    Related("layer created here", made_at(history, min(left_out))),
                ),
                tensors=tuple(sorted(left_out)),
                edit=given(optimizer.site, owners(history, left_out)),
                certainty=0.9,
            )


def _copied(history: History, optimizer: Optimizer) -> dict[int, Call]:
    """Return the first copy of each of the optimizer's tensors that gets a gradient."""
    seen, born = learning.last_seen(history), learning.births(history)
    own = {seen[each].storage for each in optimizer.tensors if each in seen}
    found: dict[int, Call] = {}
    for key in sorted(learning.given_gradients(history) & born.keys()):
        call = born[key]
        source = {value.storage for value in call.inputs}
        if call.op == "clone" and call.index > optimizer.made and source <= own:
            own -= source
            found[key] = call
    return found


def _of_copies(
    history: History, key: int, copied: dict[int, Call], step: RawSite | None
) -> Hit:
    """Tell of a model that only lends its values to copies, which learn instead."""
    site = next(iter(copied.values())).site
    return Hit(
        f"{optimizer_words(history, key)} trains nothing: its parameters get no "
        f"gradient, because {history.line(site)} copies them and the loss is computed "
        f"from the copies. The gradients go to {learning.listed(history, copied)}.",
        site,
        "Compute the loss from the parameters that the optimizer holds. If the copies "
        "are meant to learn first, as in meta-learning, add their gradients to the "
        "`.grad` of the parameters before `step()`.",
        symptom=step,
        tensors=tuple(copied),
        certainty=0.9,
    )


def _of_new_leaves(
    history: History, optimizer: Optimizer, steps: list[OptimizerCall]
) -> Iterator[Hit]:
    """Tell of leaves that are made of the parameters and get what those should get."""
    passes = [each for each in history.backwards if each.api == "backward"]
    leaves = passes[-1].leaves if passes else ()
    births = learning.births(history)
    made = [births[each] for each in leaves if each in births]
    own = set(optimizer.tensors)
    later = all(each.index > optimizer.made for each in made)
    if not made or len(made) < len(leaves) or not later:
        return
    told = {leaf for cut in cuts(history) for leaf in cut.lost}  # by other rules
    if own.isdisjoint({*leaves, *told}) and _are_made_of(history, made, own):
        site = made[0].site
        yield Hit(
            f"{optimizer_words(history, optimizer.key)} trains nothing: its parameters "
            f"get no gradient, because {history.line(site)} makes new leaf tensors of "
            f"them. `backward()` in {history.line(passes[-1].site)} stops at the new "
            "tensors.",
            site,
            _keep_the_graph(history, site),
            symptom=steps[0].site,
            related=(Related("backward pass that stops there", passes[-1].site),),
            tensors=optimizer.tensors,
            edit=with_its_graph(site),
            certainty=0.9,
        )


def _of_models(history: History, left_out: set[int]) -> str:
    """Return "of `net`" for the models that get the gradients."""
    names = [f"`{each}`" for each in owners(history, left_out)]
    return f"of {learning.joined(names)}" if names else "that the loss is computed from"


def _keep_the_graph(history: History, site: RawSite | None) -> str:
    """Return what to remove from a line, of what ends a graph."""
    statement = history.places.statement(site)
    text = "" if statement is None else ast.unparse(statement)
    ends = [f"`{each}`" for each in _ENDS if each in text]
    what = f"Remove {learning.joined(ends)}" if ends else "Make no new tensor"
    return f"{what} in {history.line(site)}, so that the result keeps its graph."


def _are_made_of(history: History, made: list[Call], own: set[int]) -> bool:
    """Tell whether calls took the memory of parameters, or what was made of it."""
    seen = learning.last_seen(history)
    memory = {seen[each].storage for each in own if each in seen}
    born = {seen[key].storage: call for key, call in learning.births(history).items()}
    waiting, met = list(made), set[int]()
    while waiting and len(met) < _MOST:
        call = waiting.pop()
        if call.index in met:
            continue
        met.add(call.index)
        for value in call.inputs:
            if value.storage in memory:
                return True
            before = born.get(value.storage, call)
            waiting += [before] if before.index < call.index else []
    return False


def _is_used(history: History, tensor: int, since: int) -> bool:
    """Return whether a graph was built on a tensor since then."""
    return any(call.nodes and call.index > since for call in history.uses(tensor))
