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

from .._mode import mode
from .._op import Op
from .._tensor import Tensor
from ..ops._aten import OpOverload, OpOverloadPacket, aten, overload_of

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


class _Keeping:
    """Stands between an op and its kernel while its context is on."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._counts: dict[OpOverload, int] = defaultdict(int)
        self._outer: list[Any] = []

    def __enter__(self) -> _Keeping:
        now = mode.now
        self._outer.append(now.keeping)
        self._counts.clear()
        now.keeping = self
        now.settle()
        return self

    def __exit__(self, *exc: object) -> None:
        now = mode.now
        now.keeping = self._outer.pop()
        now.settle()

    def _next(self, func: OpOverload) -> int:
        at = self._counts[func]
        self._counts[func] = at + 1
        return at

    def recall(self, op: Op, args: Sequence[Any]) -> Any:
        """Return the arrays of a result that was kept; None to run the kernel."""
        return None

    def note(
        self, op: Op, args: Sequence[Any], params: Sequence[Any], outputs: Any
    ) -> None:
        """Take notice of an op's result."""


class _CachingTorchDispatchMode(_Keeping):
    """Forward: asks the policy about every result."""

    def __init__(self, policy_fn: Policy, storage: Storage) -> None:
        super().__init__(storage)
        self.policy_fn = policy_fn

    def note(
        self, op: Op, args: Sequence[Any], params: Sequence[Any], outputs: Any
    ) -> None:
        func = overload_of(op, args)
        at = self._next(func)
        result = outputs[0] if op.outputs == 1 else outputs
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        now = mode.now
        now.keeping = None  # what the policy computes is its own affair
        try:
            policy = self.policy_fn(context, func, *args, *params)
        finally:
            now.keeping = self
        keeps = policy if isinstance(policy, bool) else policy in _KEEPING
        kept = keeps and op.view is None
        self.storage[func][at] = [_Kept(o) for o in outputs] if kept else _RECOMPUTE


class _CachedTorchDispatchMode(_Keeping):
    """Recomputation: hands out what was kept, each result once."""

    def __init__(
        self, policy_fn: Any, storage: Storage, allow_cache_entry_mutation: bool = False
    ) -> None:
        super().__init__(storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def recall(self, op: Op, args: Sequence[Any]) -> Any:
        func = overload_of(op, args)
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
            return None
        self.storage[func][at] = _CONSUMED
        allowed = self.allow_cache_entry_mutation
        arrays = tuple([kept.get_val(allowed)._data for kept in entry])
        return arrays[0] if op.outputs == 1 else arrays


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
