"""Writing functions: ``torch.exp_(x)`` is ``x.exp_()``."""

from __future__ import annotations

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor

_NAMES = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh as_strided asin asinh
atan atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad erf erfc exp exp2 expm1
fix floor frac gcd lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg
reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt square tan tanh threshold
trunc xlogy
"""

for _name in _NAMES.split():
    FUNCTIONS[f"{_name}_"] = getattr(Tensor, f"{_name}_")
