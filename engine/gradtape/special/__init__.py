"""Special functions: gradtape.special mirrors torch.special."""

from .._dispatch.declare import FUNCTIONS as _FUNCTIONS
from ..ops.pointwise import special as _special
from ..ops.pointwise import special_gamma as _special_gamma

airy_ai = _special.airy_ai
bessel_j0 = _special.bessel_j0
bessel_j1 = _special.bessel_j1
bessel_y0 = _special.bessel_y0
bessel_y1 = _special.bessel_y1
chebyshev_polynomial_t = _special.chebyshev_polynomial_t
chebyshev_polynomial_u = _special.chebyshev_polynomial_u
chebyshev_polynomial_v = _special.chebyshev_polynomial_v
chebyshev_polynomial_w = _special.chebyshev_polynomial_w
entr = _special_gamma.entr
erfcx = _special_gamma.erfcx
hermite_polynomial_h = _special.hermite_polynomial_h
hermite_polynomial_he = _special.hermite_polynomial_he
i0 = _special.i0
i0e = _special.i0e
i1 = _special.i1
i1e = _special.i1e
laguerre_polynomial_l = _special.laguerre_polynomial_l
legendre_polynomial_p = _special.legendre_polynomial_p
log_ndtr = _special_gamma.log_ndtr
modified_bessel_i0 = _special.modified_bessel_i0
modified_bessel_i1 = _special.modified_bessel_i1
modified_bessel_k0 = _special.modified_bessel_k0
modified_bessel_k1 = _special.modified_bessel_k1
ndtr = _special_gamma.ndtr
ndtri = _special_gamma.ndtri
polygamma = _special_gamma.polygamma
scaled_modified_bessel_k0 = _special.scaled_modified_bessel_k0
scaled_modified_bessel_k1 = _special.scaled_modified_bessel_k1
shifted_chebyshev_polynomial_t = _special.shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u = _special.shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v = _special.shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w = _special.shifted_chebyshev_polynomial_w
spherical_bessel_j0 = _special.spherical_bessel_j0
xlog1py = _special_gamma.xlog1py
zeta = _special_gamma.zeta

digamma = _FUNCTIONS["digamma"]
erf = _FUNCTIONS["erf"]
erfc = _FUNCTIONS["erfc"]
erfinv = _FUNCTIONS["erfinv"]
exp2 = _FUNCTIONS["exp2"]
expit = _FUNCTIONS["sigmoid"]
expm1 = _FUNCTIONS["expm1"]
gammainc = _FUNCTIONS["igamma"]
gammaincc = _FUNCTIONS["igammac"]
multigammaln = _FUNCTIONS["mvlgamma"]
gammaln = _FUNCTIONS["lgamma"]
log1p = _FUNCTIONS["log1p"]
log_softmax = _FUNCTIONS["log_softmax"]
logit = _FUNCTIONS["logit"]
logsumexp = _FUNCTIONS["logsumexp"]
psi = _FUNCTIONS["digamma"]
round = _FUNCTIONS["round"]
sinc = _FUNCTIONS["sinc"]
softmax = _FUNCTIONS["softmax"]
xlogy = _FUNCTIONS["xlogy"]
