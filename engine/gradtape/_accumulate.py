"""Adding a finished gradient to a leaf's ``.grad``."""

from __future__ import annotations

from typing import Any

from ._backend import backend_of
from ._define import tensor_ops
from ._mode import mode
from ._node import AccumulateGrad
from ._node_hooks import run_leaf_hooks, run_post_accumulate_hooks
from ._observe import GradAccumulated, notify, observers
from ._tensor import Tensor, wrap


def accumulate(F: Any, leaf: AccumulateGrad, grad: Any, owned: bool) -> None:
    """Let ``leaf.variable.grad`` take in ``grad``.

    The first gradient becomes ``.grad`` itself where its memory is ours alone
    (``owned``) and lies as the leaf does; otherwise it is copied into the leaf's
    layout. Later ones are added in place, except under ``create_graph``, where the sum
    must stay differentiable.
    """
    variable = leaf.variable
    if leaf.extra is not None or (variable._extra and variable._extra.hooks):
        grad = run_leaf_hooks(F, leaf, grad)
        owned = False
    old = variable._grad
    if not F.raw:
        fresh = tensor_ops.clone(grad) if old is None else tensor_ops.add(old, grad)
        variable._grad = fresh
    elif old is None:
        variable._grad = wrap(_settle(variable._data, grad, owned))
    else:
        mode.run(old._data.__iadd__, grad)
        old._storage.bump("accumulate_grad", None)
    if observers:
        notify(GradAccumulated(leaf, variable, _array(grad)))
    run_post_accumulate_hooks(variable)


def _settle(data: Any, grad: Any, owned: bool) -> Any:
    """Return ``grad`` or a copy of it in the memory layout of the leaf's ``data``."""
    if owned and grad.strides == data.strides and grad.flags.writeable:
        return grad
    copy = backend_of(data).xp.empty_like(data, dtype=grad.dtype)
    copy[...] = grad
    return copy


def _array(grad: Any) -> Any:
    return grad._data if isinstance(grad, Tensor) else grad
