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

from .._common.site import internal_files
from .._graph.anomaly import Callers, callers_of
from .._graph.node import SavedTensor, new_object, next_sequence_nr
from .._graph.observe import OpCalled, notify, observers
from .._graph.op import Op
from .._graph.output_layout import known_layouts, layout_of
from .._graph.registry import FUNCTIONS
from .._modes.grad_mode import mode
from .._overrides.torch_function import NoAnswerError
from .._storage.result_strides import laid_out
from .._storage.storage import new_storage
from .._tensor.tensor import Tensor, edge_of, plain_types
from .apply import apply, metas_of
from .deprecated_signatures import call_older
from .operands import as_array, broadcast_error
from .out import write_out
from .pointwise_source import Option as Option
from .pointwise_source import source_of


def bind_pointwise(
    op: Op, kernel: Any, option: Option | None = None, operator: str = ""
) -> Callable[..., Tensor]:
    """Return the function of a pointwise op of one or two operands.

    As a Python ``operator``, known by that name, it takes no keywords, and it answers
    NotImplemented to operands that it does not know.
    """
    scope: dict[str, Any] = {
        **SCOPE,
        "op": op,
        "kernel": kernel,
        "node_type": op.node_type,
        "fallback": _deferring(operator) if operator else apply,
        "plain_numbers": frozenset((float, int) if 1 in op.numbers else ()),
    }
    if option is not None:
        scope |= {"_default": option.default, "_other": option.function}
    return _compile(op, scope, source_of(op, option, bool(operator)))


def _compile(op: Op, scope: dict[str, Any], source: str) -> Callable[..., Tensor]:
    made: dict[str, Any] = {}
    exec(compile(source, f"<gradtape op {op.name}>", "exec"), scope, made)
    scope[op.name] = made[op.name]  # older forms of a call come back to it
    return made[op.name]


def _deferring(operator: str) -> Callable[..., Any]:
    def fallback(op: Op, args: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
        check_receiver(operator, args[0])
        return _apply_or_defer(op, args, options)

    return fallback


def check_receiver(operator: str, given: Any) -> None:
    """Refuse what is no tensor as an operator's own, in CPython's words."""
    if not isinstance(given, Tensor):
        raise TypeError(
            f"descriptor '{operator}' for 'torch._C.TensorBase' objects doesn't apply "
            f"to a '{type(given).__name__}' object"
        )


def _apply_or_defer(op: Op, args: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
    if (
        op.name == "eq"
        and isinstance(args[1], np.ndarray)  # or they are just unequal
        and args[1].dtype.kind in "biufc"
    ):
        args = (args[0], FUNCTIONS["from_numpy"](args[1]))
    if all(isinstance(arg, OPERANDS) for arg in args):
        try:
            return apply(op, args, options)
        except NoAnswerError:
            return NotImplemented  # the other operand's class may know
    return NotImplemented


OPERANDS = (Tensor, float, int, complex, np.generic)
"""What may stand beside a tensor in arithmetic."""


SCOPE: dict[str, Any] = {
    "_call_older": call_older,
    "Callers": Callers,
    "OpCalled": OpCalled,
    "SavedTensor": SavedTensor,
    "Tensor": Tensor,
    "apply": apply,
    "as_array": as_array,
    "broadcast_error": broadcast_error,
    "callers_of": callers_of,
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
    "plain_types": plain_types,
    "two_zeros": (0, 0),
    "write_out": write_out,
}
