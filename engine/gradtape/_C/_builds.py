"""What a build of PyTorch has, as ``torch._C`` says it: here, what computes instead."""

from __future__ import annotations

import warnings
from typing import Any

from .._common.site import user_stacklevel
from ..backends import cuda, cudnn, mkl, mkldnn
from ..backends import mps as mps  # pyright: ignore[reportAttributeAccessIssue]
from ..backends import openmp as openmp  # pyright: ignore[reportAttributeAccessIssue]

PARTS: dict[str, bool] = {
    "has_lapack": True,  # NumPy's
    "has_mkl": mkl.is_available(),
    "has_openmp": openmp.is_available(),
    "has_spectral": True,  # SciPy's
    "_has_cuda": cuda.is_built(),
    "_has_cudnn": cudnn.is_available(),
    "_has_cusparselt": False,
    "_has_eigen_sparse": False,
    "_has_kleidiai": False,
    "_has_magma": False,
    "_has_mkldnn": mkldnn.is_available(),
    "_has_mkldnn_acl": mkldnn.is_acl_available(),
    "_has_mps": mps.is_built(),
    "_has_xpu": False,
}
"""The names of ``torch._C``; those without an underscore are also ``torch``'s."""

_OLDER = {
    "has_cuda": (cuda.is_built, "cuda.is_built"),
    "has_cudnn": (cudnn.is_available, "cudnn.is_available"),
    "has_mkldnn": (mkldnn.is_available, "mkldnn.is_available"),
    "has_mps": (mps.is_built, "mps.is_built"),
}


def older(name: str) -> Any:
    """Return what ``torch`` still has under an older name, and warn that it is old.

    Raises AttributeError for every other name.
    """
    if name not in _OLDER:
        package = __name__.partition(".")[0]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    answer, newer = _OLDER[name]
    warnings.warn(
        f"'{name}' is deprecated, please use 'torch.backends.{newer}()'",
        UserWarning,
        stacklevel=user_stacklevel(),
    )
    return answer()
