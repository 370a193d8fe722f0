"""An operation got tensors whose shapes do not go together.

What it does
    Explains the refusal, and names where each operand got its shape.

Why is this bad
    The message has two shapes and no names. One of them was decided far away: in the
    constructor of a layer, a ``view``, a loader.

Example
    ::

        hidden = nn.Linear(8, 16)(x)
        nn.Linear(8, 1)(hidden)

Use instead
    ::

        hidden = nn.Linear(8, 16)(x)
        nn.Linear(16, 1)(hidden)

When it stays quiet
    Where the program handles the error, it is an information only.

References
    https://pytorch.org/docs/stable/generated/torch.matmul.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.diagnosis._raised import failing
from gradviz.diagnosis.edits.shapes import first_size
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import behind, origin, shape_text
from gradviz.program import Call, History, Value

_ROWS = "Expected input batch_size"
_SENTENCES = (
    "shapes cannot be multiplied",
    "must match the size of tensor",
    "size mismatch",
    "mat1 dim 1 must match mat2 dim 0",
    "Expected size for first two dimensions",
    "Sizes of tensors must match",
    "expected input[",
    "to have the same",
    _ROWS,
    "doesn't match the broadcast shape",
)


@rule("GV618", "shape-mismatch", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, *_SENTENCES):
        if len(call.inputs) > 1:
            yield _hit(history, call)


def _hit(history: History, call: Call) -> Hit:
    operands = list(call.inputs)
    layer = next((each for each in operands if each.is_parameter), None)
    lost = _rows_lost(history, call) if _ROWS in (call.error or "") else None
    culprit = call.site if layer is None else origin(history, layer, "shape")
    listed = ", ".join(
        f"{history.name(each, f'operand {place}')} is {shape_text(each)} since "
        f"{history.line(origin(history, each, 'shape'))}"
        for place, each in enumerate(operands, 1)
    )
    ended, fix = history.ended_by(call), _fix(layer, call)
    why = ""
    flat = _not_flat(operands[0], layer) if call.op == "linear" else None
    if flat is not None:
        culprit = origin(history, operands[0], "shape") or call.site
        why = (
            f" The layer takes the {flat} numbers of dimensions 1 to "
            f"{len(operands[0].shape) - 1} as one: its input was not flattened so far."
        )
        fix = "Flatten all but the first dimension: `x.flatten(1)`."
    if lost is not None:
        culprit, rows = lost.site, operands[1].shape[0]
        why = (
            f" The {rows} samples get lost in `{history.text(culprit)}` "
            f"({history.line(culprit)}): its operand has {rows} rows, its result "
            f"{operands[0].shape[0]}."
        )
        fix = "Take it from another dimension: dimension 0 is that of the samples."
    return Hit(
        f"`{call.op}` cannot combine these shapes: {listed}.{why}",
        culprit or call.site,
        fix,
        symptom=call.site,
        related=(
            *(
                Related(f"shape {shape_text(each)} made here", _site(history, each))
                for each in operands
            ),
            Related("both meet here", call.site, fix),
        ),
        tensors=tuple(each.tensor for each in operands),
        severity=None if ended else "info",
        explains=ended,
        edit=first_size(culprit, operands[0].shape[-1])
        if call.op == "linear" and layer is not None and operands[0].shape and not flat
        else None,
        certainty=0.6,
    )


def _not_flat(given: Value, layer: Value | None) -> int | None:
    """Return how many inputs a layer takes, if its operand has them not flattened."""
    size = prod(given.shape[1:])
    several = len(given.shape) > 2 and layer is not None and len(layer.shape) == 2
    return size if several and layer is not None and layer.shape[1] == size else None


def _rows_lost(history: History, loss: Call) -> Call | None:
    """Return the call on the way to a loss whose result has other samples."""
    rows = loss.inputs[1].shape[:1]
    for call in behind(history, loss.inputs[0], loss.index):
        if not call.inputs or call.inputs[0].is_parameter:
            return None
        if call.inputs[0].shape[:1] == rows:
            return call
    return None


def _site(history: History, value: Value):
    return origin(history, value, "shape")


def _fix(layer: Value | None, call: Call) -> str:
    if layer is None:
        return "Reshape or transpose one of them where it is made."
    size, given = "", call.inputs[0].shape
    if call.op == "linear" and len(layer.shape) == 2 and given:
        size = f", `nn.Linear({given[-1]}, {layer.shape[0]})`"
    return f"Give the layer the size that it gets{size}, or reshape what goes into it."
