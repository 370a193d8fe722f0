"""A rate that goes up and down between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from ..optimizer import Optimizer
from ._base import (
    LRScheduler,
    Rate,
    check_optimizer,
    per_group,
    state_of_function,
    update_group,
    warn_outside_step,
)
from ._momentum import set_momentum, start_momentum


class CyclicLR(LRScheduler):
    """Let the rate rise from ``base_lr`` to ``max_lr`` and fall back, batch by batch.

    The height of a cycle stays ("triangular"), halves each time ("triangular2"),
    shrinks with every step ("exp_range"), or follows ``scale_fn``. With
    ``cycle_momentum`` the momentum moves the other way. Smith, "Cyclical Learning Rates
    for Training Neural Networks", 2017. Raises ValueError for unknown modes and for
    optimizers without momentum.

    >>> import gradtape as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=1.0, momentum=0.9)
    >>> CyclicLR = torch.optim.lr_scheduler.CyclicLR
    >>> scheduler = CyclicLR(optimizer, base_lr=0.5, max_lr=1.0, step_size_up=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    _scale_fn_ref: Callable[[float], float]

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                update_group(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, self.base_momentums, self.max_momentums = start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "exp_range":
            self._scale_fn_ref = partial(_exponential, self.gamma)
            self.scale_mode = "iterations"
        else:
            halves = self.mode == "triangular2"
            self._scale_fn_ref = _halving if halves else _constant
            self.scale_mode = "cycle"

    def scale_fn(self, x: float) -> float:
        """Return the height of cycle or step ``x``."""
        custom = self._scale_fn_custom
        return self._scale_fn_ref(x) if custom is None else custom(x)

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at ``last_epoch``; set their momentum."""
        warn_outside_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        counted = cycle if self.scale_mode == "cycle" else self.last_epoch
        rates = [
            base + (most - base) * height * self.scale_fn(counted)
            for base, most in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            for group, base, most in zip(
                self.optimizer.param_groups,
                self.base_momentums,
                self.max_momentums,
                strict=True,
            ):
                value = most - (most - base) * height * self.scale_fn(counted)
                set_momentum(group, value, self.use_beta1)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return everything but optimizer and functions; see :class:`LambdaLR`."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = (
            None if custom is None else state_of_function(custom)
        )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        rest = {k: v for k, v in state_dict.items() if k != "_scale_fn_custom"}
        kept = state_dict["_scale_fn_custom"]
        super().load_state_dict(rest)
        if kept is not None:
            self._scale_fn_custom.__dict__.update(kept)
        self._init_scale_fn()


def _constant(x: float) -> float:
    return 1.0


def _halving(x: float) -> float:
    return 1 / 2.0 ** (x - 1)


def _exponential(gamma: float, x: float) -> float:
    return gamma**x
