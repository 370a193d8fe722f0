"""Losses over pairs and triples of vectors, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensors
from ...ops.pointwise.scalar import add_number, as_tensor, sub_number
from .distance import pairwise_distance
from .loss import legacy_reduction, reduce_losses

__all__ = ["cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss"]
__all__ += ["triplet_margin_loss", "triplet_margin_with_distance_loss"]

_RANKS = (
    "The anchor, positive, and negative tensors are expected to have the same number "
    "of dimensions, but got: anchor {}D, positive {}D, and negative {}D inputs"
)

# ---- pairs and triples ----


@autocasts("hinge_embedding_loss")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Draw in distances of like pairs (1), push apart those of unlike ones (-1)."""
    check_tensors("hinge_embedding_loss", input=input, target=target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    where, zeros = FUNCTIONS["where"], FUNCTIONS["zeros_like"](input)
    gap = FUNCTIONS["sub"](as_tensor(margin, input), input)
    pushed = where(target != 1, gap.clamp_min(0), zeros)
    drawn = where(target != -1, input, zeros)
    return reduce_losses(pushed + drawn, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Ask the first input to be larger where the target is 1, smaller where -1."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but "
            f"got sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
            f"{target.size()} "
        )
    return ranking_losses(input1, input2, target, margin, reduction)


@autocasts("margin_ranking_loss")
def ranking_losses(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    """Return the losses of margin_ranking_loss() for inputs that broadcast."""
    losses = add_number(-target * (input1 - input2), float(margin)).clamp_min(0)
    return reduce_losses(losses, reduction)


@autocasts("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Ask pairs to point the same way (1) or apart by a margin (-1)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_pairs(input1, input2, target)
    dim = target.dim()
    product = (input1 * input2).sum(dim)
    squares = [add_number((t * t).sum(dim), 1e-12) for t in (input1, input2)]
    cosine = product / (squares[0] * squares[1]).sqrt()
    where, zeros = FUNCTIONS["where"], FUNCTIONS["zeros_like"](cosine)
    away = FUNCTIONS["sub"](as_tensor(1, cosine), cosine)
    drawn = where(target == 1, away, zeros)
    pushed = where(target == -1, sub_number(cosine, margin).clamp_min(0), zeros)
    return reduce_losses(drawn + pushed, reduction)


def _check_pairs(input1: Tensor, input2: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported"
        )
    wanted = target.dim() + 1
    if input1.dim() != wanted or input2.dim() != wanted:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {wanted}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )


@autocasts("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Ask the anchor to be nearer to the positive than to the negative."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    ranks = [each.dim() for each in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same "
            "number of dimensions, but got: anchor {}D, positive {}D, and negative {}D "
            "inputs".format(*ranks)
        )

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Do what ``triplet_margin_loss`` does, with a distance of the caller's."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    ranks = [each.dim() for each in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(_RANKS.format(*ranks))
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[..., Any],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduce_losses((add_number(near, margin) - far).clamp_min(0), reduction)
