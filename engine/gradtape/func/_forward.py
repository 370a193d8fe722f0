"""jvp: a function's value and directional derivative, in forward mode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

from .._dispatch.declare import tensor_ops
from .._forward_mode import dual as _dual
from .._tensor.tensor import Tensor
from ..autograd import forward_ad
from ..utils._pytree import tree_flatten, tree_map
from ._arguments import (
    check_listed,
    check_outputs,
    chosen,
    replaced,
    transforming,
    with_aux,
)
from ._captures import guarding

_API = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return the output of a function and its Jacobian applied to ``tangents``.

    ``primals`` and ``tangents`` are tuples of the same tree. With ``has_aux`` the
    function returns ``(output, aux)`` and a third value comes back, ``aux``. An output
    that does not depend on the primals has a tangent of zeros, or raises RuntimeError
    with ``strict``.

    >>> import gradtape as torch
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> torch.func.jvp(torch.square, (x,), (v,))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    return jvp_of(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def jvp_of(
    func: Callable[..., Any],
    args: Any,
    tangents: Any,
    argnums: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """As :func:`jvp`, with respect to the arguments at ``argnums`` (None: all)."""
    if not isinstance(args, tuple):
        raise RuntimeError(
            f"{_API}: Expected primals to be a tuple. E.g. it should be valid to call "
            "f(*primals)."
        )
    primals = args if argnums is None else chosen(args, argnums)
    flat_primals, spec = tree_flatten(primals)
    flat_tangents, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{_API}: Expected primals and tangents to have the same python structure. "
            "For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {spec} and tangents with structure "
            f"{tangent_spec}"
        )
    check_listed(flat_primals, _API, "primals")
    check_listed(flat_tangents, _API, "tangents")
    with _level() as level:
        duals = spec.unflatten(
            [
                forward_ad.make_dual(primal, tangent)
                for primal, tangent in zip(flat_primals, flat_tangents, strict=True)
            ]
        )
        with guarding(func, args):
            found = func(*replaced(args, argnums, duals))
        output, aux = with_aux(_API, found, has_aux)
        flat, output_spec = tree_flatten(output)
        check_outputs(flat, _API)
        pairs = [_unpacked(level, each, strict) for each in flat]
        result = output_spec.unflatten([primal for primal, _ in pairs])
        pushed = output_spec.unflatten([tangent for _, tangent in pairs])
        if has_aux:
            return result, pushed, tree_map(lambda t: _plain(level, t), aux)
        return result, pushed


@contextlib.contextmanager
def _level() -> Generator[_dual.Level]:
    """Enter a level inside any others, and make it the one ``forward_ad`` means."""
    enabled, number = _dual.is_enabled(), forward_ad._current_level
    _dual.enable(True)
    level = _dual.enter()
    forward_ad._current_level = max(number, 0)
    try:
        with transforming():
            yield level
    finally:
        forward_ad._current_level = number
        _dual.leave(level)
        _dual.enable(enabled)


def _unpacked(
    level: _dual.Level, output: Tensor, strict: bool
) -> tuple[Tensor, Tensor]:
    primal, tangent = forward_ad.unpack_dual_at(level, output)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is "
                "independent of the inputs. This is not allowed with strict=True."
            )
        tangent = tensor_ops.zeros_like(primal)
    return primal, tangent


def _plain(level: _dual.Level, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return forward_ad.unpack_dual_at(level, value).primal
