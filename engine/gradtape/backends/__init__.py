"""Flags of the libraries that PyTorch computes with: gradtape.backends.

They are kept for programs that set and read them. What computes here is NumPy, or CuPy;
they choose nothing.
"""

from __future__ import annotations

from .._common.mirrors import import_mirrors
from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import mha as mha
from . import mkl as mkl
from . import mkldnn as mkldnn
from . import nnpack as nnpack
from . import opt_einsum as opt_einsum

fp32_precision = "none"


class _Frozen:
    """Whether flags are only changed in blocks; never enforced here."""

    now = False


def flags_frozen() -> bool:
    """Tell whether :func:`disable_global_flags` was called."""
    return _Frozen.now


def disable_global_flags() -> None:
    """Promise to change flags only in ``flags()`` blocks."""
    _Frozen.now = True


import_mirrors(__name__)
