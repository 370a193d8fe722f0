"""Which ops autocast computes in which precision, by PyTorch's names, per device type.

The lists are those of PyTorch's "Autocast Op Reference"
(https://docs.pytorch.org/docs/stable/amp.html); what stands on none runs as it is.
"""

from __future__ import annotations

from typing import Final, Literal

Rule = Literal["lower", "full", "full sum", "widest", "banned"]
"""What happens to the floating-point tensors of a call.

"lower": they become the low precision of autocast; "full": float32; "full sum": the
first becomes float32 where the caller asks for no dtype; "widest": what is widest among
them; "banned": the call is refused.
"""

_CPU_LOWER = """
    _addmm_activation _convolution _native_multi_head_attention addbmm addmm baddbmm bmm
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    linalg_vecdot linear matmul mkldnn_rnn_layer mm prelu scaled_dot_product_attention
"""
_CPU_FULL = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
    binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
    cosine_embedding_loss cross_entropy_loss ctc_loss fft_fft fft_fft2 fft_fftn fft_hfft
    fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft
    fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler
    grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div
    l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex
    linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals
    linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d
    max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
    nanquantile nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod qr
    quantile reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
    replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace triangular_solve
    triplet_margin_loss view_as_complex
"""
_CPU_WIDEST = "cat index_copy stack"

_CUDA_LOWER = """
    _convolution addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d
    conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution einsum
    gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mm mv prelu
    rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
"""
_CUDA_FULL = """
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d acos asin
    binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity
    dist erfinv exp expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss
    kl_div l1_loss layer_norm log log10 log1p log2 logsumexp margin_ranking_loss
    mse_loss multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss
    nll_loss2d norm nuclear_norm pdist poisson_nll_loss pow reciprocal renorm rms_norm
    rsqrt sinh smooth_l1_loss soft_margin_loss softplus tan triplet_margin_loss
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_trilinear3d
"""
_CUDA_FULL_SUM = """
    cumprod cumsum linalg_matrix_norm linalg_vector_norm log_softmax prod softmax sum
"""
_CUDA_WIDEST = """
    addcdiv addcmul atan2 bilinear cross dot grid_sampler grid_sampler_2d
    grid_sampler_3d index_put scatter_add tensordot vdot
"""


def _table(**lists: str) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for rule, names in lists.items():
        kind: Rule = rule.replace("_", " ")  # pyright: ignore[reportAssignmentType]
        found.update(dict.fromkeys(names.split(), kind))
    return found


RULES: Final[dict[str, dict[str, Rule]]] = {
    "cpu": _table(lower=_CPU_LOWER, full=_CPU_FULL, widest=_CPU_WIDEST),
    "cuda": _table(
        lower=_CUDA_LOWER,
        full=_CUDA_FULL,
        full_sum=_CUDA_FULL_SUM,
        widest=_CUDA_WIDEST,
        banned="binary_cross_entropy",
    ),
}
"""By device type and op: the rule."""
