"""``out=`` for functions composed of ops: compute, check, then store."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..._common.messages import CAST_REFUSED
from ..._dispatch.out import CASTABLE as CASTABLE
from ..._dispatch.out import store
from ..._dispatch.out_checks import COPIED, refusal
from ..._dtypes import can_cast
from ..._modes.grad_mode import mode, no_grad
from ..._tensor.tensor import Tensor, wrap
from ...return_types import Outputs
from .arguments import check_tensor
from .matrix_product import c_name

K = TypeVar("K", bound=Callable[..., Any])

SAME_DTYPE = "Expected out tensor to have dtype {wanted}, but got {given} instead"
PLAIN = CAST_REFUSED
STRICT = "castable first, then the same"


class _Named:
    """The name under which a store is logged."""

    family = out_rule = ""
    pointwise = False

    def __init__(self, name: str) -> None:
        self.name = name


def _named(name: str) -> Any:
    return _Named(name)


def into(
    name: str,
    out: Any,
    tensors: Sequence[Any],
    compute: Callable[[], Any],
    rule: str = SAME_DTYPE,
    slot: str | Sequence[str] = "result",
) -> Any:
    """Return what ``compute`` returns, stored in ``out`` where that is given.

    ``rule`` is the sentence for an ``out=`` of another dtype. With :data:`CASTABLE`
    or :data:`PLAIN` any dtype will do that the result can be cast to; with
    :data:`STRICT` only the result's own will do, but PyTorch complains of what cannot
    be cast first. ``slot`` is what the sentence calls the result, or each of several.
    """
    if out is None:
        return compute()
    several = isinstance(out, list | tuple)
    targets: list[Any] = list(out) if several else [out]
    for target in targets:
        check_tensor(target, name, "out", len(tensors) + 1)
    given = [t for t in (*tensors, *targets) if isinstance(t, Tensor)]
    if mode.now.watch is not None:
        mode.now.watch.check_fallback(f"{name}.out", given)
    needs = mode.grad and any(t.requires_grad for t in given)
    if needs and name in COPIED:
        return copied(name, compute(), out, rule)
    if needs:
        raise refusal(name)
    with no_grad():
        results = compute()
        each = list(results) if several else [results]
        slots = [slot] * len(each) if isinstance(slot, str) else slot
        for target, result, called in zip(targets, each, slots, strict=True):
            _check_dtype(name, target, result, rule, called)
        for target, result in zip(targets, each, strict=True):
            _store(target, result, name)
    return type(results)(Outputs(targets)) if several else out


def copied(name: str, result: Tensor, out: Tensor, rule: str) -> Tensor:
    """Return ``out`` after a result was copied there with its history."""
    _check_dtype(name, out, result, rule, "result")
    if out.shape != result.shape:
        out._resize_output_(result._data.shape)  # type: ignore[attr-defined]
    return out.copy_(result)


def handed_over(name: str, array: Any, out: Tensor | None, rule: str = "") -> Tensor:
    """Return a new tensor over an array, or ``out`` after the array is stored in it."""
    if out is None:
        return wrap(array)
    target, result = check_tensor(out, name, "out", 1), wrap(array)
    if rule:
        _check_dtype(name, target, result, rule, "result")
    store(target, array, _named(name))
    return out


def _check_dtype(name: str, target: Any, result: Any, rule: str, slot: str) -> None:
    if target.dtype is result.dtype:
        return
    castable = rule in (CASTABLE, PLAIN, STRICT)
    if castable and can_cast(result.dtype, target.dtype):
        if rule != STRICT:
            return
        rule = SAME_DTYPE
    raise RuntimeError(
        (CASTABLE if rule == STRICT else rule).format(
            name=name,
            slot=slot,
            result=result.dtype.cpp_name,
            out=target.dtype.cpp_name,
            output=target.dtype.cpp_name,
            wanted=c_name(result._data),
            given=c_name(target._data),
        )
    )


def _store(target: Tensor, result: Tensor, name: str) -> None:
    store(target, result._data, _named(name), lies_like=True)


def with_out(rule: str = CASTABLE, name: str = "") -> Callable[[K], K]:
    """Let a function of tensors take ``out=`` too; ``rule`` is as for :func:`into`."""

    def install(function: K) -> K:
        called = name or function.__name__

        @functools.wraps(function)
        def call(*args: Any, out: Any = None, **named: Any) -> Any:
            if out is None:
                return function(*args, **named)
            given = [*args, *named.values()]
            tensors = [t for t in given if isinstance(t, Tensor)]
            return into(called, out, tensors, lambda: function(*args, **named), rule)

        signature = inspect.signature(function)
        last = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = (*signature.parameters.values(), last)
        call.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
        return call  # pyright: ignore[reportReturnType]

    return install
