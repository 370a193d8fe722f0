"""The backward of pointwise ops, one specialised function per op, written as source.

What ``_fast.py`` is for forward: a chain of a million products runs two million of
these formulas, and each call and loop between the node and its formula counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _errors
from ._mode import mode
from ._node import SavedTensor
from ._op import Formula, Op, saving_order
from ._slots import FREED
from ._tensor import Tensor

_HEAD = """
def run(self, F, grad):
    raw = F.raw
    call = mode.now.run if raw else plain
"""

_FREED = """
    if self.kept0 is FREED:
        raise RuntimeError(BACKWARD_TWICE)
"""

# A bare tensor was saved at version 0; see _slots. F.unpack checks and serves the rest.
_UNPACK = """
    v{at} = self.kept{at}
    kind = type(v{at})
    if kind is Tensor:
        if raw and (v{at}._memory is None or not v{at}._memory.version):
            v{at} = v{at}._data
        else:
            v{at} = F.unpack(self, self.saved[{at}])
    elif kind is SavedTensor:
        memory = v{at}.memory
        if raw and memory is not None and memory.version == v{at}.version:
            v{at} = v{at}.array
        else:
            v{at} = F.unpack(self, v{at})
"""

_BOTH = """
    first, second = self.nodes
    if second is None:
        return call(f0, F, grad{picks0}), None
    if first is None:
        return None, call(f1, F, grad{picks1})
    return call(both, F, grad{values})


def both(F, grad{values}):
    return f0(F, grad{picks0}), f1(F, grad{picks1})
"""

_ONE = """
    return (call(f0, F, grad{picks0}),)
"""


def is_simple(op: Op) -> bool:
    """Whether :func:`bind_simple` can write the backward of this op."""
    return (
        op.pointwise
        and (op.slotted or not op.saves)
        and [f.edges for f in op.formulas] in ([(0,)], [(0,), (1,)])
        and len(op.edges) == len(op.formulas)
        and not any(f.joint or -1 in f.picks for f in op.formulas)  # -1: "needs"
    )


def bind_simple(op: Op) -> Callable[..., tuple[Any, ...]]:
    """Return the ``run`` method of a pointwise op's node type."""
    parts = [_HEAD]
    if op.saves:
        parts.append(_FREED)
    order = saving_order(op) or range(len(op.saves))
    parts += [_UNPACK.format(at=at) for at in order]
    values = [f"v{at}" for at in range(len(op.saves))]
    for at in range(len(op.param_names)):
        parts.append(f"    p{at} = self.params[{at}]\n")
        values.append(f"p{at}")
    picks = [_arguments(formula, values) for formula in op.formulas]
    tail = _ONE if len(picks) == 1 else _BOTH
    parts.append(
        tail.format(
            picks0=picks[0],
            picks1=picks[-1],
            values="".join(f", {value}" for value in values),
        )
    )
    scope: dict[str, Any] = {
        "BACKWARD_TWICE": _errors.BACKWARD_TWICE,
        "FREED": FREED,
        "SavedTensor": SavedTensor,
        "Tensor": Tensor,
        "mode": mode,
        "plain": plain_call,
        **{f"f{i}": formula.function for i, formula in enumerate(op.formulas)},
    }
    exec(compile("".join(parts), f"<gradtape backward {op.name}>", "exec"), scope)
    return scope["run"]


def _arguments(formula: Formula, values: list[str]) -> str:
    return "".join(f", {values[pick]}" for pick in formula.picks)


def plain_call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a formula whose ops are recorded: it needs no context of its own."""
    return function(*args)
