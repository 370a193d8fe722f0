"""GV505: the steps are too long, and training diverges.

What it does
    Finds values that overflowed after the steps of an optimizer had made a parameter a
    million times as large as it was, and losses that ended a million times as large as
    they began. Names who chose the learning rate; of an optimizer that the program
    wrote itself, what moves the parameters.
Why is this bad
    Each step overshoots and makes the next gradient larger, until the loss is Inf and
    the parameters NaN. The op that overflows is not to blame.
Example
    ``torch.optim.SGD(net.parameters(), lr=100.0)``
Use instead
    A smaller ``lr``, a warm-up, or ``clip_grad_norm_`` before the step.
When it stays quiet
    Nothing overflows, or the parameters kept their size; and the loss stays below a
    million times what it was.
References
    Pascanu, Mikolov and Bengio, 2013.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.bindings import definition, of_name
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.optimizers import of_rate
from gradviz.diagnosis.decisions.sites import site_of, sources_of
from gradviz.diagnosis.measured import measured
from gradviz.diagnosis.nonfinite import Birth
from gradviz.diagnosis.nonfinite_kinds import of_kind, runaway
from gradviz.diagnosis.rule import LAST_RESORT, Hit, Related, rule
from gradviz.diagnosis.rules._gradients import applied_by, clips, steps_with
from gradviz.program import Call, History, Optimizer, RawSite

_GROWN = 1e6  # times what a loss was at first
_ALIKE = 100.0  # by which a factor of an update may change as training goes on
_FACTORS = frozenset(["value", "alpha", "weight"])


@rule("GV505", "diverging-training", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the overflows after parameters had run away."""
    births = of_kind(history, "diverged")
    if not births:
        yield from _grown(history)
    clipped = clips(history) if births else []
    if not all(each.inputs for each in clipped):
        return  # the clip that got no parameters is why: GV662 tells of it
    for birth in births:
        optimizer = runaway(history, birth)
        if optimizer is None:
            continue
        hit = words.hit(
            history,
            birth,
            f"{history.quoted(birth.site)} gave {words.kind_of(birth)}, because the "
            f"steps of {optimizer.kind} ({history.line(optimizer.site)}) had made the "
            "parameters more than a million times as large as they were"
            f"{_operands(history, birth)}.",
            "Lower the learning rate"
            + ("." if clipped else ", or clip the gradients before the step."),
        )
        yield _of_steps(history, hit, optimizer)


def _operands(history: History, birth: Birth) -> str:
    """Say in brackets what the operands were, as far as that is known."""
    said = "" if birth.call is None else words.operands(history, birth.call)
    return f" ({said})" if said else ""


def _grown(history: History) -> Iterator[Hit]:
    """Yield who made a loss grow that stayed finite, as far as the run went."""
    taken = [each for each in history.backwards if each.index in applied_by(history)]
    loss = measured(history)
    first, last = loss.first_loss, loss.last_loss
    if not taken or first is None or last is None or not isfinite(last):
        return
    if first < 0 or last < _GROWN * max(first, 1.0):
        return
    step = steps_with(history)[taken[-1].index][0]
    optimizer = history.program.optimizers[step.optimizer]
    hit = Hit(
        f"The loss of {history.line(taken[-1].site)} went from {first:.3g} to "
        f"{last:.3g}: the steps of {optimizer.kind} ({history.line(optimizer.site)}) "
        "make it larger instead of smaller.",
        optimizer.site,
        "Lower the learning rate, or clip the gradients before the step.",
        symptom=taken[-1].site,
        related=(Related("made here", optimizer.site),),
        severity="warning",
        certainty=LAST_RESORT,  # whatever else was found may be why
    )
    yield _of_steps(history, hit, optimizer)


def _of_steps(history: History, hit: Hit, optimizer: Optimizer) -> Hit:
    """Name who chose the rate; of the program's own optimizer, what moves so far."""
    moves = _moves(history, optimizer)
    if moves:
        return _of_update(history, hit, moves)
    chosen = of_rate(history, optimizer)
    return replace(hit, culprit=chosen.site, line=chosen.line)


def _of_update(history: History, hit: Hit, moves: list[Call]) -> Hit:
    """Name the update of the program's own optimizer, or what made it so large."""
    first, last = moves[0], moves[-1]
    told = f"{history.quoted(last.site)} moves the parameters"
    site = last.site
    for name in _FACTORS & first.keywords.keys() & last.keywords.keys():
        old, new = first.keywords[name], last.keywords[name]
        if isinstance(old, float) and isinstance(new, float) and old:
            told += (
                f", with a `{name}` of {new:.3g} in the last step, and {old:.3g} in an "
                "earlier one"
            )
            made = _made_of(history, last, name) if abs(new / old) > _ALIKE else None
            if made is not None:
                told, site = f"{told}, by {history.quoted(made)}", made
    return replace(
        hit,
        message=f"{hit.message} {told}.",
        culprit=site,
        fix="Compare the sign and the size of this update with its formula, at the "
        "first step and at a late one; a smaller learning rate may hide what is wrong.",
        related=(*hit.related, Related("parameters are moved here", last.site)),
    )


def _moves(history: History, optimizer: Optimizer) -> list[Call]:
    """Return the calls by which the program's own optimizer writes one parameter.

    Those of the last such line; none of an optimizer of a library.
    """
    if not any(definition(each, optimizer.kind) for each in sources_of(history)):
        return []
    for tensor in optimizer.tensors:
        used = (each for call in history.uses(tensor) for each in call.inputs)
        value = next((each for each in used if each.tensor == tensor), None)
        rows = [] if value is None else history.writes(value.storage, optimizer.made)
        if rows:
            return [call for call, _ in rows if call.site == rows[-1][0].site]
    return []


def _made_of(history: History, call: Call, name: str) -> RawSite | None:
    """Return the line that computed the only name in an argument that one did."""
    where = spot(history, call.site, call.stack)
    argument = None if where is None else given(where, None, (name,))
    names = [] if argument is None else [*ast.walk(argument.node)]
    made = [
        bound
        for each in names
        if argument is not None and isinstance(each, ast.Name)
        if (bound := of_name(argument.at(each))) is not None
        and isinstance(bound.node, ast.BinOp | ast.Call)
    ]
    return site_of(history, made[0]) if len(made) == 1 else None
