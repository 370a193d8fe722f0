"""In-place twins of ops: the same kernel, written back into the first operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _errors
from ._anomaly_report import check_outputs
from ._apply import arrays_of, as_array, broadcast_error, make_node, promote
from ._backend import backend_of
from ._define import OPS, method
from ._dtypes import DTYPE_OF, can_cast
from ._errors import legacy_type_name
from ._mode import mode
from ._node import Node, SavedTensor, save_output
from ._observe import OpCalled, StorageWritten, notify, observers
from ._op import Op
from ._site import caller_site
from ._tensor import Tensor, wrap
from ._views import check_inplace, rebase_history


def inplace(*names: str) -> None:
    """Declare ``name_`` as a method for each named op that is declared already."""
    for name in names:
        record = OPS[name]
        twin = in_place(record)
        twin.__doc__ = f"In-place version of {record.name}()."
        method(f"{record.name}_")(twin)


def in_place(op: Op) -> Callable[..., Tensor]:
    from ._define import compile_function

    return compile_function(op, f"{op.name}_", write)


def write(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Tensor:
    """Compute ``op`` and store the result in its first operand."""
    target = args[0]
    arrays, xp = arrays_of(op, args)
    if op.check is not None:
        op.check(op.name, *args, *params)
    needs = mode.grad and any(t.requires_grad for t in args if isinstance(t, Tensor))
    check_inplace(target, needs)
    check_overlap(target)
    check_partial_overlap(op, target, args)
    promoted = arrays
    if op.promotion != "none":
        promoted = mode.now.run(promote, op, args, arrays)
    try:
        found = as_array(mode.run(op.invoke, xp, promoted, params))
    except ValueError as error:
        if op.pointwise and "broadcast" in str(error):
            shapes = [getattr(a, "shape", ()) for a in arrays]
            raise broadcast_error(*shapes) from None
        raise
    _check_fits(target, found)
    if mode.now.checks:
        check_outputs(f"{op.name}_", op.tensors, (*args, *params), (found,))
    node = None
    if needs and op.formulas:
        node = make_node(op, _with_old_value(op, args), params, (target,))
    duals = mode.now.duals
    old = None if duals is None else duals.before_write(op, args)
    commit(target, found, f"{op.name}_", node, op, (*args, *params))
    if old is not None:
        duals.wrote(op, old, params, target)
    return target


def commit(
    target: Tensor, value: Any, name: str, node: Node | None, op: Op | None, call: Any
) -> Tensor:
    """Store ``value`` in ``target``'s memory: bump, log, rebase, tell observers."""
    target._data[...] = value
    note_write(target, name)
    if node is not None:
        if op is not None and "result" in op.saves:
            _save_new_value(op, node, target)
        rebase_history(target, node)
    if observers:
        notify(OpCalled(name, call, (target,), node))
    return target


def note_write(target: Tensor, name: str) -> None:
    """Count and log a write that was just done to ``target``'s memory."""
    storage = target._storage
    site = caller_site()
    version = storage.bump(name, site)
    if observers:
        notify(StorageWritten(storage, name, version, target, site))


def check_overlap(target: Tensor) -> None:
    """Refuse to write where several elements share one cell (an expanded tensor)."""
    data = target._data
    if not data.size:
        return
    for size, stride in zip(data.shape, data.strides, strict=True):
        if size > 1 and stride == 0:
            raise RuntimeError(_errors.OVERLAPPING_WRITE)


def check_partial_overlap(op: Op, target: Tensor, args: tuple[Any, ...]) -> None:
    """Refuse operands that share some, but not all, cells with what is written.

    A tensor called ``value`` stands for a number, which is read before.
    """
    storage = target._storage
    for name, arg in zip(op.tensors, args, strict=False):
        if not isinstance(arg, Tensor) or arg._storage is not storage:
            continue
        if arg is target or name == "value":
            continue
        mine, theirs = _dense_span(target), _dense_span(arg)
        if mine is None or theirs is None:
            continue
        same = mine == theirs and target._data.strides == arg._data.strides
        if not same and mine[0] < theirs[1] and theirs[0] < mine[1]:
            raise RuntimeError(_errors.PARTIAL_OVERLAP)


def _dense_span(tensor: Tensor) -> tuple[int, int] | None:
    """Return the cells a tensor fills, from and to; None if it is empty or has gaps."""
    data = tensor._data
    item = data.itemsize
    steps = [(n, s // item) for n, s in zip(data.shape, data.strides, strict=True)]
    length = 1 + sum((n - 1) * s for n, s in steps)
    if not data.size or length != data.size or any(n > 1 and not s for n, s in steps):
        return None
    start = tensor.storage_offset()
    return start, start + length


def _check_fits(target: Tensor, found: Any) -> None:
    if found.shape != target._data.shape:
        raise RuntimeError(
            _errors.BROADCAST_OUTPUT.format(
                output=_errors.shape_text(target._data.shape),
                broadcast=_errors.shape_text(found.shape),
            )
        )
    if found.dtype is target._data.dtype:
        return
    result = DTYPE_OF[found.dtype]
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
    copy = wrap(backend_of(target._data).xp.copy(target._data))
    copy._grad_fn, copy._nr, copy._needs = target.grad_fn, target._nr, target._needs
    if copy._grad_fn is None and target.requires_grad:
        return args  # a leaf: refused already, or gradients are off
    return (copy, *args[1:])


def _save_new_value(op: Op, node: Node, target: Tensor) -> None:
    """Save the result at the version the write has just made."""
    assert node.saved is not None
    at = op.saves.index("result")
    if type(node.saved[at]) is SavedTensor:
        entries = list(node.saved)
        entries[at] = save_output(target)
        node.saved = tuple(entries)
