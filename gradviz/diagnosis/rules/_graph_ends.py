"""Whether what a call gave still has the graph of what it was made from."""

from __future__ import annotations

from collections.abc import Callable

from gradviz.program.events import Call
from gradviz.program.values import Value


def is_apart(call: Call, made: Value) -> bool:
    """Return whether one of several results does not depend on what learns.

    ``broadcast_tensors`` of a learned mean and a constant: the second result is one.
    """
    return (
        not made.requires_grad
        and "float" in made.dtype
        and any(each.requires_grad for each in call.outputs)
    )


def is_new(call: Call, made: Value) -> bool:
    """Return whether a result has none of the graph of what it was made from."""
    if not made.requires_grad:
        return True
    given = any(each.tensor == made.tensor for each in call.inputs)
    return made.is_leaf and not made.is_view and not given


def is_end(value: Value) -> bool:
    return value.requires_grad and value.is_parameter


def meeting(call: Call) -> Callable[[Value], bool]:
    """Return what tells whether a call joins an operand with another that learns."""
    learn = {each.tensor for each in call.inputs if each.requires_grad}
    return lambda operand: len(learn) > (operand.tensor in learn)
