"""What functions with ``out=`` do where a gradient would be lost."""

from __future__ import annotations

_REFUSED = (
    "{name}(): functions with out=... arguments don't support automatic "
    "differentiation, but one of the arguments requires grad."
)

_REFUSING = {
    "fft_hfft": "_fft_c2r",
    "fft_hfftn": "_fft_c2r",
    "fft_ihfft": "_fft_r2c",
    "fft_irfft": "_fft_c2r",
    "fft_irfftn": "_fft_c2r",
    "fft_rfft": "_fft_r2c",
    "float_power": "pow",
    "kron": "mul",
    "linalg.pinv": "linalg_pinv",
    "linalg_solve_ex": "_linalg_solve_ex",
    "log_sigmoid": "log_sigmoid_forward",
    "msort": "sort",
    "multi_dot": "mm",
    "nanmean": "nansum",
    "outer": "mul",
    "qr": "linalg_qr",
    "svd": "_linalg_svd",
    "torch.linalg.householder_product": "linalg_householder_product",
    "torch.linalg.lstsq": "linalg_lstsq",
    "torch.ormqr": "ormqr",
}
"""Functions that PyTorch composes of others, and which of these refuses."""

_UNDERIVED = frozenset(
    [
        "_native_batch_norm_legit",
        "conj_physical",
        "floor_divide",
        "heaviside",
        "histogram",
        "linalg_ldl_factor_ex",
        "linalg_ldl_solve",
        "log_softmax",
        "slice_scatter",
        "softmax",
    ]
)
"""Functions whose form with ``out=`` PyTorch's autograd has no code for."""

COPIED = frozenset(
    [
        "diff",
        "inner",
        "linalg.cond",
        "linalg_matrix_norm",
        "linalg_norm",
        "matrix_power",
        "nanquantile",
        "quantile",
        "special_ndtr",
        "tensordot",
        "tensorinv",
        "tensorsolve",
    ]
)
"""Functions that copy their result into ``out=``, and its history with it."""


def refusal(name: str) -> RuntimeError:
    """Return what a function with ``out=`` raises where a gradient would be lost."""
    of_views = name.endswith("_copy") and name != "narrow_copy"
    if of_views or name in _UNDERIVED:
        return RuntimeError(_REFUSED.format(name=f"aten::{name}"))
    return RuntimeError(_REFUSED.format(name=_REFUSING.get(name, name)))
