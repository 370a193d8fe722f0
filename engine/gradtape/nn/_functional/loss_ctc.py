"""The connectionist temporal classification loss as a function."""

from __future__ import annotations

import math
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS, public
from ..._tensor.tensor import Tensor
from ...ops.creation.from_data import as_tensor
from ...ops.nn.ctc import _ctc_loss
from .loss import reduction_number

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the loss of label sequences over all ways to align them with the input.

    ``log_probs`` is (time, N, classes) or (time, classes); ``targets`` (N, longest) or
    all labels one after the other. ``zero_infinity`` drops targets that do not fit.

    >>> import gradtape as torch
    >>> even = torch.full((2, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(even, torch.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """
    number = reduction_number(reduction)
    how = (blank, number, zero_infinity)
    return _public_ctc_loss(log_probs, targets, input_lengths, target_lengths, *how)


@autocasts("ctc_loss")
def _public_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Return the loss of connectionist temporal classification: ``torch.ctc_loss``."""
    batched = log_probs.dim() == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    ends = _lengths(input_lengths, "input_lengths")
    lengths = _lengths(target_lengths, "target_lengths")
    losses, _ = _ctc_loss(
        log_probs, targets.long(), ends, lengths, blank, zero_infinity
    )
    if zero_infinity:
        zero = FUNCTIONS["zeros"]((), dtype=losses.dtype, device=losses.device)
        losses = FUNCTIONS["where"](losses == math.inf, zero, losses)
    if reduction == 1:
        counts = as_tensor(lengths, dtype=losses.dtype, device=losses.device)
        return (losses / counts.clamp_min(1)).mean()
    if reduction == 2:
        return losses.sum()
    return losses if batched else losses.squeeze(0)


_public_ctc_loss.__name__ = "ctc_loss"
public(_public_ctc_loss)


def _lengths(given: Any, name: str) -> tuple[int, ...]:
    if not isinstance(given, Tensor):
        return tuple(int(n) for n in given)
    if given.is_floating_point():
        raise RuntimeError(f"{name} must be integral")
    return tuple(given.reshape(-1).tolist())
