"""Checkpoints: compute a function again in backward, instead of keeping what it saves.

Two ways, as in PyTorch. ``use_reentrant=False`` runs the function recorded, with
holders in place of saved tensors. ``use_reentrant=True`` runs it unrecorded, as one
node whose derivative runs it again and begins a backward pass of its own. Both compare
the values of the second run with those of the first.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from .._backend.device import default_device
from .._modes.grad_mode import is_grad_enabled
from .._tensor.tensor import Tensor
from ..nn import Sequential
from ..ops.creation.random import get_rng_state, set_rng_state
from ..random import fork_rng
from . import _checkpoint_errors as errors
from ._checkpoint_errors import CheckpointError, debug_contexts
from ._checkpoint_frame import Frame, GraphExecGroup
from ._checkpoint_reentrant import (
    CheckpointFunction,
    DefaultDeviceType,
    Surroundings,
    Unchecked,
    check_backward_validity,
    detach_variable,
    get_device_states,
    set_device_states,
)
from ._checkpoint_reentrant import infer_device_type as _infer_device_type
from ._selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ._selective import _CachedTorchDispatchMode as _CachedTorchDispatchMode
from ._selective import _CachingTorchDispatchMode as _CachingTorchDispatchMode

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class _Settings:
    """What the context managers below have set, for all threads, as in PyTorch."""

    debug: bool | None = None
    early_stop: bool | None = None


_settings = _Settings()


def _metadata_of(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _nothing_of(_: Tensor) -> None:
    return None


_CHECKS: Final[dict[str, Callable[[Tensor], Any]]] = {
    "default": _metadata_of,
    "none": _nothing_of,
}


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: for forward and for recomputation."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call ``function(*args, **kwargs)`` and keep its arguments, not what it saves.

    Backward calls the function again to compute what it needs. ``preserve_rng_state``
    (a keyword, True) makes random ops repeat themselves. ``context_fn`` returns two
    context managers, for the first call and for the second. Unless
    ``determinism_check`` is "none", shapes, dtypes, devices and, with the random state
    preserved, values must be those of the first call: else backward raises
    CheckpointError, which with ``debug`` lists the ops of both calls. Recomputation
    ends with the last tensor that is needed, unless ``early_stop`` is False.

    >>> import gradtape as torch
    >>> from gradtape.utils.checkpoint import checkpoint
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> y = checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor([218.3926])
    """
    if use_reentrant is None:
        warnings.warn(errors.SAY_WHICH, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentry(
            function,
            args,
            kwargs,
            preserve,
            context_fn,
            determinism_check,
            debug if _settings.debug is None else _settings.debug,
            early_stop if _settings.early_stop is None else _settings.early_stop,
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when "
            "use_reentrant=False."
        )
    if determinism_check == "none":
        function = Unchecked(function)
    return CheckpointFunction.apply(function, preserve, *args)


def _without_reentry(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    on_error = None
    if debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, on_error = debug_contexts()
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)}, but got "
            f"{determinism_check}"
        )
    _infer_device_type(*args)
    forward_context, recompute_context = context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame = Frame(
        _again(function, kwargs, preserve, recompute_context),
        early_stop,
        _CHECKS[determinism_check],
        preserve
        and determinism_check != "none"
        and not getattr(recompute_context, "allow_cache_entry_mutation", False),
        on_error,
    )
    frame.keep_arguments(*args)
    suppressed = False
    with frame, forward_context:
        try:
            result = function(*args, **kwargs)
        except BaseException:
            suppressed = True
            raise
    if suppressed:
        raise RuntimeError(errors.SUPPRESSED)
    frame.forward_completed = True
    return result  # pyright: ignore[reportPossiblyUnbound] - else `suppressed`


def _again(
    function: Callable[..., Any],
    kwargs: dict[str, Any],
    preserve: bool,
    context: AbstractContextManager[Any],
) -> Callable[..., None]:
    """Return what calls the function once more, in the state that there is now."""
    state = get_rng_state() if preserve else None
    where, surroundings = default_device(), Surroundings()

    def recompute(*args: Any) -> None:
        with fork_rng(enabled=preserve), surroundings.again(), context, where:
            if state is not None:
                set_rng_state(state)
            function(*args, **kwargs)

    return recompute


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call functions, or the modules of a Sequential, one on the result of another.

    All but the last of ``segments`` equal parts are checkpointed.

    >>> import gradtape as torch
    >>> from gradtape.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor([0.5], requires_grad=True)
    >>> steps = [torch.sin, torch.exp]
    >>> checkpoint_sequential(steps, 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.4174])
    """
    if use_reentrant is None:
        warnings.warn(errors.SAY_WHICH_OF_SEQUENCE, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(
        functions.children() if isinstance(functions, Sequential) else functions
    )
    length = len(steps) // segments
    last = length * (segments - 1)
    for start in range(0, last, length):
        input = checkpoint(
            _chain(steps[start : start + length]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _chain(steps[last:])(input)


def _chain(steps: list[Callable[..., Any]]) -> Callable[[Any], Any]:
    def forward(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return forward


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Generator[None, None, None]:
    """Choose whether checkpoints made in the block stop recomputing when they can.

    It matters where forward runs; backward may run outside.
    """
    before, _settings.early_stop = _settings.early_stop, enable
    try:
        yield
    finally:
        _settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Generator[None, None, None]:
    """Choose ``debug`` for all checkpoints made in the block; None: as they say."""
    before, _settings.debug = _settings.debug, enabled
    try:
        yield
    finally:
        _settings.debug = before
