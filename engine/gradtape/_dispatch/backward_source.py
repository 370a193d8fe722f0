"""The backward of ops, one specialised function per op, written as source.

What ``_fast.py`` is for forward: a chain of a million products runs two million of
these formulas, and each call and loop between the node and its formula counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._common import messages as _errors
from .._graph.node import SavedTensor
from .._graph.op import Formula, Op, saving_order
from .._modes.grad_mode import mode
from .._saved.slots import FREED
from .._tensor.tensor import Tensor

_HEAD = """
def run(self, F, grad):
    raw = F.raw
"""

_CALL = """
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

_ONE = """
    return ({part},)
"""

_TWO = """
    first, second = self.nodes
    if second is None:
        return {first}, None
    if first is None:
        return None, {second}
    return {pair}
"""

# The gradient goes on, so no other formula may write over it.
_KEEPING = """
    F = F.keeping
"""

# Two formulas in one call, of which the last may write over the gradient; one that
# hands the gradient on is not called at all.
_BOTH = """

def both(F, grad{given}):
    other = f1(F.keeping, grad{second})
    return f0(F, grad{first}), other
"""

# Of formulas that are alike one will do for x * x. Not for x * x.detach(), whose
# gradients belong to two tensors: each is to have an array of its own. Where nobody
# sees the two before they are added up, that is done here, in place.
_TWICE = """

def twice(F, grad, v0, v1):
    found = f0(F, grad, v1)
    if F.owns:
        found += found
        return found, None
    return found, found
"""

_SAME = "twice if raw and v0 is v1 and first is second else both"


_SPELLED = """
def run(self, F, grad):
    raw = F.raw
    call = mode.now.run if raw else plain
    {edges}= self.nodes
"""

_SAVED = """
    saved = self.saved
    if saved is None:
        raise RuntimeError(BACKWARD_TWICE)
    {values}= saved
"""

_UNPACK_ONE = """
    if type(v{at}) is SavedTensor:
        tensor = v{at}.tensor
        memory = v{at}.memory
        if memory is None:
            memory = tensor._memory
        if raw and (memory is None or memory.version == v{at}.version):
            v{at} = v{at}.held if tensor is None else tensor._data
        else:
            v{at} = F.unpack(self, v{at})
"""

_GRADIENT = """
    g{at} = {value} if e{at} is not None else None
"""

_JOINT = """
    if {wanted}:
        {gradients}= {value}
        {unwanted}
    else:
        {gradients}= {nothing}
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
    parts.append(_tail(op.formulas, values))
    return _compiled(op, parts)


def bind_spelled(op: Op) -> Callable[..., tuple[Any, ...]]:
    """Return the ``run`` method of an op that takes no sequence of tensors."""
    edges = [f"e{at}" for at in range(len(op.edges))]
    parts = [_SPELLED.format(edges="".join(f"{edge}, " for edge in edges))]
    values = [f"v{at}" for at in range(len(op.saves))]
    if values:
        parts.append(_SAVED.format(values="".join(f"{value}, " for value in values)))
    for at in saving_order(op) or range(len(values)):
        parts.append(_UNPACK_ONE.format(at=at))
    if len(op.formulas) > 1:
        parts.append(_KEEPING)
    names = [f"p{at}" for at in range(len(op.param_names))]
    if any(pick >= len(values) for formula in op.formulas for pick in formula.picks):
        parts.append(f"    {''.join(f'{name}, ' for name in names)}= self.params\n")
    needs = "".join(f"{edge} is not None, " for edge in edges)
    known = [*values, *names, f"({needs})"]
    done: list[int] = []
    for number, formula in enumerate(op.formulas):
        picked = "".join(f", {known[pick]}" for pick in formula.picks)
        value = f"call(f{number}, F, grad{picked})"
        if formula.joint:
            parts.append(_joint(formula.edges, value))
        else:
            value = "grad" if formula.hands_on else value
            parts.append(_GRADIENT.format(at=formula.edges[0], value=value))
        done += formula.edges
    found = "".join(f"g{at}, " if at in done else "None, " for at in range(len(edges)))
    parts.append(f"    return ({found})\n")
    return _compiled(op, parts)


def _joint(edges: Sequence[int], value: str) -> str:
    """Write the call of a formula that returns several gradients."""
    return _JOINT.format(
        wanted=" or ".join(f"e{at} is not None" for at in edges),
        gradients="".join(f"g{at}, " for at in edges),
        value=value,
        unwanted="; ".join(f"g{at} = None if e{at} is None else g{at}" for at in edges),
        nothing="None, " * len(edges),
    )


def _compiled(op: Op, parts: list[str]) -> Callable[..., tuple[Any, ...]]:
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


def _tail(formulas: Sequence[Formula], values: list[str]) -> str:
    """Write the end of a run: the call of each formula that is wanted."""
    picks = [
        "".join(f", {values[pick]}" for pick in formula.picks) for formula in formulas
    ]
    calls = [
        "grad" if formula.hands_on else f"call(f{at}, F, grad{picks[at]})"
        for at, formula in enumerate(formulas)
    ]
    start = "" if all(formula.hands_on for formula in formulas) else _CALL
    if len(formulas) == 1:
        return start + _ONE.format(part=calls[0])
    given = "".join(f", {value}" for value in values)
    together = any(formula.hands_on for formula in formulas)
    if together and start:
        start += _KEEPING
    alike = _are_alike(formulas, given)
    function = _SAME if alike else "both"
    pair = ", ".join(calls) if together else f"call({function}, F, grad{given})"
    tail = start + _TWO.format(first=calls[0], second=calls[1], pair=pair)
    if together:
        return tail
    both = _BOTH.format(given=given, first=picks[0], second=picks[1])
    return tail + both + _TWICE * alike


def _are_alike(formulas: Sequence[Formula], given: str) -> bool:
    """Tell whether each formula does with the other's operand what that one does."""
    if given != ", v0, v1" or [f.picks for f in formulas] != [(1,), (0,)]:
        return False
    first, second = (formula.function.__code__ for formula in formulas)
    return all(
        getattr(first, part) == getattr(second, part)
        for part in ("co_code", "co_names", "co_consts")
    )


def plain_call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a formula whose ops are recorded: it needs no context of its own."""
    return function(*args)
