"""Ops with kernels of their own, called without detours: products, reductions, softmax.

What needs a conversion or meets a mode goes to the general :func:`apply`. Both paths
record exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

import numpy
from numpy import ndarray

from .._common.compiled import frames
from .._graph.node import Node, new_object, save_input, save_output, shared
from .._graph.observe import OpCalled, notify, observers
from .._graph.op import Check, Op
from .._modes.grad_mode import Switches, mode
from .._storage.result_strides import laid_out
from .._tensor.tensor import Tensor, edge_of, plain_types, wrap
from .apply import WRAPPED, apply
from .operands import as_array, broadcast_error
from .recording import ends_history, make_outputs, meta_reader, place, saved_of
from .specialise import specialised
from .templates import GIVEN, bound, picker, template

float32 = numpy.dtype("float32")

KINDS = "fdFD?bBhHiIlLqQ"
"""All but 16-bit floats, which some kernels compute in float32."""

absent: Final[tuple[Any, ...]] = (None, None, None, None)

Saving = tuple[int | None, int, tuple[int, ...] | None, bool]
"""Which argument or output to save, for which edges (None: any), may it be None."""

Execute = Callable[[Op, tuple[Any, ...], tuple[Any, ...]], Any]
"""What runs an op on its tensors and its options."""


# ---- what a template reads of its op -----------------------------------------------

op: Op = GIVEN
kernel: Any = GIVEN  # takes the tensors, then the options, by position
node_type: type[Any] = GIVEN
count: int = GIVEN  # of operands
optional_y: bool = GIVEN  # the second may be None
optional_z: bool = GIVEN
several: bool = GIVEN  # it has several results
kinds: str = GIVEN  # of dtypes besides float32
check: Check | None = GIVEN
first_kinds: str = GIVEN
alike: bool = GIVEN  # the operands must be of one dtype
apart: bool = GIVEN  # ... but for the first, a condition
lays_out: bool = GIVEN
records: bool = GIVEN  # the op has derivatives
edges: tuple[int, ...] = GIVEN  # the operands that have one
from_first: bool = GIVEN
from_second: bool = GIVEN
from_third: bool = GIVEN
pick: Callable[[tuple[Any, ...]], Any] | None = GIVEN  # of what is noted per operand
pair: bool = GIVEN  # there are two operands, and both have one
savings: tuple[Saving, ...] = GIVEN
metas: tuple[tuple[int, Callable[[Any], Any]], ...] = GIVEN  # what reads them
only_metas: bool = GIVEN  # there are no options besides


# ---- the templates -----------------------------------------------------------------


@template
def of_few(_op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run an op of up to three operands."""
    now = mode.now
    if now.rare:
        return apply(op, args, params)
    for each in params:
        if type(each) in WRAPPED:
            return apply(op, args, params)
    y, z, b, c = absent
    if count == 1:
        (x,) = args
    elif count == 2:
        x, y = args
    else:
        x, y, z = args
    if type(x) not in plain_types:
        return apply(op, args, params)
    a = x._data
    dtype = a.dtype
    if type(a) is not ndarray or (
        dtype is not float32 and dtype.char not in first_kinds
    ):
        return apply(op, args, params)
    if count > 1 and not (optional_y and y is None):
        if type(y) not in plain_types:
            return apply(op, args, params)
        b = y._data
        dtype = b.dtype
        if type(b) is not ndarray or (dtype is not float32 and dtype.char not in kinds):
            return apply(op, args, params)
    if count > 2 and not (optional_z and z is None):
        if type(z) not in plain_types:
            return apply(op, args, params)
        c = z._data
        dtype = c.dtype
        if type(c) is not ndarray or (dtype is not float32 and dtype.char not in kinds):
            return apply(op, args, params)
    if alike and (dtype is not b.dtype or not (apart or dtype is a.dtype)):
        return apply(op, args, params)
    if check is not None:
        check(op.name, *args, *params)
    if lays_out:
        found = run_laid_out((a, b, c)[:count], params)
    elif count == 1:
        found = now.run(kernel, numpy, a, *params)
    elif count == 2 and not params:
        found = now.run(kernel, numpy, a, b)
    elif count == 2:
        found = now.run(kernel, numpy, a, b, *params)
    else:
        found = now.run(kernel, numpy, a, b, c, *params)
    if several:
        results = tuple([wrap(as_array(each)) for each in found])
        result = results[0]
    else:
        result = new_object(Tensor)
        result._data = found if type(found) is ndarray else as_array(found)
        result._memory = None
        result._needs = False
        result._grad = result._grad_fn = result._view = result._extra = None
        result._nr = 0
        results = (result,)
    node = None
    if records and now.grad:
        first, second, third = absent[:3]
        second_nr = third_nr = 0
        if from_first:
            first = x._grad_fn
            if first is None or x._view is not None:
                first = edge_of(x)
        if from_second and y is not None:
            second = y._grad_fn
            if second is None or y._view is not None:
                second = edge_of(y)
            second_nr = y._nr
        if from_third and z is not None:
            third, third_nr = edge_of(z), z._nr
        if (first is not None or second is not None or third is not None) and (
            result._data.dtype.kind == "f" or not ends_history(op, result)
        ):
            node = node_type()
            if pick is None:
                node.nodes, node.numbers = (first,), shared((x._nr,))
            elif pair:
                node.nodes = (first, second)
                node.numbers = shared((x._nr, second_nr))
            else:
                node.nodes = pick((first, second, third))
                node.numbers = shared(pick((x._nr, second_nr, third_nr)))
            nodes = node.nodes
            node.saved = tuple(
                [
                    (
                        save_output(results[output])
                        if argument is None
                        else None
                        if optional and args[argument] is None
                        else save_input(args[argument])
                    )
                    if users is None or any(nodes[user] is not None for user in users)
                    else None
                    for argument, output, users, optional in savings
                ]
            )
            node.params = (
                shared(tuple([of(args[at]) for at, of in metas]))
                if only_metas
                else (*params, *[of(args[at]) for at, of in metas])
                if metas
                else params
            )
            place(node, result, now)
            if several:
                make_outputs(op, node, results)
    if observers:
        notify(OpCalled(op.name, (*args, *params), results, node))
    return results if several else result


@template
def run_laid_out(arrays: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run a kernel and lay its result out as the operands suggest."""
    try:
        found = mode.now.run(kernel, numpy, *arrays, *params)
    except ValueError as error:
        if "broadcast" in str(error):
            raise broadcast_error(*[a.shape for a in arrays]) from None
        raise
    if type(found) is ndarray and found.ndim > 1:
        return laid_out(numpy, found, arrays)
    return found


@template
def of_many(_op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run an op of more operands."""
    now = mode.now
    if now.rare or not WRAPPED.isdisjoint(map(type, params)):
        return apply(op, args, params)
    arrays: list[Any] = []
    for each in args:
        if type(each) in plain_types:
            array = each._data
            if type(array) is not ndarray or array.dtype.char not in KINDS:
                return apply(op, args, params)
            arrays.append(array)
        elif each is None and len(arrays) in op.optional:
            arrays.append(None)
        else:
            return apply(op, args, params)
    if check is not None:
        check(op.name, *args, *params)
    found = now.run(kernel, numpy, *arrays, *params)
    if several:
        results = tuple([wrap(as_array(each)) for each in found])
    else:
        results = (wrap(as_array(found)),)
    node = None
    if records and now.grad:
        inputs = [args[at] for at in edges]
        node = record_call(inputs, args, params, results, now)
    if observers:
        notify(OpCalled(op.name, (*args, *params), results, node))
    return results if several else results[0]


@template
def of_sequence(_op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Run an op that takes a sequence of tensors, and nothing else that is one."""
    now = mode.now
    (tensors,) = args
    if now.rare or not tensors or not WRAPPED.isdisjoint(map(type, params)):
        return apply(op, args, params)
    arrays: list[Any] = []
    for each in tensors:
        if type(each) not in plain_types:
            return apply(op, args, params)
        array = each._data
        if type(array) is not ndarray or array.dtype.char not in KINDS:
            return apply(op, args, params)
        arrays.append(array)
    if check is not None:
        check(op.name, *args, *params)
    results = (wrap(as_array(now.run(kernel, numpy, arrays, *params))),)
    node = None
    if records and now.grad:
        node = record_call(tensors, args, params, results, now)
    if observers:
        notify(OpCalled(op.name, (*args, *params), results, node))
    return results[0]


@template
def record_call(
    inputs: Sequence[Any],
    args: tuple[Any, ...],
    params: tuple[Any, ...],
    results: tuple[Tensor, ...],
    now: Switches,
) -> Node | None:
    """Make the node of a call, or nothing where no input needs a gradient."""
    nodes = tuple([None if t is None else edge_of(t) for t in inputs])
    if nodes.count(None) == len(nodes):
        return None
    if ends_history(op, results[0]):
        return None
    node = node_type()
    node.nodes = nodes
    node.numbers = tuple([0 if t is None else t._nr for t in inputs])
    node.saved = saved_of(op, args, nodes, results) if savings else ()
    node.params = (*params, *[of(args[at]) for at, of in metas])
    place(node, results[0], now)
    if op.outputs != 1:
        make_outputs(op, node, results)
    return node


# ---- binding -----------------------------------------------------------------------


def bind_apply(op: Op) -> Execute:
    """Return what runs an op on ``(op, tensors, options)``."""
    if not _is_direct(op):
        return apply
    apart = op.promotion == "rest"
    facts = {
        "op": op,
        "kernel": op.ordered,
        "node_type": op.node_type,
        "count": len(op.tensors),
        "optional_y": 1 in op.optional,
        "optional_z": 2 in op.optional,
        "several": op.outputs != 1,
        "kinds": "d" if op.pointwise else KINDS,
        "first_kinds": "d" if op.pointwise and not apart else KINDS,
        "check": op.check,
        "alike": op.promotion != "none" and len(op.tensors) - apart > 1,
        "apart": apart,
        "lays_out": op.lies_like_operands,
        "records": bool(op.formulas),
        "edges": op.edges,
        "from_first": 0 in op.edges,
        "from_second": 1 in op.edges,
        "from_third": 2 in op.edges,
        "pair": op.edges == (0, 1) and len(op.tensors) == 2 and not op.optional,
        "pick": None if op.edges == (0,) else picker(op.edges),
        "saved_of": bound(saved_of, "saved_of", {}),
        "savings": _savings(op),
        "metas": tuple([(at, _reader(op, at, kind)) for at, kind in op.meta_reads]),
        "only_metas": bool(op.metas) and not op.options,
    }
    few = op.listed is None and len(op.tensors) < 4
    whole = of_few if few else of_many if op.listed is None else of_sequence
    depth = 1 + (frames(place, whole) if few else frames(place, record_call, whole))
    facts["place"] = bound(place, "place", {"depth": depth})
    facts["make_outputs"] = bound(make_outputs, "make_outputs", {})
    if few:
        facts["run_laid_out"] = bound(run_laid_out, op.name, facts)
    else:
        facts["record_call"] = specialised(record_call, op.name, facts)
    return specialised(whole, op.name, facts)


def _is_direct(op: Op) -> bool:
    return (
        (op.outputs == 1 or _is_plain_several(op))
        and op.view is None
        and (op.listed is None or len(op.tensors) == 1)
        and not op.numbers
        and bool(op.tensors)
        and 0 not in op.optional
        and (op.promotion == "none" or (op.pointwise and not op.optional))
        and not (op.lies_like_operands and len(op.tensors) > 3)
    )


def _is_plain_several(op: Op) -> bool:
    return op.outputs is not None and op.listed is None and not op.pointwise


def _reader(op: Op, at: int, kind: str) -> Callable[[Any], Any]:
    if kind == "shape" and op.listed is None and at not in op.optional:
        return attrgetter("_data.shape")
    return meta_reader(kind)


def _savings(op: Op) -> tuple[Saving, ...]:
    found: list[Saving] = []
    for argument, output, users in op.savings:
        if users is not None and len(users) == len(op.edges):
            users = None  # one of them is there, or nothing is recorded
        found.append((argument, output, users, argument in op.optional))
    return tuple(found)
