"""Queries, keys and values of attention, projected."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.linalg.linear import linear

Three = tuple[Tensor, Tensor, Tensor]


def _cut(projected: Tensor, parts: int, size: int) -> Tensor:
    """Turn (…, parts * size) into (parts, …, size), in one block of memory."""
    split = projected.unflatten(-1, (parts, size)).unsqueeze(0)
    return split.transpose(0, -2).squeeze(-2).contiguous()


def in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> Three:
    """Project with one weight for all three, in as few products as can be."""
    size = q.size(-1)
    if k is not v:
        weights, biases = w.chunk(3), (None,) * 3 if b is None else b.chunk(3)
        return tuple(map(linear, (q, k, v), weights, biases))  # type: ignore[return-value]
    if q is k:
        both = _cut(linear(q, w, b), 3, size)
        return both[0], both[1], both[2]
    w_q, w_kv = w.split([size, size * 2])
    b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
    found = linear(q, w_q, b_q)
    both = _cut(linear(k, w_kv, b_kv), 2, size)
    return found, both[0], both[1]


def in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> Three:
    """Project keys and values of sizes of their own."""
    names, size = ("query", "key", "value"), q.size(-1)
    tensors, weights, biases = (q, k, v), (w_q, w_k, w_v), (b_q, b_k, b_v)
    for name, tensor, weight in zip(names, tensors, weights, strict=True):
        _check_shape(f"{name} weights", weight, (size, tensor.size(-1)))
    for name, bias in zip(names, biases, strict=True):
        if bias is not None:
            _check_shape(f"{name} bias", bias, (size,))
    return tuple(map(linear, tensors, weights, biases))  # type: ignore[return-value]


def _check_shape(name: str, given: Tensor, expected: tuple[int, ...]) -> None:
    if tuple(given.shape) != expected:
        raise AssertionError(
            f"expecting {name} shape of {expected}, but got {given.shape}"
        )


def projected(
    query: Tensor, key: Tensor, value: Tensor, joint: Any, bias: Any, own: Any
) -> Three:
    """Project with the joint weight, or with three of their ``own``."""
    if own is None:
        if joint is None:
            raise AssertionError(
                "use_separate_proj_weight is False but in_proj_weight is None"
            )
        return in_projection_packed(query, key, value, joint, bias)
    for name, weight in zip("qkv", own, strict=True):
        if weight is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {name}_proj_weight is None"
            )
    biases = () if bias is None else bias.chunk(3)
    return in_projection(query, key, value, *own, *biases)
