"""GV802: a custom backward returns a gradient of the wrong shape.

What it does
    Explains the error about an invalid gradient, with the ``return`` line.
Why is this bad
    A gradient has the shape of its input. Broadcasting in ``forward`` must be undone by
    sums in ``backward``, and the gradients must come in the order of the inputs.
Example
    ``return g.sum(), g`` for an input of shape (3,)
Use instead
    ``return g.expand(3), g``
When it stays quiet
    The shapes agree, or the gradient can be summed to the shape of the input.
References
    The notes on extending PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from gradviz.diagnosis.custom_functions import (
    definition,
    named,
    named_at,
    place,
    refusals,
    return_place,
    returned,
    returned_for,
)
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import CustomFunction, History

_ERROR = re.compile(
    r"unction (\w+) returned an invalid gradient at index (\d+) - "
    r"got (\[.*?\]) but expected shape compatible with (\[.*?\])"
)


@rule("GV802", "custom-fn-wrong-shape", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the passes that this error ended."""
    for event, match in refusals(history, _ERROR):
        custom = named(history, match[1])
        if custom is None:
            continue
        name, index = custom.name, int(match[2])
        site, line = return_place(
            history, custom.backward, lambda each, n=index: len(returned(each)) > n
        )
        exchanged = _is_of_another(history, custom, match[3])
        got, wanted = (
            [*map(int, re.findall(r"\d+", each))] for each in (match[3], match[4])
        )
        # Of rows, the line that computed it left nothing out: a step is missing.
        bound = None
        if not exchanged and not _is_of_rows(got, wanted):
            bound = _bound_at(history, custom, index)
        gave = site
        if bound is not None and custom.backward is not None:
            site, line = place(history, custom.backward, bound)
        yield Hit(
            f"{name}.backward returned a gradient of shape {match[3]} for input "
            f"{index} of {name}.forward, which has the shape {match[4]}.",
            culprit=site,
            line=line,
            fix=_fix(got, wanted, exchanged),
            symptom=event.site,
            related=(
                Related("forward takes its inputs here", definition(custom.forward)),
                Related("returned here", gave if bound is not None else None),
            ),
            explains=True,
        )


def _fix(got: list[int], wanted: list[int], exchanged: bool) -> str:
    """Return what brings a gradient to the shape of its input."""
    if exchanged:
        return "Return the gradients in the order of the inputs of forward."
    if prod(got) > prod(wanted) and _fits(wanted, got):
        return "Undo the broadcasting: `sum_to_size` gives it the shape of its input."
    if prod(got) < prod(wanted) and _fits(got, wanted):
        return "Undo the reduction: `expand` the gradient to the shape of its input."
    if _is_of_rows(got, wanted):
        return (
            "Give it the shape of its input. Where forward takes rows by an index, add "
            "their gradients up in the rows they came from: `zeros.index_add(0, index, "
            "gradient)`, with zeros of that shape."
        )
    return "Give it the shape of its input."


def _is_of_rows(got: list[int], wanted: list[int]) -> bool:
    """Tell whether a gradient has other rows than its input, of the same shape."""
    apart = not _fits(got, wanted) and not _fits(wanted, got)
    return apart and got[1:] == wanted[1:]


def _fits(narrow: list[int], wide: list[int]) -> bool:
    """Tell whether a shape is broadcast to another."""
    pairs = zip(narrow[::-1], wide[::-1], strict=False)
    return len(narrow) <= len(wide) and all(one in (1, other) for one, other in pairs)


def _bound_at(history: History, custom: CustomFunction, index: int) -> int | None:
    """Return the line that computed a gradient which is returned by its name."""
    given = returned_for(history, custom, index)
    return named_at(history, custom.backward, given[0]) if len(given) == 1 else None


def _is_of_another(history: History, custom: CustomFunction, shape: str) -> bool:
    """Tell whether some input has the shape that a gradient came with."""
    return any(
        str([*value.shape]) == shape
        for call in history.calls
        if call.op == custom.name
        for value in call.inputs
    )
