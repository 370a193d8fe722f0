"""Selective checkpoints: keep the results of some ops, compute the others again.

Two contexts share what was kept. Under the first a policy is asked about every result;
under the second each op that computes anew gets, in order, the result that was kept.
Views and in-place ops always run again: they cost nothing, or their result is memory
that must be written.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from .._tensor.tensor import Tensor
from ..ops._aten import OpOverload, OpOverloadPacket, aten
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

_MISMATCH: Final = (
    "This can happen if the operations in the checkpointed region are nondeterministic "
    "or depend on global state that changed between forward and backward."
)

SAC_IGNORED_OPS: Final = {aten.detach.default}
"""Ops that no policy is asked about."""


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's result: it is kept, or computed again in backward."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEEPING: Final = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told besides the op and its arguments."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result that was kept, without history, and its version then."""

    def __init__(self, val: Tensor) -> None:
        self.val = val.detach()
        self.version = val._version

    def get_val(self, allow_cache_entry_mutation: bool) -> Tensor:
        if self.val._version != self.version and not allow_cache_entry_mutation:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated"
            )
        return self.val


_RECOMPUTE: Final = object()
_CONSUMED: Final = object()

Storage = defaultdict[Any, dict[int, Any]]
Policy = Callable[..., CheckpointPolicy | bool]


class _Counting(TorchDispatchMode):
    """Numbers the calls of each op, from 0 on whenever its block begins."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._counts: dict[OpOverload, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self._counts.clear()
        return super().__enter__()

    def _next(self, func: OpOverload) -> int:
        at = self._counts[func]
        self._counts[func] = at + 1
        return at


class _CachingTorchDispatchMode(_Counting):
    """Forward: asks the policy about every result."""

    def __init__(self, policy_fn: Policy, storage: Storage) -> None:
        super().__init__(storage)
        self.policy_fn = policy_fn

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return result
        at = self._next(func)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self.policy_fn(context, func, *args, **kwargs)
        keeps = policy if isinstance(policy, bool) else policy in _KEEPING
        kept = keeps and not _shares(result, args)
        self.storage[func][at] = tree_map(_kept, result) if kept else _RECOMPUTE
        return result


def _shares(result: Any, args: Sequence[Any]) -> bool:
    """Tell whether an op wrote to its first operand or looks into it."""
    first = args[0] if args else None
    results = result if isinstance(result, tuple | list) else (result,)
    return isinstance(first, Tensor) and any(
        isinstance(each, Tensor) and each._storage is first._storage for each in results
    )


def _kept(value: Any) -> Any:
    return _Kept(value) if isinstance(value, Tensor) else value


class _CachedTorchDispatchMode(_Counting):
    """Recomputation: hands out what was kept, each result once."""

    def __init__(
        self, policy_fn: Any, storage: Storage, allow_cache_entry_mutation: bool = False
    ) -> None:
        super().__init__(storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        at = self._next(func)
        if func not in self.storage:
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage. "
                f"{_MISMATCH}"
            )
        entry = self.storage[func].get(at)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {at} encountered during backward but not "
                f"found in storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward "
                "once on any region computed under selective activation checkpoint."
            )
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        self.storage[func][at] = _CONSUMED
        return tree_map(self._taken, entry)

    def _taken(self, value: Any) -> Any:
        if not isinstance(value, _Kept):
            return value
        return value.get_val(self.allow_cache_entry_mutation)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[_CachingTorchDispatchMode, _CachedTorchDispatchMode]:
    """Return contexts, for ``context_fn``, that keep the results of some ops.

    Which ones says a list of ops, or a function ``(context, op, *args)`` that returns
    a :class:`CheckpointPolicy` or a bool. A result that was written since is refused
    with RuntimeError, unless ``allow_cache_entry_mutation``.

    >>> import functools
    >>> import gradtape as torch
    >>> from gradtape.utils import checkpoint as cp
    >>> kept = [torch.ops.aten.exp.default]
    >>> contexts = functools.partial(cp.create_selective_checkpoint_contexts, kept)
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> y = cp.checkpoint(
    ...     lambda t: t.exp().sin(), x, use_reentrant=False, context_fn=contexts
    ... )
    >>> y.backward()
    >>> x.grad
    tensor([0.5403])
    """
    storage: Storage = defaultdict(dict)
    if isinstance(policy_fn_or_list, list):
        policy = _policy_of(cast(list[Any], policy_fn_or_list))
    elif callable(policy_fn_or_list):
        policy = cast(Policy, policy_fn_or_list)
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation),
    )


def _policy_of(ops: list[Any]) -> Policy:
    """Return the policy that keeps the results of the listed ops."""
    for op in ops:
        _check_op(op)

    def policy(_: Any, op: Any, *args: Any) -> CheckpointPolicy:
        if op in ops:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def _check_op(op: Any) -> None:
    if isinstance(op, OpOverload):
        return
    advice = ""
    if isinstance(op, OpOverloadPacket):
        advice = (
            "Please update the OpOverloadPacket to a specific OpOverload."
            "For example, if you have `torch.ops.aten.mm`, change it to "
            "`torch.ops.aten.mm.default`."
        )
    raise ValueError(
        f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
        f"{type(op)}. {advice}"
    )
