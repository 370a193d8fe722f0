"""In-place twins of ops: the same kernel, written back into the first operand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._backend import backend_of
from .._common import messages as _errors
from .._common.messages import legacy_type_name
from .._common.site import caller_site
from .._dtypes import DTYPE_OF, can_cast
from .._graph.node import Node, SavedTensor, save_output
from .._graph.observe import OpCalled, StorageWritten, full_observers, notify, observers
from .._graph.op import Check, Op
from .._graph.output_layout import LARGE
from .._modes.grad_mode import mode, no_grad
from .._overrides.torch_dispatch import answer, asked, by_classes, dispatching
from .._saved.hooks import pack_outputs
from .._sparse.array import SparseArray, check_sums
from .._storage.ownership import fits, may_overwrite
from .._tensor.overlap import check_overlap as check_overlap
from .._tensor.overlap import (
    check_partial_overlap,
    layers_of,
    meets_cells_twice,
    warn_shared,
)
from .._tensor.tensor import Tensor, wrap
from .._tensor.write_observers import after_write
from .anomaly_report import check_outputs
from .apply import WRAPPED, numbers_of
from .declare import OPS, compile_function, make_node_type, method
from .inplace_direct import written_directly
from .operands import (
    arrays_of,
    as_array,
    broadcast_error,
    common_shape,
    compute,
    promote,
)
from .recording import make_node
from .view_history import check_inplace, rebase_history

_OWN_NODES = {
    "acosh": "AcoshBackward1",
    "asinh": "AsinhBackward1",
    "atanh": "AtanhBackward1",
}


def inplace(*names: str) -> None:
    """Declare ``name_`` as a method for each named op that is declared already."""
    for name in names:
        record = OPS[name]
        if name in _OWN_NODES:  # PyTorch numbers the derivatives of these two apart
            record = replace(record, node_name=_OWN_NODES[name])
            make_node_type(record)
        twin = in_place(record)
        twin.__doc__ = f"In-place version of {record.name}()."
        method(f"{record.name}_")(twin)


def in_place(op: Op) -> Callable[..., Tensor]:
    return compile_function(op, f"{op.name}_", write)


def write(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Tensor:
    """Compute ``op`` and store the result in its first operand."""
    wrapped = bool(params) and not WRAPPED.isdisjoint(map(type, params))
    if op.pointwise and not wrapped and written_directly(op, args, params, mode.now):
        note_write(args[0], f"{op.name}_")
        return args[0]
    profile = mode.now.profile
    if profile is not None:
        return profile.op(write, op, args, params, "_")
    if wrapped:
        params = numbers_of(params)
    target, now = args[0], mode.now
    kinds = asked(args) if now.dispatch or dispatching else None
    if kinds is not None:
        return answered(write, op, args, params, f"{op.name}_", kinds)
    arrays, xp = arrays_of(op, args, writes=True)
    needs = mode.grad and any(t.requires_grad for t in args if isinstance(t, Tensor))
    check_inplace(target, needs and not _leaves_no_trace(op))
    if mode.now.watch is not None:
        mode.now.watch.check_write(f"{op.name}_", args)
    missing = None if op.check is None else _missing_kernel(op.check, op, args, params)
    repeated = check_overlap(target, op.name)
    check_partial_overlap(op, target, args)
    promoted = arrays
    if op.promotion != "none":
        promoted = mode.now.run(promote, op, args, arrays)
    if missing is not None:
        _check_shape(op, target, common_shape(*map(np.shape, arrays)))
        if op.promotion == "common":
            _check_cast(target, promoted[0].dtype)
        raise missing
    if not repeated and _may_write_straight(op, target._data, promoted, params, needs):
        found = mode.run(_STRAIGHT[op.key], *promoted, target._data)
    else:
        found = _computed(op, xp, promoted, params)
    if type(found) is SparseArray and type(target._data) is not SparseArray:
        found = found.todense()
    if type(target._data) is SparseArray and not target._data.coalesced:
        check_sums(op.name)
    _check_fits(op, target, found)
    if op.pointwise and meets_cells_twice(target._data):
        found = _in_order(op, args, arrays, params, xp)
    elif repeated:
        found = mode.run(_store_changes, target._data, found)
    if mode.now.checks:
        check_outputs(op, f"{op.name}_", (*args, *params), (found,))
    node = None
    if needs and op.formulas:
        node = make_node(op, _with_old_value(op, args), params, (target,))
    duals = mode.now.duals
    old = None if duals is None else duals.before_write(op, args)
    commit(target, found, f"{op.name}_", node, op, (*args, *params))
    if duals is not None and old is not None:
        duals.wrote(op, old, params, target)
    return target


def _leaves_no_trace(op: Op) -> bool:
    """Tell whether PyTorch writes without a look at the history: ``logical_and_``."""
    return op.promotion == "compare" and not op.formulas


def _missing_kernel(
    check: Check, op: Op, args: Any, params: Any
) -> NotImplementedError | None:
    """Check a call; return the refusal of a dtype, which comes after the memory's."""
    try:
        check(op.name, *args, *params)
    except NotImplementedError as error:
        return error
    return None


def answered(
    run: Callable[..., Any],
    op: Op,
    args: tuple[Any, ...],
    params: tuple[Any, ...],
    name: str,
    kinds: list[type],
) -> Tensor:
    """Let modes and classes do a write, and make it the history of the target."""
    target = args[0]
    needs = mode.grad and any(t.requires_grad for t in args if isinstance(t, Tensor))
    check_inplace(target, needs and not _leaves_no_trace(op))
    node = None
    if needs and op.formulas:
        node = make_node(op, _with_old_value(op, args), params, (target,))
    before = target._storage.version
    answer(run, op, args, params, kinds, "_")
    if target._storage.version == before:  # a class wrote to what it wraps
        note_write(target, name)
    if node is not None:
        _become_history(target, node, op)
        if kinds:
            by_classes.add(target.grad_fn or node)
    if observers:
        notify(OpCalled(name, (*args, *params), (target,), node))
    return target


_STRAIGHT: dict[str, Any] = {
    "add_scaled": np.add,
    "div": np.true_divide,
    "mul": np.multiply,
    "sub_scaled": np.subtract,
}


def _may_write_straight(
    op: Op, data: Any, arrays: list[Any], params: Any, needs: bool
) -> bool:
    """Tell whether NumPy's function may write over ``data``, the first operand.

    Where it may, ``x.add_(bias)`` on 400,000 elements takes a third of the time.
    """
    if op.key not in _STRAIGHT or params not in ((), (1,)):
        return False
    if needs and op.tensors[0] in op.saves:
        return False  # the old values are still to be copied
    now, (first, other) = mode.now, arrays
    return (
        first is data
        and may_overwrite(data)
        and data.size > LARGE
        and data.dtype.char in "fd"
        and fits(data, other)
        and not now.checks
        and now.duals is None
    )


def _computed(op: Op, xp: Any, arrays: list[Any], params: tuple[Any, ...]) -> Any:
    try:
        return as_array(mode.run(compute, op, xp, arrays, params))
    except ValueError as error:
        if op.pointwise and "broadcast" in str(error):
            shapes = [getattr(a, "shape", ()) for a in arrays]
            raise broadcast_error(*shapes) from None
        raise


def _store_changes(data: Any, found: Any) -> Any:
    """Write only what changes: of elements in one cell, some may stay as they are."""
    changed = data != found
    data[changed] = found[changed]
    return data.copy()


def _in_order(
    op: Op, args: tuple[Any, ...], arrays: list[Any], params: tuple[Any, ...], xp: Any
) -> Any:
    """Write a target that shares cells with itself, one element of a cell at a time.

    Later elements read what earlier ones left, as in PyTorch's loops.
    """
    warn_shared()
    data = args[0]._data
    whole = [
        xp.broadcast_to(a, data.shape) if hasattr(a, "shape") else a for a in arrays
    ]
    for layer in layers_of(data):
        places = xp.unravel_index(layer, data.shape)
        parts = [a[places] if hasattr(a, "shape") else a for a in whole]
        if op.promotion != "none":
            parts = mode.now.run(promote, op, args, parts)
        data[places] = mode.run(compute, op, xp, parts, params)
    return data.copy()


def commit(
    target: Tensor, value: Any, name: str, node: Node | None, op: Op | None, call: Any
) -> Tensor:
    """Store ``value`` in ``target``'s memory: bump, log, rebase, tell observers."""
    profile = mode.now.profile
    if profile is not None:
        return profile.write(commit, target, value, name, node, op, call)
    target._data[...] = value
    note_write(target, name)
    if node is not None:
        _become_history(target, node, op)
    if observers:
        notify(OpCalled(name, call, (target,), node))
    return target


def _become_history(target: Tensor, node: Node, op: Op | None) -> None:
    if op is not None and "result" in op.saves:
        _save_new_value(op, node, target)
    rebase_history(target, node)
    if op is not None:
        pack_outputs(node, (target,))


def note_write(target: Tensor, name: str) -> None:
    """Count and log a write that was just done to ``target``'s memory."""
    storage = target._storage
    site = caller_site()
    version = storage.bump(name, site)
    for look in after_write:
        look(target, name, version)
    if full_observers:
        notify(StorageWritten(storage, name, version, target, site))


def _check_fits(op: Op, target: Tensor, found: Any) -> None:
    _check_shape(op, target, found.shape)
    if found.dtype is target._data.dtype:
        return
    if op.name == "abs":  # of a complex number is real
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    _check_cast(target, found.dtype)


def _check_shape(op: Op, target: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a result of another shape than the target's."""
    own = target._data.shape
    if shape == own:
        return
    if op.family == "matmul":
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(own)} and output tensor size "
            f"{list(shape)} should match"
        )
    raise RuntimeError(
        _errors.BROADCAST_OUTPUT.format(
            output=_errors.shape_text(own), broadcast=_errors.shape_text(shape)
        )
    )


def _check_cast(target: Tensor, dtype: Any) -> None:
    """Refuse a result of a kind that the target cannot hold."""
    result = DTYPE_OF[dtype]
    if not can_cast(result, target.dtype):
        raise RuntimeError(
            _errors.CAST_REFUSED.format(
                result=_short(result), output=_short(target.dtype)
            )
        )


def _short(dtype: Any) -> str:
    return legacy_type_name(dtype).removeprefix("torch.").removesuffix("Tensor")


def _with_old_value(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep a copy of the first operand where a formula wants what is overwritten."""
    if op.tensors[0] not in op.saves:
        return args
    target = args[0]
    copy = _copy_of(target)
    copy._grad_fn, copy._nr, copy._needs = target.grad_fn, target._nr, target._needs
    if copy._grad_fn is None and target.requires_grad:
        return args  # a leaf: refused already, or gradients are off
    return (copy, *args[1:])


def _copy_of(target: Tensor) -> Tensor:
    if type(target) in dispatching:
        with no_grad():
            return target.clone()  # type: ignore[attr-defined]
    return wrap(backend_of(target._data).xp.copy(target._data))


def _save_new_value(op: Op, node: Node, target: Tensor) -> None:
    """Save the result at the version the write has just made."""
    assert node.saved is not None
    at = op.saves.index("result")
    if type(node.saved[at]) is SavedTensor:
        entries = list(node.saved)
        entries[at] = save_output(target)
        node.saved = tuple(entries)
