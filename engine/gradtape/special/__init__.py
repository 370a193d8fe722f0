"""Special functions: gradtape.special mirrors torch.special."""

from .._dispatch.declare import FUNCTIONS as _FUNCTIONS
from ..ops.pointwise.special import airy_ai as airy_ai
from ..ops.pointwise.special import bessel_j0 as bessel_j0
from ..ops.pointwise.special import bessel_j1 as bessel_j1
from ..ops.pointwise.special import bessel_y0 as bessel_y0
from ..ops.pointwise.special import bessel_y1 as bessel_y1
from ..ops.pointwise.special import (
    chebyshev_polynomial_t as chebyshev_polynomial_t,
)
from ..ops.pointwise.special import (
    chebyshev_polynomial_u as chebyshev_polynomial_u,
)
from ..ops.pointwise.special import (
    chebyshev_polynomial_v as chebyshev_polynomial_v,
)
from ..ops.pointwise.special import (
    chebyshev_polynomial_w as chebyshev_polynomial_w,
)
from ..ops.pointwise.special import (
    hermite_polynomial_h as hermite_polynomial_h,
)
from ..ops.pointwise.special import (
    hermite_polynomial_he as hermite_polynomial_he,
)
from ..ops.pointwise.special import i0 as i0
from ..ops.pointwise.special import i0e as i0e
from ..ops.pointwise.special import i1 as i1
from ..ops.pointwise.special import i1e as i1e
from ..ops.pointwise.special import (
    laguerre_polynomial_l as laguerre_polynomial_l,
)
from ..ops.pointwise.special import (
    legendre_polynomial_p as legendre_polynomial_p,
)
from ..ops.pointwise.special import modified_bessel_i0 as modified_bessel_i0
from ..ops.pointwise.special import modified_bessel_i1 as modified_bessel_i1
from ..ops.pointwise.special import modified_bessel_k0 as modified_bessel_k0
from ..ops.pointwise.special import modified_bessel_k1 as modified_bessel_k1
from ..ops.pointwise.special import (
    scaled_modified_bessel_k0 as scaled_modified_bessel_k0,
)
from ..ops.pointwise.special import (
    scaled_modified_bessel_k1 as scaled_modified_bessel_k1,
)
from ..ops.pointwise.special import (
    shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t,
)
from ..ops.pointwise.special import (
    shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u,
)
from ..ops.pointwise.special import (
    shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v,
)
from ..ops.pointwise.special import (
    shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w,
)
from ..ops.pointwise.special import spherical_bessel_j0 as spherical_bessel_j0
from ..ops.pointwise.special_gamma import polygamma as polygamma
from ..ops.pointwise.special_gamma import zeta as zeta
from ..ops.pointwise.special_normal import entr as entr
from ..ops.pointwise.special_normal import erfcx as erfcx
from ..ops.pointwise.special_normal import log_ndtr as log_ndtr
from ..ops.pointwise.special_normal import ndtr as ndtr
from ..ops.pointwise.special_normal import ndtri as ndtri
from ..ops.pointwise.special_normal import xlog1py as xlog1py

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
