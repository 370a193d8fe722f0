"""Scaling gradients down before a step."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._common.site import user_stacklevel
from ..._dispatch.inplace import note_write
from ..._modes.grad_mode import no_grad
from ..._sparse.array import SparseArray, refused
from ..._tensor.tensor import Tensor, wrap

Tensors = Tensor | Iterable[Tensor]

_NOT_FINITE = (
    "The total norm of order {order} for gradients from `parameters` is non-finite, so "
    "it cannot be clipped. To disable this error and scale the gradients by the "
    "non-finite norm anyway, set `error_if_nonfinite=False`"
)


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _norm(array: Any, order: float) -> Any:
    if type(array) is SparseArray:
        raise refused("linalg_vector_norm")
    flat = abs(array.reshape(-1))
    if order == math.inf:
        return flat.max(initial=0)
    if order == -math.inf:
        return flat.min()
    if order == 0:
        return (flat != 0).sum().astype(array.dtype)
    if order == 2:
        return flat.dot(flat) ** 0.5
    return (flat**order).sum() ** (1 / order)


@no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors as if they were one vector."""
    del foreach  # there is one way here
    order, arrays = float(norm_type), [t._data for t in _as_list(tensors)]

    if not arrays:
        return wrap(np.zeros((), np.float32))
    total = np.asarray([_norm(a, order) for a in arrays]).astype(arrays[0].dtype)
    found = np.asarray(_norm(total, order), arrays[0].dtype)
    if error_if_nonfinite and not np.isfinite(found):
        raise RuntimeError(_NOT_FINITE.format(order=order))
    return wrap(found)


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors,
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients so that a norm known already becomes at most ``max_norm``."""
    del foreach
    factor = min(float(max_norm) / (float(total_norm._data) + 1e-6), 1.0)
    if math.isnan(float(total_norm._data)):
        factor = math.nan
    for parameter in _as_list(parameters):
        if parameter._grad is not None:
            data = parameter._grad._data
            data *= data.dtype.type(factor)
            note_write(parameter._grad, "clip_grad_norm_")


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients so that their common norm is at most ``max_norm``.

    Returns the norm before. Raises RuntimeError where it is not finite and
    ``error_if_nonfinite`` is set.
    """
    members = _as_list(parameters)
    if isinstance(parameters, types.GeneratorType) and not members:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    gradients = [p._grad for p in members if p._grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(members, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Do what ``clip_grad_norm_`` does, under its old name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensors, clip_value: float, foreach: bool | None = None
) -> None:
    """Cut every element of the gradients to the range of ``clip_value``."""
    del foreach
    limit = float(clip_value)
    for parameter in _as_list(parameters):
        if parameter._grad is not None:
            data = parameter._grad._data
            data.clip(-limit, limit, out=data)
            note_write(parameter._grad, "clip_grad_value_")
