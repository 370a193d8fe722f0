"""Helpers for tests: compare tensors, make random ones."""

from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor
