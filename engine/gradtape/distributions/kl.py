"""Kullback-Leibler divergences: `kl_divergence` and `register_kl`.

`_kl_same` holds pairs of one family, `_kl_mixed` those of two, `_kl_matrices` those of
multivariate normals.
"""

from __future__ import annotations

from . import _kl_matrices as _kl_matrices  # each registers its pairs
from . import _kl_mixed as _kl_mixed
from . import _kl_same as _kl_same
from ._kl_registry import _KL_MEMOIZE as _KL_MEMOIZE
from ._kl_registry import _KL_REGISTRY as _KL_REGISTRY
from ._kl_registry import kl_divergence as kl_divergence
from ._kl_registry import register_kl as register_kl
from ._kl_same import _kl_expfamily_expfamily as _kl_expfamily_expfamily

__all__ = ["kl_divergence", "register_kl"]
