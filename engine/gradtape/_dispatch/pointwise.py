"""Arithmetic: ops of one or two operands without options, on arrays of one dtype.

Most calls of a program are these. Whatever is not of this simple kind goes to the
general :func:`apply`. Both paths record exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy import ndarray

from .._common.compiled import frames, maker_of
from .._graph.node import new_object, shared
from .._graph.observe import OpCalled, notify, observers
from .._graph.op import Op
from .._graph.registry import FUNCTIONS
from .._modes.grad_mode import mode
from .._overrides.torch_function import NoAnswerError
from .._storage.result_strides import laid_out
from .._storage.storage import new_storage
from .._tensor.tensor import Tensor, edge_of, plain_types
from .apply import apply
from .deprecated_signatures import OLDER, call_older
from .operands import as_array, broadcast_error
from .out import write_out
from .recording import place, save_operand
from .templates import GIVEN, bound, template

float32 = numpy.dtype("float32")
float64 = numpy.dtype("float64")

OPERANDS = (Tensor, float, int, complex, numpy.generic)
"""What may stand beside a tensor in arithmetic."""


class Option(NamedTuple):
    """A keyword of a pointwise op; given, it sends the call to another function."""

    name: str
    default: Any
    function: Callable[..., Any]  # takes the operands, the option and out=


# ---- what a template reads of its op -----------------------------------------------

op: Op = GIVEN
kernel: Any = GIVEN
node_type: type[Any] = GIVEN
fallback: Callable[..., Any] = GIVEN  # what runs calls of any other kind
plain_numbers: frozenset[type] = GIVEN  # that the second operand may be
kinds: str = GIVEN  # of dtypes besides float32; 16-bit floats are for the general path
takes_out: bool = GIVEN
records: bool = GIVEN  # the op has derivatives
both_edges: bool = GIVEN  # they are of both operands
keeps_operands: bool = GIVEN
keeps_result: bool = GIVEN
keeps_shape: bool = GIVEN
first_asks_first: bool = GIVEN  # the first's formula asks for the first operand
second_asks_second: bool = GIVEN
body: Callable[..., Any] = GIVEN  # the template, compiled
plain: Callable[..., Any] = GIVEN  # the op without keywords
option: Option = GIVEN


# ---- the templates -----------------------------------------------------------------


@template
def unary(input: Any, *, out: Any = None) -> Any:
    if takes_out and out is not None:
        return write_out(op, (input,), (), out)
    if type(input) not in plain_types:
        return fallback(op, (input,), ())
    a = input._data
    dtype = a.dtype
    if type(a) is not ndarray or (dtype is not float32 and dtype is not float64):
        return fallback(op, (input,), ())
    now = mode.now
    if now.rare:
        return fallback(op, (input,), ())
    data = now.run(kernel, a)
    # Of operands that repeat cells or have dimensions of size 1, NumPy makes its own
    # order.
    if data.ndim > 2 and not a.flags.c_contiguous:
        data = laid_out(numpy, data, (a,))
    if type(data) is not ndarray:
        data = as_array(data)
    result = new_object(Tensor)
    result._data = data
    result._memory = None
    result._needs = False
    result._grad = result._grad_fn = result._view = result._extra = None
    result._nr = 0
    node = None
    if records and now.grad:
        first = input._grad_fn
        if first is None or input._view is not None:
            first = edge_of(input)
        if first is not None:
            node = node_type()
            node.nodes = (first,)
            node.numbers = (0,) if input._nr == 0 else shared((input._nr,))
            if keeps_operands:
                memory = input._memory
                if type(input) is Tensor and (memory is None or not memory.version):
                    node.kept0 = input  # a bare tensor: see _saved/slots.py
                else:
                    node.kept0 = save_operand(input, first)
            elif keeps_result:  # bare memory: see _saved/slots.py
                node.kept0 = result._memory = new_storage(data)
            else:
                node.saved = ()
            node.params = (a.shape,) if keeps_shape else ()
            place(node, result, now)
    if observers:
        notify(OpCalled(op.name, (input,), (result,), node))
    return result


@template
def binary(input: Any, other: Any, *, out: Any = None) -> Any:
    if takes_out and out is not None:
        return write_out(op, (input, other), (), out)
    if type(input) not in plain_types:
        return fallback(op, (input, other), ())
    a = input._data
    dtype = a.dtype
    paired = type(other) in plain_types
    if paired:
        b = other._data
        if dtype is not b.dtype or type(b) is not ndarray:
            return fallback(op, (input, other), ())
    else:
        b = other
        if type(b) not in plain_numbers or (
            dtype is not float32 and dtype is not float64
        ):
            return fallback(op, (input, other), ())
    if (dtype is not float32 and dtype.char not in kinds) or type(a) is not ndarray:
        return fallback(op, (input, other), ())
    now = mode.now
    if now.rare:
        return fallback(op, (input, other), ())
    try:
        data = now.run(kernel, a, b)
    except ValueError:
        raise broadcast_error(a.shape, getattr(b, "shape", ())) from None
    if data.ndim > 1 and (
        (paired and a.strides != b.strides)
        or (not paired and data.ndim > 2 and 1 in data.shape)
        or (data.ndim > 2 and not a.flags.c_contiguous)
    ):
        data = laid_out(numpy, data, (a, b))
    if type(data) is not ndarray:
        data = as_array(data)
    result = new_object(Tensor)
    result._data = data
    result._memory = None
    result._needs = False
    result._grad = result._grad_fn = result._view = result._extra = None
    result._nr = 0
    node = None
    if records and now.grad:
        first = input._grad_fn
        if first is None or input._view is not None:
            first = edge_of(input)
        second = None
        if both_edges and paired and (other._needs or other._view is not None):
            second = edge_of(other)
        if first is not None or second is not None:
            node = node_type()
            if not both_edges:
                node.nodes = (first,)
                node.numbers = shared((input._nr,))
            else:
                node.nodes = (first, second)
                if input._nr == 0 and (second is None or other._nr == 0):
                    node.numbers = (0, 0)
                else:
                    node.numbers = shared((input._nr, other._nr if paired else 0))
            if keeps_operands:  # each only if the formula that asks for it will run
                kept = None
                if first_asks_first or second is not None:
                    memory = input._memory
                    if type(input) is Tensor and (memory is None or not memory.version):
                        kept = input
                    else:
                        kept = save_operand(input, first)
                node.kept0 = kept
                kept = None
                if not paired:
                    kept = other
                elif second_asks_second or first is not None:
                    memory = other._memory
                    if type(other) is Tensor and (memory is None or not memory.version):
                        kept = other
                    else:
                        kept = save_operand(other, second)
                node.kept1 = kept
            else:
                node.saved = ()
            node.params = ()
            place(node, result, now)
    if observers:
        notify(OpCalled(op.name, (input, other), (result,), node))
    return result


def unary_by_body(input: Any, *, out: Any = None) -> Any:
    return body(input, out) if takes_out else body(input)


def binary_by_body(input: Any, other: Any, *, out: Any = None) -> Any:
    return body(input, other, out) if takes_out else body(input, other)


def with_option(input: Any, other: Any, *, option_: Any, out: Any = None) -> Any:
    if option_ is not option.default:
        return option.function(input, other, out=out, **{option.name: option_})
    if out is not None:
        return write_out(op, (input, other), (), out)
    return plain(input, other)


def with_older(
    input: Any, other: Any, *older: Any, option_: Any, out: Any = None
) -> Any:
    if older:
        function = FUNCTIONS[op.name]
        return call_older(op.name, function, (input, other, *older), out=out)
    if option_ is not option.default:
        return option.function(input, other, out=out, **{option.name: option_})
    if out is not None:
        return write_out(op, (input, other), (), out)
    return plain(input, other)


# ---- binding -----------------------------------------------------------------------


def bind_pointwise(
    op: Op, kernel: Any, option: Option | None = None, operator: str = ""
) -> Callable[..., Tensor]:
    """Return the function of a pointwise op of one or two operands.

    As a Python ``operator``, known by that name, it takes no keywords, and it answers
    NotImplemented to operands that it does not know.
    """
    depth = 1 + frames(place) + (option is not None)
    facts = {
        "op": op,
        "kernel": kernel,
        "node_type": op.node_type,
        "fallback": _deferring(operator) if operator else apply,
        "plain_numbers": frozenset((float, int) if 1 in op.numbers else ()),
        "kinds": "d" if op.promotion == "float" else "dbBhHiIlLqQ",
        "takes_out": op.out and option is None and not operator,
        "records": bool(op.formulas),
        "both_edges": op.edges == (0, 1),
        "place": bound(place, "place", {"depth": depth}),
        **_kept(op),
    }
    takes = {} if facts["takes_out"] else {"co_kwonlyargcount": 0}
    whole = unary if len(op.tensors) == 1 else binary
    if maker_of(whole) is not None:
        # What users see stays a function of Python's, whose body can be replaced.
        facts["body"] = bound(whole, op.name, facts)
        whole = unary_by_body if whole is unary else binary_by_body
    function = bound(whole, op.name, facts, **takes)
    if option is None:
        return function
    whole = with_older if op.name in OLDER else with_option
    names = [option.name if n == "option_" else n for n in whole.__code__.co_varnames]
    facts = {"op": op, "plain": function, "option": option}
    function = bound(whole, op.name, facts, co_varnames=tuple(names))
    function.__kwdefaults__ = {option.name: option.default, "out": None}
    return function


def _kept(op: Op) -> dict[str, bool]:
    """Return the flags that say what the nodes of an op keep, and for which formula."""
    assert op.metas in ((), ("self_shape",)), op.name
    assert op.saves in ((), op.tensors) or (
        op.saves == ("result",) and len(op.tensors) == 1
    ), op.name
    keeps = op.saves == op.tensors
    asks = [saving.users or () for saving in op.savings] if keeps else [(), ()]
    return {
        "keeps_operands": keeps,
        "keeps_result": op.saves == ("result",),
        "keeps_shape": bool(op.metas),
        "first_asks_first": 0 in asks[0],
        "second_asks_second": 1 in asks[-1] or op.edges == (0,),
    }


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
    other = args[1]
    if op.name == "eq" and isinstance(other, ndarray) and other.dtype.kind in "biufc":
        args = (args[0], FUNCTIONS["from_numpy"](other))  # or they are just unequal
    if all(isinstance(arg, OPERANDS) for arg in args):
        try:
            return apply(op, args, options)
        except NoAnswerError:
            return NotImplemented  # the other operand's class may know
    return NotImplemented
