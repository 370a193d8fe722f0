"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from .. import special
from .._dtypes import bool_, float64
from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import SCALAR, Distribution
from .utils import F, forwarded, lazy_property


class VonMises(Distribution):
    """Angles around ``loc``, in [-pi, pi).

    Samples come from rejection (Best and Fisher, "Efficient simulation of the von
    Mises distribution", 1979), computed in float64.

    >>> import gradtape as torch
    >>> VonMises = torch.distributions.VonMises
    >>> VonMises(torch.tensor([0.0]), torch.tensor([2.0])).variance
    tensor([0.3022])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False
    _expanded = ("loc", "concentration")
    loc: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._broadcast(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        # i0e is exp(-k) I0(k), which stays finite where I0 does not.
        log_bessel = special.i0e(self.concentration).log() + self.concentration
        peak = self.concentration * F.cos(value - self.loc)
        return peak - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        exact = (1 + rho**2) / (2 * rho)
        return F.where(kappa < 1e-5, 1 / kappa + kappa, exact)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            kappa, r = self._concentration, self._proposal_r
            x = F.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            done = F.zeros(shape, dtype=bool_, device=self.loc.device)
            while not done.all():
                u = F.rand((3, *shape), dtype=self._loc.dtype, device=self.loc.device)
                u1, u2, u3 = u.unbind()
                z = F.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                good = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = F.where(good, (u3 - 0.5).sign() * f.acos(), x)
                done = done | good
            turned = x + math.pi + self._loc
            return (turned % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = mode = forwarded("loc")

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)
