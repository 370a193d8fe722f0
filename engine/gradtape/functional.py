"""``torch.functional``: another path to functions that PyTorch writes in Python."""

from __future__ import annotations

from typing import Any

from ._dispatch.declare import FUNCTIONS

_NAMES = """
    atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
    cartesian_prod cdist chain_matmul einsum lu meshgrid norm pca_lowrank split stft
    svd_lowrank tensordot unique unique_consecutive unravel_index
"""
globals().update({name: FUNCTIONS[name] for name in _NAMES.split()})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}")
