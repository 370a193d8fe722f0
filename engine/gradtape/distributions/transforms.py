"""Transforms of values, with their inverses and log-determinants."""

from __future__ import annotations

from ._transform import ComposeTransform as ComposeTransform
from ._transform import Transform as Transform
from ._transform import _InverseTransform as _InverseTransform
from ._transform import identity_transform as identity_transform
from ._transform_parts import CatTransform as CatTransform
from ._transform_parts import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from ._transform_parts import StackTransform as StackTransform
from ._transform_shapes import IndependentTransform as IndependentTransform
from ._transform_shapes import ReshapeTransform as ReshapeTransform
from ._transform_values import AbsTransform as AbsTransform
from ._transform_values import AffineTransform as AffineTransform
from ._transform_values import ExpTransform as ExpTransform
from ._transform_values import PowerTransform as PowerTransform
from ._transform_values import SigmoidTransform as SigmoidTransform
from ._transform_values import SoftplusTransform as SoftplusTransform
from ._transform_values import TanhTransform as TanhTransform
from ._transform_vectors import CorrCholeskyTransform as CorrCholeskyTransform
from ._transform_vectors import LowerCholeskyTransform as LowerCholeskyTransform
from ._transform_vectors import PositiveDefiniteTransform as PositiveDefiniteTransform
from ._transform_vectors import SoftmaxTransform as SoftmaxTransform
from ._transform_vectors import StickBreakingTransform as StickBreakingTransform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
