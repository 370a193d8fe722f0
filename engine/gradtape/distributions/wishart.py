"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any, Final

from .. import linalg
from .._common.site import user_stacklevel
from .._dtypes import finfo
from .._tensor.tensor import Tensor
from . import constraints
from ._matrices import factor_of, log_diagonal, only_given
from .chi2 import Chi2
from .distribution import SCALAR
from .exp_family import ExponentialFamily
from .utils import F, lazy_property

_LOW_DF = (
    "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
    "< df < ndim."
)
_TRIES: Final = 10


class Wishart(ExponentialFamily):
    """Sample covariances: sums of ``df`` outer products of normal vectors.

    Exactly one of the three matrices says what their covariance is. Samples follow
    Bartlett's decomposition. Raises ValueError where ``df`` is not above the size of
    the matrix less 1.

    >>> import gradtape as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _expanded = (
        "df",
        "covariance_matrix",
        "precision_matrix",
        "scale_tril",
        "_dist_chi2",
    )
    _kept = ("_unbroadcasted_scale_tril",)
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = only_given(
            covariance_matrix, precision_matrix, scale_tril, AssertionError
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        size = matrix.shape[-1]
        if isinstance(df, Number):
            df = F.tensor(df, dtype=matrix.dtype, device=matrix.device)
        assert isinstance(df, Tensor)
        batch = F.broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        if self.df.le(size - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}."
            )
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if self.df.lt(size).any():
            warnings.warn(_LOW_DF, stacklevel=user_stacklevel())
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        steps = F.arange(size, dtype=matrix.dtype, device=matrix.device)
        degrees = self.df.unsqueeze(-1) - steps.expand((*batch, -1))
        self._dist_chi2 = Chi2(degrees)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._square(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        size = self._event_shape[-1]
        identity = F.eye(size, device=factor.device, dtype=factor.dtype)
        return self._square(F.cholesky_solve(identity, factor))

    def _square(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self._wide(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return self._wide(factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._wide(self.df) * (v.pow(2) + outer)

    def _wide(self, value: Tensor) -> Tensor:
        return value.view((*self._batch_shape, 1, 1))

    def _bartlett_sampling(self, sample_shape: Any = SCALAR) -> Tensor:
        size = self._event_shape[-1]
        lengths = self._dist_chi2.rsample(sample_shape).sqrt()
        lengths = lengths.clamp(min=finfo(lengths.dtype).eps)
        noise = lengths.diag_embed(dim1=-2, dim2=-1)
        where, dtype = noise.device, noise.dtype
        rows, columns = F.tril_indices(size, size, offset=-1, device=where)
        below = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        noise[..., rows, columns] = F.randn(below, dtype=dtype, device=where)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(
        self, sample_shape: Any = SCALAR, max_try_correction: int | None = None
    ) -> Tensor:
        """Draw samples; draw those again that rounding left singular.

        The first test is the wrong way round in PyTorch, which so warns of every
        sample and draws it a second time; the numbers here are the same.
        """
        tries = _TRIES if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(tuple(sample_shape))
        singular = self._over_batch(self.support.check(sample))
        if not singular.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=user_stacklevel())
        for _ in range(tries):
            fresh = self._bartlett_sampling((int(singular.sum()),))
            sample[singular] = fresh
            still = self._over_batch(~self.support.check(fresh))
            singular[singular.clone()] = still
            if not singular.any():
                break
        return sample

    def _over_batch(self, holds: Tensor) -> Tensor:
        """Say for each sample whether something holds anywhere in its batch."""
        dims = [-(x + 1) for x in range(len(self._batch_shape))]
        return holds.amax(dims) if dims else holds

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        nu, size, factor = (
            self.df,
            self._event_shape[-1],
            self._unbroadcasted_scale_tril,
        )
        inner = F.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * (size * math.log(2) / 2 + log_diagonal(factor))
            - F.mvlgamma(nu / 2, p=size)
            + (nu - size - 1) / 2 * linalg.slogdet(value).logabsdet
            - inner / 2
        )

    def entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        log_det = size * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        return (
            (size + 1) * log_det
            + F.mvlgamma(nu / 2, p=size)
            - (nu - size - 1) / 2 * _mvdigamma(nu / 2, size)
            + nu * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        size = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - size - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        half_df = y + (size + 1) / 2
        log_det = -linalg.slogdet(-2 * x).logabsdet + math.log(2) * size
        return half_df * log_det + F.mvlgamma(half_df, p=size)


def _mvdigamma(x: Tensor, size: int) -> Tensor:
    """Return the derivative of the multivariate log-gamma function."""
    steps = F.arange(size, dtype=x.dtype, device=x.device).div(2)
    return F.digamma(x.unsqueeze(-1) - steps).sum(-1)
