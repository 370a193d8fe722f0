"""Products with weights, and the lines that gave these their first values."""

from __future__ import annotations

from gradviz.dependence import learning
from gradviz.dependence.op_families import of_op, plain
from gradviz.diagnosis.decisions.decision import Decision, of_function
from gradviz.diagnosis.gradient_flow import origin
from gradviz.program import Call, History, Value


def is_product(call: Call) -> bool:
    """Tell whether a call multiplies what it is given with weights."""
    op = plain(call.op)
    return op.startswith("conv") or (of_op(call.op) == "product" and "add" not in op)


def filled_at(history: History, value: Value, use: Call) -> Decision:
    """Return the line that chose the values of a weight that a call found in it.

    That is the line which filled it, or the setting which chose the function to do so.
    """
    maker = origin(history, value, use.index)
    if maker is not None:
        return of_function(history, maker, ())
    born = learning.births(history).get(value.tensor)
    created = learning.created_at(history, value.tensor)
    return Decision(created or (born and born.site))
