"""GV806: a custom backward disagrees with the numeric derivative of its forward.

What it does
    Compares the gradients of each Function that a run used with finite differences of
    its ``forward``, in float64.
Why is this bad
    Training runs, the loss may even fall, and the gradients are wrong.
Example
    ``return g * 2 * x ** 2`` for ``x ** 3``
Use instead
    ``return g * 3 * x ** 2``; and ``torch.autograd.gradcheck`` in a test.
When it stays quiet
    The forward function has no derivative (it rounds, as for a straight-through
    estimator), returns its input (a gradient reversal), draws random numbers, attaches
    a loss that it does not compute with, or the two agree.
References
    pytorch/pytorch#8659.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.draws import draws
from gradviz.dependence.nesting import within
from gradviz.dependence.op_families import STEPS, plain
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.custom_functions import (
    custom_nodes,
    has_failed,
    named_at,
    place,
    return_place,
    returned,
    returned_for,
)
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._function_words import argument
from gradviz.diagnosis.rules.gv810_gradcheck_float32 import failed_checks
from gradviz.program import CustomFunction, DerivativeCheck, History, RawSite

_FLAT = 1e-6  # of a slope


@rule("GV806", "custom-fn-wrong-formula", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the Functions whose check failed, each once."""
    found = [(custom, node.site) for node, custom in custom_nodes(history)]
    found += [(custom, None) for custom in history.program.functions]
    seen: set[object] = set()
    random, stepped = set[str](), set[str]()
    for applied in history.calls if found else ():
        for call in within(history).get(applied.index, ()):
            random |= {applied.op} if draws(call) else set()
            stepped |= {applied.op} if plain(call.op) in STEPS else set()
    for custom, site in found:
        checked = custom.check
        deaf = checked is not None and checked.unmoved
        failed = has_failed(custom) or (deaf and custom.name in history.once(_weighted))
        if checked is None or not failed or custom.name in random:
            continue
        if deaf and checked.flat and not checked.index:
            continue  # a loss that is attached to a result: its own gradient is 1
        if custom.name in stepped and checked.swapped is None and not checked.unmoved:
            continue
        if custom.backward not in seen:
            seen.add(custom.backward)
            yield _hit(history, custom, checked, site)


def _weighted(history: History) -> set[str]:
    """Return the Functions whose backward was given another gradient than 1, by name.

    The weight of a term and the scale of a loss come in by it: to ignore it is wrong
    also where forward is flat, and the gradient made up on purpose.
    """
    return {
        node.custom.name
        for backward in history.backwards
        for run in backward.runs
        if (node := history.node(run.node)) is not None and node.custom is not None
        for each in run.incoming
        if each is not None and (each.minimum, each.maximum) != (1.0, 1.0)
    }


def _hit(
    history: History,
    custom: CustomFunction,
    checked: DerivativeCheck,
    applied: RawSite | None,
) -> Hit:
    if checked.swapped is not None or checked.unmoved:
        return _not_a_formula(history, custom, checked, applied)
    site, line = _formula(history, custom, checked.input)
    name = argument(custom, checked.input)
    where = f" for element {list(checked.index)} of {name}" if checked.index else ""
    times = f", times `{_given(custom)}`" if _given(custom) else ""
    what = f"the derivative of `{custom.name}.forward` with respect to {name}"
    differs = (
        "differs, where `forward` is flat, from"
        if _passes_flat(checked)
        else "gives wrong gradients: it is not"
    )
    return Hit(
        f"`{custom.name}.backward` {differs} {what}. It gives "
        f"{checked.analytic:g}{where}, but the numeric derivative is "
        f"{checked.numeric:g}{_ratio(checked)}.",
        culprit=site,
        line=line,
        fix=f"Return the derivative of `forward` with respect to {name}{times}. Test "
        "it with `torch.autograd.gradcheck` on float64 inputs.",
        symptom=applied,
        related=(Related("Function applied here", applied),),
        severity="info" if _passes_flat(checked) else None,
        explains=any(failed_checks(history)),
        certainty=0.9,
    )


def _not_a_formula(
    history: History,
    custom: CustomFunction,
    checked: DerivativeCheck,
    applied: RawSite | None,
) -> Hit:
    """Blame what is returned, and not a line that computes it."""
    first, second = checked.input, checked.swapped
    last = first if second is None else max(first, second)
    site, line = return_place(
        history, custom.backward, lambda each: last < len(returned(each))
    )
    name, answer = _given(custom), _answer(history, custom, first)
    given = f"`{name}`" if name else "the gradient that it is given"
    mine = argument(custom, first)
    message = (
        f"`{custom.name}.backward` ignores {given}, so the gradient of {mine} is wrong "
        f"as soon as the output of `{custom.name}` is multiplied by a weight or the "
        "loss is scaled."
        if second is None
        else f"`{custom.name}.backward` returns the gradients of {mine} and "
        f"{argument(custom, second)} in the wrong order, so each gets the gradient of "
        "the other. Their shapes are the same, so no error is raised."
    )
    return Hit(
        message,
        culprit=site,
        line=line,
        fix=f"Return `{name} * {answer}` for {mine}."
        if second is None and name
        else f"Multiply what is returned for {mine} by the given gradient."
        if second is None
        else f"Return the gradients in the order of the arguments of "
        f"`{custom.name}.forward`.",
        symptom=applied,
        related=(Related("Function applied here", applied),),
        explains=any(failed_checks(history)),
        certainty=0.95,
    )


def _given(custom: CustomFunction) -> str:
    """Return the name of the one gradient that a backward is given."""
    code = custom.backward
    plain_one = code is not None and code.co_argcount == 2 and not code.co_flags & 4
    return code.co_varnames[1] if code and plain_one else ""


def _answer(history: History, custom: CustomFunction, number: int) -> str:
    """Return what a backward returns for an input, as it is written."""
    nodes = returned_for(history, custom, number)
    return in_code(ast.unparse(nodes[0])) if len(nodes) == 1 else "…"


def _passes_flat(checked: DerivativeCheck) -> bool:
    """Whether backward differs only where forward is flat: a clamp may want that."""
    return bool(checked.entries) and all(
        abs(numeric) < _FLAT for _, _, numeric in checked.entries
    )


def _ratio(checked: DerivativeCheck) -> str:
    if _passes_flat(checked):
        return " there, and everywhere else the two agree"
    if checked.ratio is not None:
        return f": all entries are {checked.ratio:.4g} times the right value"
    return ""


def _formula(
    history: History, custom: CustomFunction, index: int
) -> tuple[RawSite | None, int | None]:
    """Return the line that computes a gradient: a return, or what it names."""
    code, values = custom.backward, returned_for(history, custom, index)
    line = named_at(history, code, values[-1]) if values else None
    if code is not None and line is not None:
        return place(history, code, line)
    return return_place(history, code, lambda each: index < len(returned(each)))
