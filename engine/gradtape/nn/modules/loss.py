"""Losses, under the name of PyTorch's file."""

from __future__ import annotations

from ._loss import BCELoss as BCELoss
from ._loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from ._loss import GaussianNLLLoss as GaussianNLLLoss
from ._loss import HuberLoss as HuberLoss
from ._loss import KLDivLoss as KLDivLoss
from ._loss import L1Loss as L1Loss
from ._loss import MSELoss as MSELoss
from ._loss import PoissonNLLLoss as PoissonNLLLoss
from ._loss import SmoothL1Loss as SmoothL1Loss
from ._loss import SoftMarginLoss as SoftMarginLoss
from ._loss import _Loss as _Loss
from ._loss import _WeightedLoss as _WeightedLoss
from ._loss_classes import CrossEntropyLoss as CrossEntropyLoss
from ._loss_classes import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from ._loss_classes import MultiLabelMarginLoss as MultiLabelMarginLoss
from ._loss_classes import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from ._loss_classes import MultiMarginLoss as MultiMarginLoss
from ._loss_classes import NLLLoss as NLLLoss
from ._loss_classes import NLLLoss2d as NLLLoss2d
from ._loss_ctc import CTCLoss as CTCLoss
from ._loss_pairs import CosineEmbeddingLoss as CosineEmbeddingLoss
from ._loss_pairs import HingeEmbeddingLoss as HingeEmbeddingLoss
from ._loss_pairs import MarginRankingLoss as MarginRankingLoss
from ._loss_pairs import TripletMarginLoss as TripletMarginLoss
from ._loss_pairs import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
