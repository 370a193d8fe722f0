"""Momentum that moves against the learning rate, as two schedulers have it."""

from __future__ import annotations

from typing import Any

from ..optimizer import Group, Optimizer
from ._base import per_group


def start_momentum(
    optimizer: Optimizer, base: Any, most: Any, last_epoch: int
) -> tuple[bool, list[Any], list[Any]]:
    """Put the largest momentum into the groups; tell whether it is a first beta.

    Returns that, the least and the largest momentum of each group. Raises ValueError
    where the optimizer has neither ``momentum`` nor ``betas``.
    """
    known = optimizer.defaults
    if "momentum" not in known and "betas" not in known:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option "
            "enabled"
        )
    use_beta1 = "betas" in known
    largest = per_group("max_momentum", optimizer, most)
    least = per_group("base_momentum", optimizer, base)
    if last_epoch == -1:
        for group, low, high in zip(
            optimizer.param_groups, least, largest, strict=True
        ):
            set_momentum(group, high, use_beta1)
            group["max_momentum"] = high
            group["base_momentum"] = low
    return use_beta1, least, largest


def set_momentum(group: Group, value: Any, use_beta1: bool) -> None:
    """Set a group's momentum, or the first of its betas."""
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
