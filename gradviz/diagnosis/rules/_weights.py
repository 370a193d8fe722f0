"""Products with weights, and the lines that gave these their first values."""

from __future__ import annotations

from gradviz.dependence import learning
from gradviz.dependence.op_families import of_op, plain
from gradviz.diagnosis.gradient_flow import origin
from gradviz.program import Call, History, RawSite, Value


def is_product(call: Call) -> bool:
    """Tell whether a call multiplies what it is given with weights."""
    op = plain(call.op)
    return op.startswith("conv") or (of_op(call.op) == "product" and "add" not in op)


def filled_at(history: History, value: Value, use: Call) -> RawSite | None:
    """Return the line that gave a weight the values that a call found in it."""
    maker = origin(history, value, use.index)
    if maker is not None:
        return maker.site
    born = learning.births(history).get(value.tensor)
    return learning.created_at(history, value.tensor) or (born and born.site)
