"""The source of the hot path's functions: what is written for each pointwise op.

The pieces are joined in the order in which they run: take the operands, run the kernel,
wrap the result, find the edges, save, record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._graph.op import Op
from .deprecated_signatures import OLDER

# 16-bit floats, "e", are computed in float32; see _operands.compute.
_FLOATS_AND_INTEGERS = "fdbBhHiIlLqQ"

_UNARY = """
def {name}(input{option}):
    {guard}
    if type(input) not in plain_types:
        return fallback(op, (input,), ())
    a = input._data
    if type(a) is not ndarray or a.dtype.char not in "fd":
        return fallback(op, (input,), ())
    now = mode.now
    if now.rare:
        return fallback(op, (input,), ())
"""

# Of operands that repeat cells or have dimensions of size 1, NumPy makes its own order.
_UNARY_RUN = """
    out = now.run(kernel, a)
    if out.ndim > 2 and not a.flags.c_contiguous:
        out = laid_out(numpy, out, (a,))
"""

_BINARY = """
def {name}(input, other{option}):
    {guard}
    if type(input) not in plain_types:
        return fallback(op, (input, other), ())
    a = input._data
    paired = type(other) in plain_types
    kind = a.dtype.char
    if paired:
        b = other._data
        if a.dtype is not b.dtype or type(b) is not ndarray:
            return fallback(op, (input, other), ())
    else:
        b = other
        if type(b) not in plain_numbers or kind not in "fd":
            return fallback(op, (input, other), ())
    if kind not in {kinds!r} or type(a) is not ndarray:
        return fallback(op, (input, other), ())
    now = mode.now
    if now.rare:
        return fallback(op, (input, other), ())
"""

_BINARY_RUN = """
    try:
        out = now.run(kernel, a, b)
    except ValueError:
        raise broadcast_error(a.shape, getattr(b, "shape", ())) from None
    if out.ndim > 1 and (
        (paired and a.strides != b.strides)
        or (not paired and out.ndim > 2 and 1 in out.shape)
        or (out.ndim > 2 and not a.flags.c_contiguous)
    ):
        out = laid_out(numpy, out, (a, b))
"""

WRAP = """
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
            node.storage_ids = {storage_id}
"""

# What every node records of its place in the program.
PLACE = """
            node.seq = next_sequence_nr()
            node.scope = now.scope
            node.extra = None
            node.layout = known_layouts.get(
                (out.shape, out.strides, out.dtype)
            ) or layout_of(out)
            frame = get_frame(1)
            code = frame.f_code
            while internal_files[code.co_filename] and frame.f_back is not None:
                frame = frame.f_back
                code = frame.f_code
            node.code = code
            node.lasti = frame.f_lasti
            if now.anomaly:  # as callers_of does, a call less
                known = frame.f_trace
                if type(known) is Callers and now.evaluating is None:
                    node.callers = known
                else:
                    node.callers = callers_of(frame, now.evaluating)
            result._grad_fn = node
            result._needs = True
"""

STORAGE_ID = "0 if result._memory is None else result._memory.id"

RETURN = """
    if observers:
        notify(OpCalled(op.name, {args}, (result,), node))
    return result
"""


class Option(NamedTuple):
    """A keyword of a pointwise op; given, it sends the call to another function."""

    name: str
    default: Any
    function: Callable[..., Any]  # takes the operands, the option and out=


def source_of(op: Op, option: Option | None, operator: bool) -> str:
    """Write the function of an op, with the keywords it takes unless an operator."""
    unary = len(op.tensors) == 1
    parts = [_UNARY, _UNARY_RUN] if unary else [_BINARY, _BINARY_RUN]
    parts.append(WRAP)
    if op.formulas:
        parts += [_UNARY_EDGES if op.edges == (0,) else _BINARY_EDGES, _RECORD, PLACE]
    args = "(input,)" if unary else "(input, other)"
    takes, guard = ("", "") if operator else _keywords(op, args, option)
    return "".join((*parts, RETURN)).format(
        name=op.name,
        kinds="fd" if op.promotion == "float" else _FLOATS_AND_INTEGERS,
        saved=_saved_source(op),
        # A new tensor has no record of its memory unless it was itself saved.
        storage_id=STORAGE_ID if "result" in op.saves else "0",
        params=_metas_source(op, args),
        args=args,
        option=takes,
        guard=guard,
    )


def _metas_source(op: Op, args: str) -> str:
    if op.metas == ("self_shape",):
        return "(a.shape,)"
    return f"metas_of(op, {args})" if op.metas else "()"


def _keywords(op: Op, args: str, option: Option | None) -> tuple[str, str]:
    """Return the keywords of a signature, and the lines that serve them."""
    takes, lines = "", list[str]()
    older = op.name in OLDER
    if older:
        given = f"({args.strip('()')}, *older), out=out"
        lines.append(f"if older: return _call_older({op.name!r}, {op.name}, {given})")
    if option is not None:
        takes += f", {option.name}=_default"
        given = f"{args.strip('()')}, {option.name}={option.name}, out=out"
        lines.append(f"if {option.name} is not _default: return _other({given})")
    if op.out:
        takes += ", out=None"
        lines.append(f"if out is not None: return write_out(op, {args}, (), out)")
    star = "*older" if older else "*"
    return f", {star}{takes}" if takes else "", "\n    ".join(lines)


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
        lines.append(f"\n            node.kept{position} = saved_{slot}")
    return "".join(lines) or "\n            node.saved = ()"


def _save_source(slot: str, wanted: str) -> str:
    if slot == "result":
        return _SAVE_RESULT.format(wanted=wanted)
    if slot == "self":
        return _SAVE_INPUT.format(
            slot=slot, tensor="input", edge="first", wanted=wanted, rest=None
        )
    return _SAVE_INPUT.format(
        slot=slot,
        tensor="other",
        edge="second",
        wanted=f"({wanted}) and paired",
        rest="None if paired or first is None else other",
    )


# As save_input does, a call less; see _slots for the bare tensor. What a leaf is saved
# as, its accumulate node keeps: a parameter used a million times is one record.
_SAVE_INPUT = """
            saved_{slot} = {rest}
            if {wanted}:
                if type({tensor}) is Tensor and (
                    {tensor}._memory is None or not {tensor}._memory.version
                ):
                    saved_{slot} = {tensor}
                elif {edge} is not None and {edge}.accumulates:
                    saved_{slot} = {edge}.kept
                    if (
                        saved_{slot} is None
                        or saved_{slot}.tensor is not {tensor}
                        or saved_{slot}.memory.version != saved_{slot}.version
                    ):
                        saved_{slot} = {edge}.keep({tensor})
                else:
                    saved_{slot} = new_object(SavedTensor)
                    saved_{slot}.memory = memory = {tensor}._memory
                    saved_{slot}.version = 0 if memory is None else memory.version
                    saved_{slot}.tensor = {tensor}"""

# As save_output does, a call less.
_SAVE_RESULT = """
            saved_result = None
            if {wanted}:
                saved_result = new_object(SavedTensor)
                saved_result.held = out
                saved_result.memory = result._memory = new_storage(out)
                saved_result.version = 0
                saved_result.tensor = None"""
