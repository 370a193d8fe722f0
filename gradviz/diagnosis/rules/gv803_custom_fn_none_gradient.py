"""GV803: a custom backward returns None for an input that needs a gradient.

What it does
    Finds gradients that were None although ``ctx.needs_input_grad`` is true there.
Why is this bad
    None means "no gradient": the input silently never learns.
Example
    ``return g * w, None`` although ``w`` requires grad
Use instead
    ``return g * w, g * x``
When it stays quiet
    The input is no tensor or does not require grad, or its derivative is 0 everywhere.
References
    The notes on extending PyTorch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.custom_functions import (
    is_none,
    return_place,
    returned,
    tensor_positions,
)
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import CustomFunction, History, NodeRun, Value


@rule("GV803", "custom-fn-none-gradient", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the inputs that got None."""
    for event in history.backwards:
        for run in event.runs:
            node = history.node(run.node)
            custom = node.custom if node is not None else None
            if node is None or custom is None or event.error_node == run.node:
                continue
            for index in _without(custom, run):
                site, line = return_place(
                    history,
                    custom.backward,
                    lambda each, n=index: _gives_none(each, n),
                )
                yield Hit(
                    f"{custom.name}.backward returned None for input {index}"
                    f"{_name(history, custom, index)}, which requires grad: it "
                    "never changes, and no error tells of it.",
                    culprit=site,
                    line=line,
                    fix="Return the derivative with respect to this input. If it is "
                    "meant to be a constant, pass it detached.",
                    symptom=event.site,
                    nodes=(node.key,),
                )


def _without(custom: CustomFunction, run: NodeRun) -> list[int]:
    """Return the inputs that need a gradient and got None from this run."""
    places = tensor_positions(custom)
    if len(places) != len(run.outgoing):
        places = list(range(len(run.outgoing)))
    if all(each is None for each in run.incoming):
        return []
    return [
        place
        for place, gradient in zip(places, run.outgoing, strict=False)
        if gradient is None
        and place < len(custom.needs_grad)
        and custom.needs_grad[place]
        and not _flat(custom, place)
    ]


def _flat(custom: CustomFunction, place: int) -> bool:
    check = custom.check
    return check is not None and check.flat and check.input == place


def _gives_none(statement: ast.Return, index: int) -> bool:
    values = returned(statement)
    return index < len(values) and is_none(values[index])


def _name(history: History, custom: CustomFunction, index: int) -> str:
    value = custom.inputs[index] if index < len(custom.inputs) else None
    name = history.name(value, "") if isinstance(value, Value) else ""
    return f" ({name})" if name else ""
