"""Sparse tensors: gradtape.sparse mirrors torch.sparse."""

from ..autograd._gradcheck.sparse_inputs import (
    as_sparse_gradcheck as as_sparse_gradcheck,
)
from ..ops.sparse.create import (
    check_sparse_tensor_invariants as check_sparse_tensor_invariants,
)
from ..ops.sparse.create import spdiags as spdiags
from ..ops.sparse.math import addmm as addmm
from ..ops.sparse.math import log_softmax as log_softmax
from ..ops.sparse.math import mm as mm
from ..ops.sparse.math import softmax as softmax
from ..ops.sparse.math import sum as sum
from ._tensor_types import TENSOR_TYPES as _TENSOR_TYPES

globals().update(_TENSOR_TYPES)
