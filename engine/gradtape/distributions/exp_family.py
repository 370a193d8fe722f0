"""`ExponentialFamily`: distributions known by their log-normalizer."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import autograd
from .._tensor.tensor import Tensor
from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    r"""Distributions of density exp(t(x) · n - F(n) + k(x)).

    ``n`` are the natural parameters and F is the log-normalizer, whose derivatives
    give the entropy (Nielsen and Nock, "Entropies and cross-entropies of exponential
    families", 2010) and the divergence of two members of one family.
    """

    _mean_carrier_measure: ClassVar[Any]
    """The mean of k(x)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, from derivatives of the log-normalizer."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes = autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for parameter, slope in zip(natural, slopes, strict=True):
            product = parameter * slope
            result = result - sum_rightmost(
                product, product.dim() - len(self._batch_shape)
            )
        return result


def _undefined(self: Any) -> Any:
    raise NotImplementedError


ExponentialFamily._mean_carrier_measure = property(_undefined)
