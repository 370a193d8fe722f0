"""GV801: a custom backward returns more or fewer gradients than forward has inputs.

What it does
    Explains the error about an incorrect number of gradients, with the ``return`` line.
Why is this bad
    ``backward`` must return one gradient per argument of ``forward`` after ``ctx``, in
    the same order, and None for what is no tensor. PyTorch's error names the Function,
    but no line.
Example
    ``forward(ctx, x, factor)`` and ``return g * ctx.factor``
Use instead
    ``return g * ctx.factor, None``
When it stays quiet
    The numbers agree; further Nones at the end are allowed.
References
    pytorch/pytorch#137219.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.diagnosis.custom_functions import (
    custom_nodes,
    definition,
    named,
    refusals,
    return_place,
    returned,
    returns,
)
from gradviz.diagnosis.edits.leaves import returns_none
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, CustomFunction, History
from gradviz.text.words import counted

_ERROR = re.compile(
    r"unction (\w+) returned an incorrect number of gradients "
    r"\(expected (\d+), got (\d+)\)"
)


@rule("GV801", "custom-fn-wrong-number-of-grads", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the passes that this error ended."""
    for event, match in refusals(history, _ERROR):
        custom = named(history, match[1])
        if custom is None:
            continue
        expected, got = int(match[2]), int(match[3])
        site, line = return_place(
            history, custom.backward, lambda each, got=got: len(returned(each)) == got
        )
        ends = custom.backward is not None and not returns(history, custom.backward)
        gave = f"returned {counted(got, 'gradient')}"
        short = _is_short(history, event, custom, expected, got)
        yield Hit(
            f"{custom.name}.forward takes {_inputs(custom, expected)}, but "
            f"{custom.name}.backward {'ends without a return' if ends else gave}. It "
            "must return one per input, in their order.",
            culprit=site,
            line=line,
            fix=f"Return {expected} values, one per input of forward, with None for "
            "each input that is not a tensor or needs no gradient.",
            symptom=event.site,
            related=(
                Related("forward takes its inputs here", definition(custom.forward)),
            ),
            explains=True,
            edit=None if short else returns_none(site, line, expected - got),
        )


def _is_short(
    history: History, event: Backward, custom: CustomFunction, expected: int, got: int
) -> bool:
    """Tell whether a gradient that is missing is wanted: None would be too little.

    Nodes have an edge for each tensor, which leads nowhere where none is wanted.
    """
    mine = (node for node, other in custom_nodes(history) if other is custom)
    edges = next((node.next for node in mine if node.key in event.nodes), ())
    if len(edges) == expected:
        return any(edges[got:])
    return sum(map(bool, edges)) > got


def _inputs(custom: CustomFunction, expected: int) -> str:
    code = custom.forward
    text = counted(expected, "input")
    if code is None:
        return text
    names = code.co_varnames[1 : code.co_argcount]
    if len(names) == expected - 1:  # a forward without ctx, with setup_context
        names = code.co_varnames[: code.co_argcount]
    return f"{text} ({', '.join(names)})" if len(names) == expected else text
