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

import ast
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import sampled
from gradviz.dependence.nesting import calls_of
from gradviz.diagnosis.decisions.bindings import looked_up
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.optimizers import of_parameters
from gradviz.diagnosis.edits.syntax import names_in
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
    for later, first, known in given_twice(history):
        if first is None:
            yield _repeating(history, later, known)
        else:
            yield _holding_the_same(history, later, first, known)


@learning.once
def given_twice(
    history: History,
) -> list[tuple[Optimizer, Optimizer | None, set[int]]]:
    """Return optimizers, the one that holds the same, and what none holds.

    None where an optimizer holds something twice itself.
    """
    found = list[tuple[Optimizer, Optimizer | None, set[int]]]()
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
            found.append((later, None, known))
        elif first is not None and known:
            found.append((later, first, known))
    return found


def _holding_the_same(
    history: History, later: Optimizer, first: Optimizer, left_out: set[int]
) -> Hit:
    chosen, late = of_parameters(history, later), _bound_late(history, later, first)
    wrong = _named_after(history, (first, later), left_out) or later
    right = first if wrong is later else later
    missing = learning.listed(history, left_out)
    held = learning.listed(history, later.tensors)
    fix = f"Give {optimizer_words(history, wrong.key)} {_instead(history, left_out)}."
    why = ""
    if late:
        why = f" The lambda reads `{late}` when it is called, after the loop has ended."
        fix = (
            f"Bind `{late}` as a default in {history.line(later.site)}: "
            f"`lambda {_bound_now(history, later, late)}: …`."
        )
    return Hit(
        f"No optimizer trains {missing}: {optimizer_words(history, wrong.key)} holds "
        f"{held} instead, like {optimizer_words(history, right.key)}.{why}"
        f"{chosen.words(history)}",
        chosen.site,
        fix,
        symptom=moves(history)[later.key][0].site,
        related=(
            Related("optimizer with the same parameters", first.site),
            Related("never trained", made_at(history, min(left_out))),
        ),
        tensors=tuple(sorted(left_out)),
        edit=None
        if chosen.is_elsewhere or late
        else given(later.site, owners(history, left_out)),
        line=chosen.line,
        certainty=0.9,
    )


def _named_after(
    history: History, optimizers: tuple[Optimizer, Optimizer], left_out: set[int]
) -> Optimizer | None:
    """Return the one of two optimizers whose name has that of a module left out."""
    names = {each.rsplit(".", 1)[-1] for each in _modules_of(history, left_out)}
    named = [o for o in optimizers if o.name and any(n in o.name for n in names)]
    return named[0] if len(named) == 1 else None


def _instead(history: History, left_out: set[int]) -> str:
    """Return "the parameters of `actor`", or their names."""
    names = sorted(_modules_of(history, left_out))
    outer = [
        f"`{each}`"
        for each in names
        if not any(each.startswith(f"{other}.") for other in names)
    ]
    listed = learning.joined(outer) if outer else learning.listed(history, left_out)
    return f"the parameters of {listed}" if outer else listed


def _modules_of(history: History, tensors: set[int]) -> set[str]:
    """Return the names of the modules that some tensors fill."""
    return {
        each.name
        for each in history.program.modules.values()
        if each.name
        and (own := learning.all_parameters(history, each))
        and own <= tensors
        and not each.name.rsplit(".", 1)[-1].isdigit()
    }


def _bound_now(history: History, optimizer: Optimizer, name: str) -> str:
    """Return the parameters of the lambda that makes an optimizer, and a default."""
    where = spot(history, optimizer.site)
    if where is None or not isinstance(where.scope, ast.Lambda):
        return f"{name}={name}"
    given = where.scope.args
    parts = [f"{name}={name}", ast.unparse(given)]
    parts = parts[::-1] if given.args else parts
    return ", ".join(filter(None, parts))


def _bound_late(history: History, later: Optimizer, first: Optimizer) -> str:
    """Return the loop variable that a lambda of a comprehension reads when called."""
    where = spot(history, later.site)
    if where is None or later.site != first.site:
        return ""
    if not isinstance(where.scope, ast.Lambda):
        return ""
    read = looked_up(where.scope)
    for around in where.source.around(where.scope):
        if isinstance(around, ast.DictComp | ast.ListComp | ast.GeneratorExp):
            bound = [n for part in around.generators for n in names_in(part.target)]
            return next((each for each in bound if each in read), "")
    return ""


def _repeating(history: History, optimizer: Optimizer, left_out: set[int]) -> Hit:
    counts = Counter(optimizer.tensors)
    twice = learning.listed(history, [key for key, n in counts.items() if n > 1])
    chosen = of_parameters(history, optimizer)
    return Hit(
        f"No optimizer trains {learning.listed(history, left_out)}: "
        f"{optimizer_words(history, optimizer.key)} was given {twice} twice instead.",
        chosen.site,
        f"Give it {_instead(history, left_out)} in place of the second {twice}.",
        symptom=moves(history)[optimizer.key][0].site,
        related=(
            Related("optimizer created here", optimizer.site),
            Related("never trained", made_at(history, min(left_out))),
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
        f"{optimizer_words(history, more.key)} undoes what "
        f"{optimizer_words(history, part.key)} teaches {name}, because both hold its "
        f"parameters. The gradients at the output of {name} have opposite signs in the "
        "two losses.",
        more.site,
        f"Give {optimizer_words(history, more.key)} only "
        f"{learning.listed(history, {*more.tensors} - {*part.tensors})}. Its loss can "
        f"still be backpropagated through {name}.",
        symptom=moves(history)[more.key][0].site,
        related=(Related("optimizer with the same parameters", part.site),),
        tensors=part.tensors,
        certainty=0.8,
    )
