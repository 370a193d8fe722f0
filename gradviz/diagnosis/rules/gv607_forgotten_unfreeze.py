"""An optimizer was given parameters that are frozen for the whole run.

What it does
    Finds parameters that are in an optimizer and have ``requires_grad`` False at every
    step of it, and the line that froze them. Where everything behind a loss is frozen,
    it explains why ``backward()`` refuses.

Why is this bad
    The optimizer passes over them without a word: a warm-up that should have ended
    goes on for ever.

Example
    ::

        for p in net.body.parameters():
            p.requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

Use instead
    ::

        for p in net.body.parameters():
            p.requires_grad_(True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

When it stays quiet
    Frozen parameters that no optimizer was given, and those that are unfrozen later.
    A model that is frozen in part and handed over whole is an information only: it may
    be meant. A tensor of data in an optimizer, an image that is to change, has to
    require gradients as well.

References
    https://pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import is_dead
from gradviz.diagnosis.decisions.arguments import in_brackets
from gradviz.diagnosis.decisions.conditions import strings_in
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import loops_around, spot
from gradviz.diagnosis.decisions.loops import of_elements
from gradviz.diagnosis.edits.leaves import copied_model
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.edits.training import given, owners
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Backward,
    Call,
    History,
    Optimizer,
    OptimizerCall,
    RawSite,
)


@rule("GV607", "forgotten-unfreeze", "warning")
def check(history: History) -> Iterator[Hit]:
    yield from _dead_passes(history)
    for key, optimizer in history.program.optimizers.items():
        steps = learning.steps_of(history).get(key, [])
        frozen = _always_frozen(steps)
        frozen -= _aliases(history, frozen)  # GV641 tells of those
        for site, tensors in _by_freeze(history, frozen, born=True).items():
            later = _joined_later(history, optimizer.made, tensors)
            everything = frozen == set(optimizer.tensors)
            meant = later or everything  # to learn
            data = not any(learning.is_parameter(history, each) for each in tensors)
            if everything and not data:
                wrong = _wrong_hands(history, optimizer, site, tensors)
                if wrong is not None:
                    yield wrong
                    continue
            names, chosen = learning.listed(history, tensors), _chosen(history, tensors)
            name = f"`{optimizer.name}`" if optimizer.name else "an optimizer"
            frozen_by = (
                "made without `requires_grad=True` in" if data else "frozen since"
            )
            yield Hit(
                f"{names} {learning.plural(len(tensors), 'is', 'are')} in {name}, but "
                f"{frozen_by} {history.line(site)}: none of its {len(steps)} "
                f"{learning.plural(len(steps), 'step', 'steps')} could move "
                f"{learning.plural(len(tensors), 'it', 'them')}.",
                chosen.site,
                "Let it require gradients from the start: `.requires_grad_()`."
                if data
                else "Call `requires_grad_(True)` where training of them is to begin, "
                "or leave them out of the optimizer."
                if meant
                else "Leave them out of the optimizer if they are to stay frozen; "
                "nothing else is to change then. If not, call `requires_grad_(True)` "
                "where training of them is to begin.",
                symptom=steps[0].site,
                related=(
                    _body(chosen),
                    Related("given to the optimizer", optimizer.site),
                ),
                tensors=tuple(sorted(tensors)),
                severity="warning" if meant else "info",
                certainty=0.8 if meant else 0.5,
            )


def _chosen(history: History, tensors: set[int]) -> Decision:
    """Return the line that chose what was frozen."""
    call = learning.freezing(history, min(tensors))
    if call is None:  # born so
        return Decision(learning.created_at(history, min(tensors)))
    if _asks_of_each(history, call):
        return Decision(call.site)
    return of_elements(history, call.site, call.stack)


def _asks_of_each(history: History, call: Call) -> bool:
    """Tell whether a switch asks of each element: ``p.requires_grad = place > 3``."""
    match history.places.statement(call.site):
        case ast.Assign(value=given) | ast.Expr(ast.Call(args=[given])):
            names = set(names_in(given))
        case _:
            return False
    where = spot(history, call.site, call.stack)
    loops = () if where is None else loops_around(where)
    turned = {
        name
        for each in loops
        if isinstance(each, ast.For)
        for name in names_in(each.target)
    }
    return not names.isdisjoint(turned)


def _body(chosen: Decision) -> Related:
    """Return the line that freezes, where another one chose what."""
    return Related("frozen here", chosen.made if chosen.is_elsewhere else None)


def _wrong_hands(
    history: History, optimizer: Optimizer, frozen: RawSite, tensors: set[int]
) -> Hit | None:
    """Return a hit where an optimizer was made of what was frozen before.

    Then what learns is in no optimizer, and the line that made this one is to blame.
    """
    reached = {
        leaf
        for each in history.backwards
        if each.index > optimizer.made and each.api == "backward"
        for leaf in each.leaves
    }
    reached &= learning.parameters(history).keys() - learning.managed(history)
    calls = (learning.freezing(history, each) for each in tensors)
    later = any(call is not None and call.index > optimizer.made for call in calls)
    if later or not reached:
        return None
    name = f"`{optimizer.name}`" if optimizer.name else f"This {optimizer.kind}"
    return Hit(
        f"{name} was given {learning.listed(history, tensors)} only, frozen since "
        f"{history.line(frozen)}: its steps move nothing. The backward passes give "
        f"gradients to {learning.listed(history, reached)}, which no optimizer has.",
        optimizer.site,
        "Give the optimizer the parameters of the module that is to learn.",
        related=(Related("frozen here", frozen),),
        edit=given(optimizer.site, owners(history, reached)),
        tensors=tuple(sorted(reached)),
    )


def _aliases(history: History, tensors: set[int]) -> set[int]:
    """Return the tensors that are a parameter's memory under another name."""
    owners = learning.by_memory(history)
    made = ((each, history.producer(each)) for each in tensors)
    return {
        tensor
        for tensor, call in made
        for value in (() if call is None else call.outputs)
        if value.tensor == tensor and not value.is_parameter
        if value.storage in owners
    }


def _always_frozen(steps: list[OptimizerCall]) -> set[int]:
    frozen = [{e.tensor for e in step.states if not e.requires_grad} for step in steps]
    return set[int].intersection(*frozen) if frozen else set()


def _joined_later(history: History, made: int, tensors: set[int]) -> bool:
    """Return whether training went on without them before this optimizer came."""
    return any(
        step.index < made and not tensors & {each.tensor for each in step.states}
        for step in learning.steps(history)
    )


def _by_freeze(
    history: History, tensors: set[int], *, born: bool = False
) -> dict[RawSite, set[int]]:
    """Return what is frozen by the line that froze it, or else made it so."""
    found: dict[RawSite, set[int]] = {}
    for tensor in sorted(tensors):
        call = learning.freezing(history, tensor)
        made = learning.created_at(history, tensor) if born else None
        site = made if call is None else call.site
        if site is not None:
            found.setdefault(site, set()).add(tensor)
    return found


def _dead_passes(history: History) -> Iterator[Hit]:
    for backward in history.backwards:
        if is_dead(backward) and history.ended_by(backward):
            yield from _explained(history, backward)


def _explained(history: History, backward: Backward) -> Iterator[Hit]:
    behind = history.behind(backward.roots, backward.index)
    seen = learning.last_seen(history)
    used = [seen[each] for each in behind if each in seen]
    learned = behind & {
        leaf
        for each in history.backwards
        if each.index < backward.index and each.site == backward.site
        for leaf in each.leaves
    }
    if not learned and any(each.is_leaf and each.requires_grad for each in used):
        return  # one that could learn was used, so the graph was cut elsewhere
    what = (
        "Earlier calls of this line trained parameters that are frozen by now"
        if learned
        else "The loss was computed from frozen parameters alone"
    )
    for site, tensors in _by_freeze(history, learned or behind).items():
        yield _frozen_hit(history, backward, what, site, tensors, bool(learned))


def _frozen_hit(
    history: History,
    backward: Backward,
    what: str,
    site: RawSite,
    tensors: set[int],
    learned: bool,
) -> Hit:
    alias, same, chosen = _alias(history, site), "", _chosen(history, tensors)
    culprit = chosen.site
    fix = "Unfreeze what is to learn with `requires_grad_(True)`."
    asked = None if alias is not None else _asked(history, min(tensors))
    if asked is not None:
        chosen, culprit = asked, asked.site
        same = (
            f" `{asked.text}` ({history.line(asked.site)}) was to select by name, and "
            "left nothing of them to learn."
        )
        fix = (
            f"Put what is to learn in the place of `{asked.text}`, by the names that "
            "`named_parameters()` gives."
        )
    if alias is not None:
        name, other = ast.unparse(alias.targets[0]), ast.unparse(alias.value)
        culprit = history.places.at_line(site[0], alias.lineno)
        same = (
            f" `{name}` is `{other}` itself since line {alias.lineno}: an assignment "
            "copies no model, so what was frozen is the model that is to learn."
        )
        fix = f"Write `{name} = copy.deepcopy({other})`."
    return Hit(
        f"{what}: {learning.listed(history, tensors)} "
        f"{learning.plural(len(tensors), 'was', 'were')} frozen in "
        f"{history.line(site)}.{same}",
        culprit,
        fix,
        symptom=backward.site,
        edit=None if alias is None else copied_model(culprit, alias.lineno),
        related=(_body(chosen) if alias is None else Related("frozen here", site),),
        line=chosen.line if alias is None else alias.lineno,
        tensors=tuple(sorted(tensors)),
        severity="error",
        explains=True,
        certainty=1.0 if learned else 0.7,
    )


def _asked(history: History, tensor: int) -> Decision | None:
    """Return who chose the names of what learns, where the line that froze asks names.

    That is ``p.requires_grad_(name.startswith(part))``, for each parameter.
    """
    call = learning.freezing(history, tensor)
    where = None if call is None else spot(history, call.site, call.stack)
    if where is None or call is None:
        return None
    found = in_brackets(where.node)
    statement = where.source.statement(where.node)
    if not found and isinstance(statement, ast.Assign):
        found = [statement.value]
    strings = [each for test in found for each in strings_in(where.at(test))]
    if len({each.node for each in strings}) != 1:
        return None
    return decided(history, strings[0], call.site)


def _alias(history: History, site: RawSite) -> ast.Assign | None:
    """Return the assignment that gave a model the name by which it was frozen."""
    around = [
        each.iter if isinstance(each, ast.For) else each
        for each in history.places.around(site)
        if isinstance(each, ast.For | ast.Expr | ast.Assign)
    ]
    names = {name for each in around for name in names_in(each)}
    copies = (
        each
        for each in history.places.in_file(site)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name)
    )
    return next((c for c in copies if names & set(map(ast.unparse, c.targets))), None)
