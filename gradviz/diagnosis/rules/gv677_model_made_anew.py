"""A model is made anew for every step.

What it does
    Finds lines that make new parameters for at least three optimizers of one line, each
    of which did a single step or none, where nothing is computed with them after that.
    Finds lines whose models are made anew for each pass, as by a property, where the
    optimizer has the parameters of an earlier one.

Why is this bad
    Each model learns from one batch and is given up. The next begins with random
    values: nothing adds up, and the loss of the last batch is that of an untrained
    model.

Example
    ::

        for x, y in loader:
            model = nn.Linear(8, 1)
            optimizer = torch.optim.Adam(model.parameters())
            ...

Use instead
    ::

        model = nn.Linear(8, 1)
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            ...

When it stays quiet
    Models that are used after their step, as in a search or an ensemble, those that
    begin as copies of another one, and ``LBFGS``, which does a whole search in one
    step.

References
    https://pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._loop_helpers import moves
from gradviz.diagnosis.rules._made_anew import LEAST, MadeAnew, asked_at, made_anew
from gradviz.diagnosis.rules._origins import made_at
from gradviz.program import Event, History, Optimizer, RawSite


@rule("GV677", "model-made-anew", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes them."""
    found, stepped = defaultdict[RawSite, list[Optimizer]](list), moves(history)
    for each in history.program.optimizers.values():
        learnt = each.key in stepped and each.kind != "LBFGS"
        if learnt and each.site is not None and each.tensors:
            found[each.site].append(each)
    for site, made in found.items():
        if len(made) >= LEAST and _are_given_up(history, made, stepped):
            first = made[0]
            model = _made(history, first, site)
            step = stepped[first.key][0]
            yield Hit(
                f"{history.quoted(model)} made {len(made)} models, and each was "
                "trained for a single step and never used again: what it learned is "
                "lost, and the next one begins with new values.",
                model,
                "Make the model and its optimizer once, before the loop.",
                symptom=step.site,
                related=(
                    Related("its optimizer is made here", site),
                    Related("its only step", step.site),
                ),
                tensors=first.tensors,
                certainty=0.9,
            )
    yield from (_beside_optimizer(history, each) for each in made_anew(history))


def _beside_optimizer(history: History, anew: MadeAnew) -> Hit:
    site, is_property = asked_at(history, anew)
    optimizer = anew.optimizer
    name = f"`{optimizer.name}`" if optimizer.name else f"the {optimizer.kind}"
    once = ", as `functools.cached_property` does" if is_property else ""
    return Hit(
        f"{history.quoted(anew.first.site)} made a new model for each of {anew.count} "
        f"passes, and {name} ({history.line(optimizer.site)}) has the parameters of "
        "another one: what it steps computes no loss, and each loss is that of random "
        "weights.",
        site,
        f"Make the model once{once}, and use that one in each step.",
        symptom=optimizer.site,
        related=(
            Related("made here", anew.first.site),
            Related("its optimizer is made here", optimizer.site),
        ),
        tensors=anew.tensors,
        certainty=0.9,
    )


def _are_given_up(
    history: History, made: list[Optimizer], stepped: dict[int, list[Event]]
) -> bool:
    """Tell whether none of these has a parameter of another, a past or a future."""
    if len({key for each in made for key in each.tensors}) < sum(
        len(each.tensors) for each in made
    ):
        return False
    copies = learning.copies(history)
    for each in made:
        steps = stepped[each.key]
        if len(steps) != 1 or copies.intersection(each.tensors):
            return False
        after = steps[0].index + 1  # the step itself may be a call
        if each is not made[-1] and any(
            use.index > after and use.op != "step"
            for key in each.tensors
            for use in history.uses(key, after=after)
        ):
            return False
    return _trained_once(history, made)


def _trained_once(history: History, made: list[Optimizer]) -> bool:
    """Tell whether one pass alone reached each of these optimizers' parameters."""
    passes: dict[int, int] = defaultdict(int)
    for each in history.backwards:
        for leaf in each.leaves:
            passes[leaf] += 1
    return all(max(passes[key] for key in each.tensors) == 1 for each in made)


def _made(history: History, optimizer: Optimizer, site: RawSite) -> RawSite | None:
    """Return the line that made a model, in the function that made its optimizer."""
    module = learning.module_of(history, optimizer.tensors[0])
    frames = () if module is None else (module.site, *module.stack)
    same = [each for each in frames if each is not None and each[0] is site[0]]
    return same[0] if same else made_at(history, optimizer.tensors[0])
