"""The hot path of pointwise ops: one specialised function per op, written as source.

Most calls of a program are arithmetic on NumPy arrays of one float type. For these
every function call and every generic loop counts (a call costs 0.05 µs, a whole
recorded op about 1.5), so each op gets straight-line code with its own saved values
spelled out, in the way namedtuple and dataclasses write theirs. Whatever is not of this
simple kind goes to the general :func:`apply`. Both paths record exactly the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._apply import apply, as_array, broadcast_error, metas_of
from ._layout import laid_out
from ._mode import mode
from ._node import (
    SavedTensor,
    known_layouts,
    layout_of,
    new_object,
    next_sequence_nr,
)
from ._observe import OpCalled, notify, observers
from ._op import Op
from ._out import write_out
from ._site import internal_files
from ._storage import new_storage
from ._tensor import Tensor, edge_of

_UNARY = """
def {name}(input{option}):
    {guard}
    if not isinstance(input, Tensor):
        return fallback(op, (input,), ())
    a = input._data
    if type(a) is not ndarray or a.dtype.kind != "f":
        return fallback(op, (input,), ())
    now = mode.now
    if now.special:
        return fallback(op, (input,), ())
    out = now.run(kernel, a)
"""

_BINARY = """
def {name}(input, other{option}):
    {guard}
    if not isinstance(input, Tensor):
        return fallback(op, (input, other), ())
    a = input._data
    paired = isinstance(other, Tensor)
    kind = a.dtype.kind
    if paired:
        b = other._data
        if a.dtype is not b.dtype or type(b) is not ndarray:
            return fallback(op, (input, other), ())
    else:
        b = other
        if type(b) not in plain_numbers or kind != "f":
            return fallback(op, (input, other), ())
    if kind not in {kinds!r} or type(a) is not ndarray:
        return fallback(op, (input, other), ())
    now = mode.now
    if now.special:
        return fallback(op, (input, other), ())
    try:
        out = now.run(kernel, a, b)
    except ValueError:
        raise broadcast_error(a.shape, getattr(b, "shape", ())) from None
    if paired and a.strides != b.strides and type(out) is ndarray:
        out = laid_out(numpy, out, (a, b))
"""

_WRAP = """
    if type(out) is not ndarray:
        out = as_array(out)
    result = new_object(Tensor)
    result._data = out
    result._memory = None
    result._needs = False
    result._grad = result._grad_fn = result._view = result._extra = None
    result._nr = 0
    node = None
"""

_UNARY_EDGES = """
    if now.grad:
        first = input._grad_fn
        if first is None or input._view is not None:
            first = edge_of(input)
        if first is not None:
            node = node_type()
            node.nodes = (first,)
            node.numbers = one_zero if input._nr == 0 else (input._nr,)
"""

_BINARY_EDGES = """
    if now.grad:
        first = input._grad_fn
        if first is None or input._view is not None:
            first = edge_of(input)
        if paired and (other._needs or other._view is not None):
            second = edge_of(other)
        else:
            second = None
        if first is not None or second is not None:
            node = node_type()
            node.nodes = (first, second)
            if input._nr == 0 and (second is None or other._nr == 0):
                node.numbers = two_zeros
            else:
                node.numbers = (input._nr, other._nr if paired else 0)
"""

_RECORD = """{saved}
            node.params = {params}
            node.seq = next_sequence_nr()
            node.scope = now.scope
            node.extra = None
            node.layout = known_layouts.get(
                (out.shape, out.strides, out.dtype)
            ) or layout_of(out)
            memory = result._memory
            node.storage_ids = 0 if memory is None else memory.id
            frame = get_frame(1)
            code = frame.f_code
            while internal_files[code.co_filename] and frame.f_back is not None:
                frame = frame.f_back
                code = frame.f_code
            node.code = code
            node.lasti = frame.f_lasti
            result._grad_fn = node
            result._needs = True
"""

_RETURN = """
    if observers:
        notify(OpCalled(op.name, {args}, (result,), node))
    return result
"""


class Option(NamedTuple):
    """A keyword of a pointwise op; given, it sends the call to another function."""

    name: str
    default: Any
    function: Callable[..., Any]  # takes the operands, the option and out=


def bind_pointwise(
    op: Op, kernel: Any, option: Option | None = None, operator: bool = False
) -> Callable[..., Tensor]:
    """Return the function of a pointwise op of one or two operands.

    As a Python ``operator`` it takes no keywords, and it answers NotImplemented to
    operands that it does not know.
    """
    unary = len(op.tensors) == 1
    parts = [_UNARY if unary else _BINARY, _WRAP]
    if op.formulas:
        parts += [_UNARY_EDGES if op.edges == (0,) else _BINARY_EDGES, _RECORD]
    args = "(input,)" if unary else "(input, other)"
    takes, guard = ("", "") if operator else _keywords(op, args, option)
    source = "".join((*parts, _RETURN)).format(
        name=op.name,
        kinds="f" if op.promotion == "float" else "fiu",
        saved=_saved_source(op),
        params=_metas_source(op, args),
        args=args,
        option=takes,
        guard=guard,
    )
    scope: dict[str, Any] = {
        **_SCOPE,
        "op": op,
        "kernel": kernel,
        "node_type": op.node_type,
        "fallback": _apply_or_defer if operator else apply,
        "plain_numbers": frozenset((float, int) if 1 in op.numbers else ()),
    }
    if option is not None:
        scope |= {"_default": option.default, "_other": option.function}
    exec(compile(source, f"<gradtape op {op.name}>", "exec"), scope)
    return scope[op.name]


def _metas_source(op: Op, args: str) -> str:
    if op.metas == ("self_shape",):
        return "(a.shape,)"
    return f"metas_of(op, {args})" if op.metas else "()"


def _keywords(op: Op, args: str, option: Option | None) -> tuple[str, str]:
    """Return the keywords of a signature, and the lines that serve them."""
    takes, lines = "", list[str]()
    if option is not None:
        takes += f", {option.name}=_default"
        given = f"{args.strip('()')}, {option.name}={option.name}, out=out"
        lines.append(f"if {option.name} is not _default: return _other({given})")
    if op.out:
        takes += ", out=None"
        lines.append(f"if out is not None: return write_out(op, {args}, (), out)")
    return f", *{takes}" if takes else "", "\n    ".join(lines)


def _apply_or_defer(op: Op, args: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
    if all(isinstance(arg, OPERANDS) for arg in args):
        return apply(op, args, options)
    return NotImplemented


OPERANDS = (Tensor, float, int, complex, np.generic)
"""What may stand beside a tensor in arithmetic."""


_SCOPE: dict[str, Any] = {
    "OpCalled": OpCalled,
    "SavedTensor": SavedTensor,
    "Tensor": Tensor,
    "apply": apply,
    "as_array": as_array,
    "broadcast_error": broadcast_error,
    "edge_of": edge_of,
    "get_frame": sys._getframe,
    "internal_files": internal_files,
    "known_layouts": known_layouts,
    "laid_out": laid_out,
    "layout_of": layout_of,
    "metas_of": metas_of,
    "mode": mode,
    "ndarray": np.ndarray,
    "new_object": new_object,
    "new_storage": new_storage,
    "numpy": np,
    "next_sequence_nr": next_sequence_nr,
    "notify": notify,
    "observers": observers,
    "one_zero": (0,),
    "two_zeros": (0, 0),
    "write_out": write_out,
}


def _saved_source(op: Op) -> str:
    """Write the statements that save; a slot is filled only if its user will run."""
    edges = ("first", "second")[: len(op.tensors)]
    lines: list[str] = []
    for position, slot in enumerate(op.saves):
        users = dict.fromkeys(
            edges[i]
            for formula in op.formulas
            if position in formula.picks
            for i in formula.inputs
        )
        wanted = " or ".join(f"{user} is not None" for user in users)
        lines.append(_save_source(slot, wanted))
    slots = "".join(f"saved_{slot}, " for slot in op.saves)
    return "".join(lines) + f"\n            node.saved = ({slots})"


def _save_source(slot: str, wanted: str) -> str:
    if slot == "result":
        return _SAVE_RESULT.format(wanted=wanted)
    if slot == "self":
        return _SAVE_INPUT.format(
            slot=slot, tensor="input", array="a", edge="first", wanted=wanted, rest=None
        )
    return _SAVE_INPUT.format(
        slot=slot,
        tensor="other",
        array="b",
        edge="second",
        wanted=f"({wanted}) and paired",
        rest="None if paired or first is None else other",
    )


# As save_input does, a call less. What a leaf is saved as, its accumulate node keeps,
# so that a parameter used a million times is one record, not a million.
_SAVE_INPUT = """
            saved_{slot} = {rest}
            if {wanted}:
                if {edge} is not None and {edge}.accumulates:
                    saved_{slot} = {edge}.kept
                    if (
                        saved_{slot} is None
                        or saved_{slot}.array is not {array}
                        or saved_{slot}.memory.version != saved_{slot}.version
                    ):
                        saved_{slot} = {edge}.keep()
                else:
                    saved_{slot} = new_object(SavedTensor)
                    saved_{slot}.array = {array}
                    saved_{slot}.memory = memory = {tensor}._memory
                    saved_{slot}.version = 0 if memory is None else memory.version
                    saved_{slot}.tensor = {tensor}"""

# As save_output does, a call less.
_SAVE_RESULT = """
            saved_result = None
            if {wanted}:
                saved_result = new_object(SavedTensor)
                saved_result.array = out
                saved_result.memory = result._memory = new_storage(out)
                saved_result.version = 0
                saved_result.tensor = None"""
