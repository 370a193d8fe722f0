"""Gamma, Dirichlet, Poisson and binomial samples of the parameters in a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._dispatch.declare import Array, op, public
from ..._random import counts
from ..._random import gamma as draw
from ..._random.generator import Generator
from ..._tensor.tensor import Tensor
from .._kernels.gamma_gradients import dirichlet_slope, gamma_slope
from .._support.operands import UNDERIVED, hidden_op, not_implemented, underived
from .random import sampled


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
    return _drawn(xp, draw.standard_gamma, generator, self)


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
    return _drawn(xp, draw.dirichlet, generator, self)


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
