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
from typing import Any

import numpy as np

from ._apply import apply, as_array, broadcast_error, metas_of
from ._mode import mode
from ._node import (
    known_layouts,
    layout_of,
    new_object,
    next_sequence_nr,
    save_input,
    save_output,
)
from ._observe import OpCalled, notify, observers
from ._op import Op
from ._site import internal_files
from ._storage import Storage, next_id
from ._tensor import Tensor, edge_of

_UNARY = """
def {name}(self):
    if not isinstance(self, Tensor):
        return apply(op, (self,), ())
    a = self._data
    if type(a) is not ndarray or a.dtype.kind != "f":
        return apply(op, (self,), ())
    out = mode.run(kernel, a)
"""

_BINARY = """
def {name}(self, other):
    if not isinstance(self, Tensor):
        return apply(op, (self, other), ())
    a = self._data
    paired = isinstance(other, Tensor)
    kind = a.dtype.kind
    if paired:
        b = other._data
        if a.dtype is not b.dtype or type(b) is not ndarray:
            return apply(op, (self, other), ())
    else:
        b = other
        if type(b) not in plain_numbers or kind != "f":
            return apply(op, (self, other), ())
    if kind not in {kinds!r} or type(a) is not ndarray:
        return apply(op, (self, other), ())
    try:
        out = mode.run(kernel, a, b)
    except ValueError:
        raise broadcast_error(a.shape, getattr(b, "shape", ())) from None
"""

_WRAP = """
    if type(out) is not ndarray:
        out = as_array(out)
    storage = new_object(Storage)
    storage.owner = out
    storage.version = 0
    storage.id = identity = next_id()
    storage._log = storage._pointer = None
    result = new_object(Tensor)
    result._data = out
    result._storage = storage
    result._needs = False
    result._grad = result._grad_fn = result._view = result._extra = None
    result._nr = 0
    node = None
"""

_UNARY_EDGES = """
    if mode.grad:
        first = edge_of(self)
        if first is not None:
            node = new_object(node_type)
            node.nodes = (first,)
            node.numbers = (self._nr,)
"""

_BINARY_EDGES = """
    if mode.grad:
        first = edge_of(self)
        second = edge_of(other) if paired else None
        if first is not None or second is not None:
            node = new_object(node_type)
            node.nodes = (first, second)
            node.numbers = (self._nr, other._nr if paired else 0)
"""

_RECORD = """
            node.saved = {saved}
            node.params = {params}
            node.seq = next_sequence_nr()
            node.scope = mode.scope
            node.extra = None
            node.layouts = known_layouts.get(
                (out.shape, out.strides, out.dtype)
            ) or layout_of(out)
            node.storage_ids = identity
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


def bind_pointwise(op: Op, kernel: Any) -> Callable[..., Tensor]:
    """Return the function of a pointwise op of one or two operands."""
    unary = len(op.tensors) == 1
    parts = [_UNARY if unary else _BINARY, _WRAP]
    if op.formulas:
        parts += [_UNARY_EDGES if unary else _BINARY_EDGES, _RECORD]
    source = "".join((*parts, _RETURN)).format(
        name=op.name,
        kinds="f" if op.promotion == "float" else "fiu",
        saved=_saved_source(op),
        params="metas_of(op, (self, other))" if op.metas else "()",
        args="(self,)" if unary else "(self, other)",
    )
    scope = {
        **_SCOPE,
        "op": op,
        "kernel": kernel,
        "node_type": op.node_type,
    }
    exec(compile(source, f"<gradtape op {op.name}>", "exec"), scope)  # noqa: S102
    return scope[op.name]


_SCOPE: dict[str, Any] = {
    "OpCalled": OpCalled,
    "Storage": Storage,
    "Tensor": Tensor,
    "apply": apply,
    "as_array": as_array,
    "broadcast_error": broadcast_error,
    "edge_of": edge_of,
    "get_frame": sys._getframe,  # noqa: SLF001
    "internal_files": internal_files,
    "known_layouts": known_layouts,
    "layout_of": layout_of,
    "metas_of": metas_of,
    "mode": mode,
    "ndarray": np.ndarray,
    "new_object": new_object,
    "next_id": next_id,
    "next_sequence_nr": next_sequence_nr,
    "notify": notify,
    "observers": observers,
    "plain_numbers": frozenset((float, int)),
    "save_input": save_input,
    "save_output": save_output,
}


def _saved_source(op: Op) -> str:
    """Write the tuple of saved values; a slot is filled only if its user will run."""
    edges = ("first", "second")[: len(op.tensors)]
    sources: list[str] = []
    for position, slot in enumerate(op.saves):
        users = [
            edges[i]
            for formula in op.formulas
            if position in formula.picks
            for i in formula.inputs
        ]
        needless = " and ".join(f"{user} is None" for user in dict.fromkeys(users))
        sources.append(f"None if {needless} else {_SAVE[slot]}")
    return f"({', '.join(sources)},)" if sources else "()"


_SAVE = {
    "self": "save_input(self)",
    "other": "(save_input(other) if paired else other)",
    "result": "save_output(result)",
}
