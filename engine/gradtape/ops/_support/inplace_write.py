"""The steps every in-place writer shares: may it, do it, count it, record it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..._dispatch.declare import OPS
from ..._dispatch.inplace import answered, note_write, write
from ..._dispatch.recording import make_node
from ..._dispatch.view_history import check_inplace, rebase_history
from ..._graph.observe import OpCalled, notify, observers
from ..._graph.op import Op
from ..._modes.grad_mode import mode
from ..._overrides.torch_dispatch import asked, dispatching
from ..._tensor.overlap import check_overlap, check_partial_overlap
from ..._tensor.tensor import Tensor


def written(
    name: str,
    declared: str,
    args: tuple[Any, ...],
    options: tuple[Any, ...],
    store: Callable[[Any], Any],
) -> Tensor:
    """Let ``store`` change the memory of ``args[0]``, which is returned.

    ``declared`` names the op whose derivative the write has. Raises RuntimeError, in
    PyTorch's words, where the write would break the graph or hit a cell twice.
    """
    target: Tensor = args[0]
    asks = mode.now.dispatch or dispatching
    kinds = asked((*args, *options)) if asks else None
    if kinds is not None:

        def again(op: Op, given: Any, params: Any) -> Tensor:
            if len(args) == 1 or all(map(operator.is_, given, args)):
                return written(name, declared, given, params, store)
            return write(op, given, params)

        return answered(again, OPS[declared], args, options, name, kinds)
    tensors = [t for t in args if isinstance(t, Tensor)]
    needs = mode.grad and any(t.requires_grad for t in tensors)
    check_inplace(target, needs)
    if mode.now.watch is not None:
        mode.now.watch.check_write(name, args)
    if len(args) == 1 or args[1] is not target:  # x.copy_(x) stores nothing
        check_overlap(target, OPS[declared].name)
    check_partial_overlap(OPS[declared], target, args)
    node = None
    if needs and not _ends_history(OPS[declared], target):
        node = make_node(OPS[declared], args, options, (target,))
    duals = mode.now.duals
    old = None if duals is None else duals.before_write(OPS[declared], args)
    mode.run(store, target._data)
    note_write(target, name)
    if node is not None:
        rebase_history(target, node)
    if duals is not None and old is not None:
        duals.wrote(OPS[declared], old, options, target)
    if observers:
        notify(OpCalled(name, (*args, *options), (target,), node))
    return target


def _ends_history(op: Op, target: Tensor) -> bool:
    return op.recorded == "cast" and target._data.dtype.kind in "biu"
