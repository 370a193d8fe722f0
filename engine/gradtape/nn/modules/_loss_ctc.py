"""The connectionist temporal classification loss as a layer."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._module import Module


class CTCLoss(Module):
    """The loss of label sequences over all ways to align them with the input."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Any,
        target_lengths: Any,
    ) -> Tensor:
        """Return the loss, reduced as the layer was told."""
        lengths = (input_lengths, target_lengths)
        how = (self.blank, self.reduction, self.zero_infinity)
        return F.ctc_loss(log_probs, targets, *lengths, *how)
