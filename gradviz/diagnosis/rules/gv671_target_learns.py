"""The target of a loss learns as well as the prediction: it comes to meet it.

What it does
    Finds losses of a difference whose target was made of data and of a discounted
    guess of the same parameters as the prediction, ``reward + 0.99 * critic(after)``,
    with its graph. Finds losses whose two sides learn with parameters of their own, and
    with nothing else in the loss to hold them.

Why is this bad
    The gradient goes into both sides. Instead of the prediction moving to the target,
    the target moves to the prediction: guesses are taught by what came before them, and
    two networks that are only to agree agree best where both are constant.

Example
    ::

        target = reward + 0.99 * critic(after)
        loss = F.mse_loss(critic(before), target)

Use instead
    ::

        with torch.no_grad():
            target = reward + 0.99 * critic(after)
        loss = F.mse_loss(critic(before), target)

When it stays quiet
    Targets without a graph; derivatives, as in a differential equation's residual;
    sides that share parameters and no discount; what is left of data when earlier
    predictions were subtracted; other terms that hold both sides; and
    gradients that no step applies.

References
    Sutton and Barto, Reinforcement Learning, section 9.3, semi-gradient methods.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod

from gradviz.dependence.flow import Flow, words
from gradviz.dependence.learning import once
from gradviz.dependence.op_families import DIFFERENCES, DISTANCES, NORMS, plain
from gradviz.dependence.terms import (
    Account,
    Term,
    largest_factor,
    latest,
    taken_apart,
)
from gradviz.diagnosis._words import code
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import applied
from gradviz.diagnosis.rules._lifetime import makers, name_of
from gradviz.diagnosis.rules._terms import accounts
from gradviz.program import Call, History, RawSite, Value

_COMPARISONS = DISTANCES | DIFFERENCES
_SIZES = NORMS | words("pow square abs mean sum clamp where")
_ADDED = words("add sub stack cat getitem select reshape view squeeze")
_SCALED = words("mul div truediv neg")
_NEAR = 50  # calls from an error to its size
_CHOICES = words("max amax min amin gather")
_DISCOUNTS = 0.5, 1.0  # between these; steps of integrators are smaller
_LEAST = 2  # passes that must agree


@rule("GV671", "target-learns", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per difference with a target that learns."""
    turns: dict[RawSite | None, int] = {}
    for account in accounts(history):
        mine = applied(history).get(account.backward.index, set())
        for call in _differences(history, account) if mine else ():
            if turns.get(call.site) == _LEAST:
                continue
            found = _guess(history, call, mine) or _alone(history, account, call, mine)
            turns[call.site] = turns.get(call.site, 0) + (found is not None)
            if turns[call.site] == _LEAST and found is not None:
                yield _hit(history, account, call, found)


def _differences(history: History, account: Account) -> Iterator[Call]:
    known, told = history.once(makers), set[int]()
    for term in account.lines():
        for node in account.nodes(term):
            call = known.get(node.key)
            if call is None or call.index in told or len(call.inputs) < 2:
                continue
            told.add(call.index)
            sides = call.inputs[:2]
            learn = all(each.requires_grad and not each.is_leaf for each in sides)
            if learn and plain(call.op) in _COMPARISONS and _size(history, call):
                yield call


def _size(history: History, call: Call) -> Call | None:
    """Return what makes a size of an error: a distance itself, or a power of it.

    Errors are added up before, as in an advantage over several steps. What is centred
    by its mean is a difference, too, and goes on as it is.
    """
    if plain(call.op) in DISTANCES or not call.outputs:
        return call if plain(call.op) in DISTANCES else None
    waiting, seen = [call], {call.index}
    while waiting and len(seen) < _NEAR:
        made = waiting.pop(0)
        for use in history.uses(made.outputs[0].tensor, made.index):
            if plain(use.op) in _SIZES or _is_square(use):
                return use
            if _hands_on(use) and use.index not in seen:
                seen.add(use.index)
                waiting.append(use)
    return None


def _hands_on(call: Call) -> bool:
    """Tell whether errors go on as they are: added to others, or scaled."""
    learning = sum(each.requires_grad for each in call.inputs)
    name = plain(call.op)
    return bool(call.outputs) and (
        name in _ADDED or (name in _SCALED and learning == 1)
    )


def _is_square(call: Call) -> bool:
    return plain(call.op) == "mul" and len({each.tensor for each in call.inputs}) == 1


def _guess(history: History, call: Call, mine: set[int]) -> Value | None:
    """Return the discounted guess that data was added to, if the call compares one."""
    flow = history.once(Flow)
    sides = [call.inputs[:2], call.inputs[1::-1]]
    for given, target in sides if plain(call.op) in DISTANCES else sides[::-1]:
        terms = taken_apart(history, [target], call.index)
        learning = [term for term in terms if term.has_graph]
        data = [term for term in terms if not term.has_graph and _varies(term)]
        if len(learning) != 1 or not data or _is_derived(history, target, call):
            continue
        if (learning[0].weight or 0) < 0:
            continue  # what earlier predictions left of data is no guess of it
        value = learning[0].value
        same = flow.leaves(given, call.index) & mine
        if value is None or not same or flow.leaves(value, call.index) & mine != same:
            continue
        if _is_discounted(history, learning[0], target, call):
            return value
    return None


def _varies(term: Term) -> bool:
    """Tell data from a number, or from one number that fills a tensor."""
    if term.value is None:
        return False
    found = term.value.summary
    one = prod(term.value.shape) == 1
    return one or found is None or found.minimum != found.maximum


def _is_discounted(history: History, term: Term, target: Value, call: Call) -> bool:
    """Tell whether a guess counts less than what was added to it, or is one of several.

    Where an episode has ended, it may count nothing.
    """
    low, high = _DISCOUNTS
    scale, before = 1.0, call.index
    while term.value is not None and target.tensor != term.value.tensor:
        made = latest(history, target, before)
        learning = [e for e in made.inputs if e.requires_grad] if made else []
        if made is None or len(learning) != 1:
            return False
        scale *= largest_factor(made)
        target, before = learning[0], made.index
    chosen = term.made is not None and plain(term.made.op) in _CHOICES
    return low <= scale < high or chosen


def _is_derived(history: History, value: Value, call: Call) -> bool:
    """Tell whether a derivative that a pass gave went into a value."""
    given = _derivatives(history)
    return bool(given) and not given.isdisjoint(history.behind([value], call.index))


@once
def _derivatives(history: History) -> set[int]:
    passes = [each for each in history.backwards if each.api == "grad"]
    return {each.tensor for one in passes for each in one.results if each is not None}


def _alone(
    history: History, account: Account, call: Call, mine: set[int]
) -> Value | None:
    """Return the second side of the only term of a loss, if both sides learn alone."""
    if len(account.lines()) != 1 or plain(call.op) not in DISTANCES:
        return None
    flow = history.once(Flow)
    one, other = [flow.leaves(each, call.index) & mine for each in call.inputs[:2]]
    apart = one and other and not one & other
    derived = any(_is_derived(history, each, call) for each in call.inputs[:2])
    return call.inputs[1] if apart and not derived else None


def _from_constant(history: History, call: Call, size: Call) -> str:
    """Return the line that makes the loss, of errors with a constant target.

    Where that line has names for all errors and all predictions, of one shape.
    """
    match parsed_expression(history.text(call.site)):
        case ast.BinOp(_, ast.Sub(), ast.Subscript(ast.Name(values), _)):
            pass
        case _:
            return ""
    errors, site, own = size.inputs[0], size.site, call.site
    name = name_of(history, errors, "").strip("`")
    made = history.producer(call.inputs[1], call.index)
    if made is None or not made.inputs or made.inputs[0].shape != errors.shape:
        return ""
    statement = history.places.statement(site)
    whole = site is not None and own is not None and site[0] is own[0]
    if not whole or statement is None or names_in(statement).count(name) != 1:
        return ""
    new = f"(({name} + {values}).detach() - {values})"
    line = re.sub(
        rf"(?<![\w.]){re.escape(name)}(?!\w)", new, code(history, site), count=1
    )
    return f"Let the values follow a constant: `{line}` in {history.line(site)}."


def _hit(history: History, account: Account, call: Call, value: Value) -> Hit:
    size = _size(history, call) or call
    summed = size is not call and call.outputs[0].tensor not in {
        each.tensor for each in size.inputs
    }
    made = size if summed else history.producer(value, call.index)
    name = history.name(value, "the target")
    learns = history.line((history.producer(value, call.index) or call).site)
    fix = (
        "Make the target a constant: compute it under `torch.no_grad()`, or "
        "`.detach()` it."
    )
    if summed:
        fix = (
            "Let the values follow a constant: compute the loss of "
            "`(errors + values).detach() - values` instead of the errors themselves."
        )
        fix = _from_constant(history, call, size) or fix
    return Hit(
        f"{history.quoted(call.site)} compares a prediction with a target that learns "
        f"too: the gradient goes into {name} of {learns}, and moves the target to the "
        "prediction."
        + (f" {history.quoted(size.site)} makes the loss of such errors." * summed),
        call.site if made is None else made.site,
        fix,
        symptom=account.backward.site,
        related=(Related("compared here", call.site),),
        nodes=call.nodes,
        tensors=(value.tensor,),
        certainty=0.7,
    )
