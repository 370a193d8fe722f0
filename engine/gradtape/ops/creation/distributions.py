"""Samples of what tensors hold: bernoulli, multinomial, normal, gamma, poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.declare import Array, method, op, public, tensor_ops
from ..._dispatch.operands import common_shape
from ..._dispatch.out_checks import refusal
from ..._dtypes import int64
from ..._modes.grad_mode import mode, no_grad
from ..._random import continuous as fill
from ..._random import counts
from ..._random import sample as draw
from ..._random.generator import Generator
from ..._tensor.tensor import Tensor, wrap
from .._kernels.gamma_gradients import dirichlet_slope, gamma_slope
from .._support.arguments import as_bool, as_integer, check_tensor
from .._support.new_tensor import deliver
from .._support.operands import UNDERIVED, hidden_op, not_implemented, underived
from .._support.out_argument import handed_over
from .factories import checked_size
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


def _needs(label: str, *, halves: bool = False) -> Any:
    """Return a check that refuses what a random kernel has no version for."""

    def check(_name: str, self: Tensor, *_rest: Any) -> None:
        dtype = self.dtype
        if not dtype.is_floating_point or (dtype.itemsize == 2 and not halves):
            raise not_implemented(label, self)

    return check


def _drawn(xp: Any, function: Any, generator: Any, *arrays: Any) -> Any:
    """Draw on the host, with row-major results, whatever device holds the arrays."""
    found = function(*(backend_of(a).to_host(a) for a in arrays), generator)
    return found if xp is np else xp.asarray(found)


# ---- gamma ----


@hidden_op(
    {"self": lambda F, grad, self, result: grad * F._standard_gamma_grad(self, result)},
    name="_standard_gamma",
    node="StandardGammaBackward0",
    check=_needs("gamma_cpu"),
)
def _standard_gamma_op(xp: Any, self: Array, generator: Any) -> Any:
    """Draw gamma samples of rate 1."""
    return _drawn(xp, counts.standard_gamma, generator, self)


@public
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw a gamma sample of rate 1 for each shape parameter, with a derivative.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch._standard_gamma(torch.tensor([0.5, 5.0]))
    tensor([7.8936e-04, 2.7153e+00])
    """
    return sampled("_standard_gamma", (input,), generator)


def _no_second(F: Any, grad: Any) -> Any:
    raise NotImplementedError(
        "the derivative for '_standard_gamma_grad' is not implemented."
    )


@op(
    {"self": _no_second},
    node="StandardGammaGradBackward0",
    method=False,
    check=_needs("_standard_gamma_grad_cpu"),
)
def _standard_gamma_grad(xp: Any, self: Array, output: Array) -> Any:
    """Return how gamma samples move with their shape parameters."""
    return gamma_slope(xp, self, output)


# ---- Dirichlet ----


@hidden_op(
    underived("_sample_dirichlet", "self"),
    name="_sample_dirichlet",
    node=UNDERIVED,
    check=_needs("dirichlet"),
)
def _sample_dirichlet_op(xp: Any, self: Array, generator: Any) -> Any:
    """Draw points of the simplex."""
    return _drawn(xp, counts.dirichlet, generator, self)


@public
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw a point of the simplex for the concentrations along the last dimension."""
    return sampled("_sample_dirichlet", (input,), generator)


@op(
    underived("_dirichlet_grad", "x", "alpha", "total"),
    node=UNDERIVED,
    method=False,
    check=_needs("_dirichlet_grad_cpu"),
)
def _dirichlet_grad(xp: Any, x: Array, alpha: Array, total: Array) -> Any:
    """Return how components of Dirichlet samples move with their concentrations."""
    return dirichlet_slope(xp, x, alpha, total)


# ---- counts ----


@hidden_op(
    {"self": lambda F, grad: F.zeros_like(grad)},
    name="poisson",
    check=_needs("poisson_cpu", halves=True),
)
def _poisson(xp: Any, self: Array, generator: Any) -> Any:
    """Draw Poisson counts."""
    return _drawn(xp, counts.poisson, generator, self)


@public
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw a Poisson count for each rate.

    Raises RuntimeError where a rate is negative.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.poisson(torch.tensor([1.0, 100.0]))
    tensor([  2., 117.])
    """
    return sampled("poisson", (input,), generator)


def _check_binomial(_name: str, count: Tensor, prob: Tensor, *_rest: Any) -> None:
    if not count.dtype.is_floating_point:
        raise ValueError(
            "binomial only supports floating-point dtypes for count, got: "
            f"{count.dtype.cpp_name}"
        )
    if count.dtype.itemsize == 2:
        raise not_implemented("binomial_cpu", count)
    if prob.dtype is not count.dtype:
        raise RuntimeError(
            f"Found dtype {prob.dtype.cpp_name} but expected {count.dtype.cpp_name}"
        )


@hidden_op(
    underived("binomial", "count", "prob"),
    name="binomial",
    node=UNDERIVED,
    check=_check_binomial,
)
def _binomial(xp: Any, count: Array, prob: Array, generator: Any) -> Any:
    """Draw binomial counts."""
    both = xp.broadcast_arrays(count, prob)
    return _drawn(xp, counts.binomial, generator, *both)


@public
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw how many of ``count`` trials succeed with probability ``prob``.

    >>> import gradtape as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.binomial(torch.tensor([10.0, 100.0]), torch.tensor([0.5, 0.5]))
    tensor([ 7., 51.])
    """
    return sampled("binomial", (count, prob), generator)
