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
from ._functional.activation import *  # noqa: F403
from ._functional.aliases import *  # noqa: F403
from ._functional.attention import *  # noqa: F403
from ._functional.attention import canonical_mask as _canonical_mask
from ._functional.attention import mha_shape_check as _mha_shape_check
from ._functional.attention import none_or_dtype as _none_or_dtype
from ._functional.conv import *  # noqa: F403
from ._functional.distance import *  # noqa: F403
from ._functional.dropout import *  # noqa: F403
from ._functional.grid import *  # noqa: F403
from ._functional.loss import *  # noqa: F403
from ._functional.loss_classes import *  # noqa: F403
from ._functional.loss_ctc import *  # noqa: F403
from ._functional.loss_pairs import *  # noqa: F403
from ._functional.norm import *  # noqa: F403
from ._functional.pool import *  # noqa: F403
from ._functional.pool_adaptive import *  # noqa: F403
from ._functional.projections import in_projection as _in_projection
from ._functional.projections import in_projection_packed as _in_projection_packed
from ._functional.resize import *  # noqa: F403
from ._functional.sparse import *  # noqa: F403

# Copies of PyTorch's transformer code call these by their private names.
_copied = (
    *(_Reduction, _canonical_mask, _in_projection, _in_projection_packed),
    *(_mha_shape_check, _none_or_dtype),
)
