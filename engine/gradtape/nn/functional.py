"""Layers as functions: ``torch.nn.functional``."""

from __future__ import annotations

from ..ops.linalg.distances import pdist as pdist
from ..ops.linalg.products import bilinear as bilinear
from ..ops.nn.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from ..overrides._ask import handle_torch_function as handle_torch_function
from ..overrides._ask import has_torch_function as has_torch_function
from ..overrides._ask import has_torch_function_unary as has_torch_function_unary
from ..overrides._ask import has_torch_function_variadic as has_torch_function_variadic
from . import _reduction as _Reduction
from . import grad as grad
from ._functional.activation import celu as celu
from ._functional.activation import celu_ as celu_
from ._functional.activation import elu as elu
from ._functional.activation import elu_ as elu_
from ._functional.activation import gelu as gelu
from ._functional.activation import glu as glu
from ._functional.activation import gumbel_softmax as gumbel_softmax
from ._functional.activation import hardshrink as hardshrink
from ._functional.activation import hardsigmoid as hardsigmoid
from ._functional.activation import hardswish as hardswish
from ._functional.activation import hardtanh as hardtanh
from ._functional.activation import hardtanh_ as hardtanh_
from ._functional.activation import leaky_relu as leaky_relu
from ._functional.activation import leaky_relu_ as leaky_relu_
from ._functional.activation import log_softmax as log_softmax
from ._functional.activation import logsigmoid as logsigmoid
from ._functional.activation import mish as mish
from ._functional.activation import prelu as prelu
from ._functional.activation import relu as relu
from ._functional.activation import relu6 as relu6
from ._functional.activation import relu_ as relu_
from ._functional.activation import rrelu as rrelu
from ._functional.activation import selu as selu
from ._functional.activation import selu_ as selu_
from ._functional.activation import sigmoid as sigmoid
from ._functional.activation import silu as silu
from ._functional.activation import softmax as softmax
from ._functional.activation import softmin as softmin
from ._functional.activation import softplus as softplus
from ._functional.activation import softshrink as softshrink
from ._functional.activation import softsign as softsign
from ._functional.activation import tanh as tanh
from ._functional.activation import tanhshrink as tanhshrink
from ._functional.activation import threshold as threshold
from ._functional.activation import threshold_ as threshold_
from ._functional.aliases import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from ._functional.aliases import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from ._functional.aliases import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from ._functional.aliases import conv_tbc as conv_tbc
from ._functional.aliases import (
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
)
from ._functional.aliases import (
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from ._functional.aliases import max_pool1d_with_indices as max_pool1d_with_indices
from ._functional.aliases import max_pool2d_with_indices as max_pool2d_with_indices
from ._functional.aliases import max_pool3d_with_indices as max_pool3d_with_indices
from ._functional.aliases import native_channel_shuffle as native_channel_shuffle
from ._functional.aliases import rrelu_ as rrelu_
from ._functional.attention import canonical_mask as _canonical_mask
from ._functional.attention import mha_shape_check as _mha_shape_check
from ._functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from ._functional.attention import none_or_dtype as _none_or_dtype
from ._functional.conv import conv1d as conv1d
from ._functional.conv import conv2d as conv2d
from ._functional.conv import conv3d as conv3d
from ._functional.conv import conv_transpose1d as conv_transpose1d
from ._functional.conv import conv_transpose2d as conv_transpose2d
from ._functional.conv import conv_transpose3d as conv_transpose3d
from ._functional.conv import fold as fold
from ._functional.conv import linear as linear
from ._functional.conv import pad as pad
from ._functional.conv import unfold as unfold
from ._functional.distance import cosine_similarity as cosine_similarity
from ._functional.distance import normalize as normalize
from ._functional.distance import pairwise_distance as pairwise_distance
from ._functional.dropout import alpha_dropout as alpha_dropout
from ._functional.dropout import dropout as dropout
from ._functional.dropout import dropout1d as dropout1d
from ._functional.dropout import dropout2d as dropout2d
from ._functional.dropout import dropout3d as dropout3d
from ._functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from ._functional.grid import (
    GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES,
)
from ._functional.grid import GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES
from ._functional.grid import affine_grid as affine_grid
from ._functional.grid import grid_sample as grid_sample
from ._functional.loss import binary_cross_entropy as binary_cross_entropy
from ._functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from ._functional.loss import gaussian_nll_loss as gaussian_nll_loss
from ._functional.loss import huber_loss as huber_loss
from ._functional.loss import kl_div as kl_div
from ._functional.loss import l1_loss as l1_loss
from ._functional.loss import mse_loss as mse_loss
from ._functional.loss import poisson_nll_loss as poisson_nll_loss
from ._functional.loss import smooth_l1_loss as smooth_l1_loss
from ._functional.loss import soft_margin_loss as soft_margin_loss
from ._functional.loss_classes import cross_entropy as cross_entropy
from ._functional.loss_classes import linear_cross_entropy as linear_cross_entropy
from ._functional.loss_classes import multi_margin_loss as multi_margin_loss
from ._functional.loss_classes import multilabel_margin_loss as multilabel_margin_loss
from ._functional.loss_classes import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from ._functional.loss_classes import nll_loss as nll_loss
from ._functional.loss_ctc import ctc_loss as ctc_loss
from ._functional.loss_pairs import cosine_embedding_loss as cosine_embedding_loss
from ._functional.loss_pairs import hinge_embedding_loss as hinge_embedding_loss
from ._functional.loss_pairs import margin_ranking_loss as margin_ranking_loss
from ._functional.loss_pairs import triplet_margin_loss as triplet_margin_loss
from ._functional.loss_pairs import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from ._functional.norm import batch_norm as batch_norm
from ._functional.norm import group_norm as group_norm
from ._functional.norm import instance_norm as instance_norm
from ._functional.norm import layer_norm as layer_norm
from ._functional.norm import local_response_norm as local_response_norm
from ._functional.norm import rms_norm as rms_norm
from ._functional.pool import avg_pool1d as avg_pool1d
from ._functional.pool import avg_pool2d as avg_pool2d
from ._functional.pool import avg_pool3d as avg_pool3d
from ._functional.pool import lp_pool1d as lp_pool1d
from ._functional.pool import lp_pool2d as lp_pool2d
from ._functional.pool import lp_pool3d as lp_pool3d
from ._functional.pool import max_pool1d as max_pool1d
from ._functional.pool import max_pool2d as max_pool2d
from ._functional.pool import max_pool3d as max_pool3d
from ._functional.pool import max_unpool1d as max_unpool1d
from ._functional.pool import max_unpool2d as max_unpool2d
from ._functional.pool import max_unpool3d as max_unpool3d
from ._functional.pool_adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from ._functional.pool_adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from ._functional.pool_adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from ._functional.pool_adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from ._functional.pool_adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from ._functional.pool_adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from ._functional.pool_fractional import fractional_max_pool2d as fractional_max_pool2d
from ._functional.pool_fractional import fractional_max_pool3d as fractional_max_pool3d
from ._functional.projections import in_projection as _in_projection
from ._functional.projections import in_projection_packed as _in_projection_packed
from ._functional.resize import interpolate as interpolate
from ._functional.resize import upsample as upsample
from ._functional.resize import upsample_bilinear as upsample_bilinear
from ._functional.resize import upsample_nearest as upsample_nearest
from ._functional.sparse import channel_shuffle as channel_shuffle
from ._functional.sparse import embedding as embedding
from ._functional.sparse import embedding_bag as embedding_bag
from ._functional.sparse import one_hot as one_hot
from ._functional.sparse import pixel_shuffle as pixel_shuffle
from ._functional.sparse import pixel_unshuffle as pixel_unshuffle

# Copies of PyTorch's transformer code call these by their private names.
_copied = (
    *(_Reduction, _canonical_mask, _in_projection, _in_projection_packed),
    *(_mha_shape_check, _none_or_dtype),
)
