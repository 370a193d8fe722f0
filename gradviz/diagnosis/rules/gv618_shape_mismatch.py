"""An operation got tensors whose shapes do not go together.

What it does
    Explains the refusal, and names where each operand got its shape. Where one of them
    had the dimension that it lacks, the line that gave it away is to blame; where the
    size of a linear layer was computed, the line that did so.

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
from dataclasses import dataclass
from math import prod

from gradviz.dependence import learning
from gradviz.dependence.axis_ops import REDUCTIONS
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import PERMUTATIONS, RESHAPES, plain
from gradviz.diagnosis._raised import failing
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.decisions.numbers import of_size
from gradviz.diagnosis.edits.shapes import first_size
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin, shape_text
from gradviz.program import Call, History, RawSite, Value

_COLUMNS = ("matmul", "__matmul__", "mm", "bmm", "addmm", "baddbmm", "cat", "stack")
_GIVING = RESHAPES | REDUCTIONS | PERMUTATIONS | words("getitem select unbind")
_FIXES = {
    True: "Take it from another dimension: dimension 0 is that of the samples.",
    False: "Take it from another dimension, and keep this one.",
}
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


@dataclass(frozen=True, slots=True)
class _Lost:
    """The call after which a tensor lacks a dimension that another one has."""

    call: Call
    size: int
    is_first: bool  # it was that of the samples


@rule("GV618", "shape-mismatch", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, *_SENTENCES):
        if len(call.inputs) > 1:
            yield _hit(history, call)


def _hit(history: History, call: Call) -> Hit:
    operands = list(call.inputs)
    layer = next((each for each in operands if each.is_parameter), None)
    lost = _lost(history, call)
    culprit = call.site if layer is None else origin(history, layer, "shape")
    listed = ", ".join(
        f"{history.name(each, f'operand {place}')} is {shape_text(each)} since "
        f"{history.line(origin(history, each, 'shape'))}"
        for place, each in enumerate(operands, 1)
    )
    if layer is not None and layer.tensor == call.inputs[1].tensor:
        culprit = _sized(history, call, layer) or culprit
    ended, fix = history.ended_by(call), _fix(layer, call)
    why = ""
    flat = _not_flat(operands[0], layer) if call.op == "linear" else None
    if flat is not None:
        culprit = origin(history, operands[0], "shape") or call.site
        why = (
            f" The layer takes the {flat} numbers of dimensions 1 to "
            f"{len(operands[0].shape) - 1} as one: its input was not flattened so far."
        )
        x = in_code(history.bare_name(operands[0]))
        fix = f"Flatten all but the first dimension: `{x}.flatten(1)`."
    if lost is not None:
        culprit, fix = lost.call.site, _FIXES[lost.is_first]
        what = "samples" if lost.is_first else "elements"
        why = (
            f" The {lost.size} {what} get lost in {history.quoted(culprit)}: its "
            f"operand is {shape_text(lost.call.inputs[0])}, its result "
            f"{shape_text(lost.call.outputs[0])}."
        )
    return Hit(
        f"`{call.op}` cannot combine these shapes: {listed}.{why}",
        culprit or call.site,
        fix,
        symptom=call.site,
        related=(
            *(
                Related(
                    f"shape {shape_text(each)} made here",
                    origin(history, each, "shape"),
                )
                for each in operands
            ),
            Related("both meet here", call.site),
        ),
        tensors=tuple(each.tensor for each in operands),
        severity=None if ended else "info",
        explains=ended,
        edit=first_size(culprit, operands[0].shape[-1])
        if call.op == "linear" and layer is not None and operands[0].shape and not flat
        else None,
        certainty=0.6,
    )


def _sized(history: History, call: Call, weight: Value) -> RawSite | None:
    """Return the line that computed how many features a linear layer takes."""
    given, module = call.inputs[0].shape, learning.module_of(history, weight.tensor)
    if call.op != "linear" or module is None or not given or len(weight.shape) != 2:
        return None
    ratio = given[-1] / weight.shape[1]
    return of_size(history, module, 0, ("in_features",), ratio).site


def _not_flat(given: Value, layer: Value | None) -> int | None:
    """Return how many inputs a layer takes, if its operand has them not flattened."""
    size = prod(given.shape[1:])
    several = len(given.shape) > 2 and layer is not None and len(layer.shape) == 2
    return size if several and layer is not None and layer.shape[1] == size else None


def _lost(history: History, call: Call) -> _Lost | None:
    """Return where the dimension that one operand lacks was given away.

    Of what learns, since targets are as they came; of two that both do, or neither,
    only where one of them had that dimension.
    """
    found: list[_Lost] = []
    one, other = call.inputs[:2]
    learns = [each.requires_grad for each in (one, other)]
    layer = call.op == "linear"
    for given, wanted, may in ((one, other, learns[0]), (other, one, learns[1])):
        if (may or learns[0] == learns[1] or layer) and not given.is_parameter:
            place, size = _differs(call, given, wanted)
            if size > 1:
                found += _given_away(history, call, given, place, size)
    return found[0] if len(found) == 1 else None


def _differs(call: Call, given: Value, wanted: Value) -> tuple[int, int]:
    """Return the dimension in which a tensor does not fit, and the size that would.

    Counted from the last, as shapes are lined up, but for the rows of a loss.
    """
    if _ROWS in (call.error or ""):
        return -len(given.shape), wanted.shape[0]
    if call.op == "linear":
        takes = wanted.shape[1] if len(wanted.shape) == 2 else 0
        return (-1, takes) if given.shape else (0, 0)
    if call.op in _COLUMNS:
        return 0, 0
    for place in range(-1, -min(len(given.shape), len(wanted.shape)) - 1, -1):
        mine, size = given.shape[place], wanted.shape[place]
        if mine != size and 1 not in (mine, size):
            return place, size
    return 0, 0


def _given_away(
    history: History, call: Call, given: Value, place: int, size: int
) -> Iterator[_Lost]:
    """Yield the last call whose operand had a dimension of a size, if there is one.

    In this place, or in another one while its result has none of that size.
    """
    is_first = place == -len(given.shape) and call.op != "linear"
    for each in behind(history, given, call.index):
        data = each.inputs[0] if each.inputs else None
        if data is None or data.is_parameter or not each.outputs:
            return
        if not is_first and any(one.is_parameter for one in each.inputs):
            return  # a layer made the features
        made = each.outputs[0].shape
        at = 0 if is_first else place
        held = data.shape[at] == size if len(data.shape) > max(at, -at - 1) else False
        if held or (size in data.shape and size not in made):
            if is_first or plain(each.op) in _GIVING:
                yield _Lost(each, size, is_first)
            return


def _fix(layer: Value | None, call: Call) -> str:
    if layer is None:
        return "Reshape or transpose one of them where it is made."
    size, given = "", call.inputs[0].shape
    if call.op == "linear" and len(layer.shape) == 2 and given:
        size = f", `nn.Linear({given[-1]}, {layer.shape[0]})`"
    return f"Give the layer the size that it gets{size}, or reshape what goes into it."
