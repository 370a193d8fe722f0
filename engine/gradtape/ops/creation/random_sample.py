"""Random samples of what a tensor holds: bernoulli, multinomial, normal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.declare import Array, method, public, tensor_ops
from ..._dispatch.operands import common_shape
from ..._dispatch.out_checks import refusal
from ..._dtypes import int64
from ..._modes.grad_mode import mode, no_grad
from ..._random import continuous as fill
from ..._random import sample as draw
from ..._random.generator import Generator
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import as_bool, as_integer, check_tensor
from .._support.new_tensor import deliver
from .._support.operands import hidden_op
from .._support.out_argument import handed_over
from .full import checked_size
from .random import check_parameters, draw_kind, on_device, sampled


@hidden_op({"self": lambda F, grad: F.zeros_like(grad)}, name="bernoulli")
def _bernoulli(xp: Any, self: Array, generator: Any) -> Any:
    """Draw ones with the probabilities that the tensor holds."""
    host = backend_of(self).to_host(self)
    found = fill.bernoulli_(np.empty(host.shape, host.dtype), host, generator)
    return found if xp is np else xp.asarray(found)


@method("bernoulli", function=True)
def bernoulli(
    input: Tensor,
    p: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw ones with the probabilities that the tensor holds, or with ``p``."""
    check_tensor(input, "bernoulli")
    if p is not None:
        check_parameters(input)
        return empty_of(input).bernoulli_(p, generator=generator)
    if out is not None:  # of any dtype, unlike others
        if mode.grad and (input.requires_grad or out.requires_grad):
            raise refusal("bernoulli")
        with no_grad():
            return out.resize_(input.shape).bernoulli_(input, generator=generator)
    return sampled("bernoulli", (input,), generator)


def empty_of(input: Tensor) -> Tensor:
    """Return a tensor without values of the shape and dtype of ``input``."""
    xp = backend_of(input._data).xp
    return wrap(xp.empty(input._data.shape, input._data.dtype))


@method("multinomial", function=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw category numbers with the weights in each row."""
    check_tensor(input, "multinomial")
    num_samples = as_integer(num_samples, "multinomial", "num_samples", 2)
    as_bool(replacement, "multinomial", "replacement", 3)
    if out is not None and out.dtype is not int64:
        raise RuntimeError(
            f"multinomial expects Long tensor out, got: {out.dtype.cpp_name}"
        )
    check_parameters(input)
    host = backend_of(input._data).to_host(input._data)
    found = draw.multinomial(host, num_samples, replacement, generator)
    return deliver(on_device(found, input.device), out)


def _no_slope(F: Any, grad: Any, shape: Any) -> Any:
    return F._new_zeros(grad, shape)


@hidden_op(
    {"mean": lambda F, grad, mean_shape: _no_slope(F, grad, mean_shape)},
    node="NormalBackward1",
)
def _normal_around(xp: Any, mean: Array, drawn: Any, std: float) -> Any:
    return xp.asarray(drawn * drawn.dtype.type(std) + mean)


@hidden_op(
    {"std": lambda F, grad, std_shape: _no_slope(F, grad, std_shape)},
    node="NormalBackward2",
)
def _normal_spread(xp: Any, std: Array, drawn: Any, mean: float) -> Any:
    return xp.asarray(drawn * std + drawn.dtype.type(mean))


@hidden_op(
    {
        "mean": lambda F, grad, mean_shape: _no_slope(F, grad, mean_shape),
        "std": lambda F, grad, std_shape: _no_slope(F, grad, std_shape),
    },
    node="NormalBackward3",
)
def _normal_both(xp: Any, mean: Array, std: Array, drawn: Any) -> Any:
    return xp.asarray(drawn * std + mean)


@public
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Draw normal numbers; mean and deviation are numbers, or tensors of them.

    Raises RuntimeError for a negative deviation.
    """
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors:
        shape = () if size is None else checked_size((size,), "normal")
        kind = draw_kind(dtype, out, "normal")
        array = fill.normal_(np.empty(shape, kind.numpy), mean, std, generator)
        return deliver(on_device(array, device), out, requires_grad, name="normal")
    check_parameters(*tensors)
    if isinstance(std, Tensor):
        if std._data.size and (std._data < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    shape = common_shape(*(t._data.shape for t in tensors))
    standard = np.empty(shape, tensors[0]._data.dtype)
    fill.normal_(standard, 0.0, 1.0, generator)
    drawn = on_device(standard, tensors[0].device)
    if out is not None:
        if mode.grad and any(t.requires_grad for t in (*tensors, out)):
            raise refusal("normal")
        with no_grad():
            return handed_over("normal", (wrap(drawn) * std + mean)._data, out)
    if not isinstance(std, Tensor):
        return tensor_ops._normal_around(mean, drawn, std)
    if not isinstance(mean, Tensor):
        return tensor_ops._normal_spread(std, drawn, mean)
    return tensor_ops._normal_both(mean, std, drawn)
