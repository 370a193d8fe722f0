"""A rate that goes up and down between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from ..optimizer import Group, Optimizer
from ._base import (
    LRScheduler,
    Rate,
    check_optimizer,
    per_group,
    state_of_function,
    update_group,
    warn_outside_step,
)

# ---- momentum that moves against the learning rate, as two schedulers have it ----


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


# ---- a rate that goes up and down between two bounds -------------------------


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


# ---- a rate that rises once and then falls far below its start ---------------


class OneCycleLR(LRScheduler):
    """Let the rate rise to ``max_lr`` and fall to next to nothing, batch by batch.

    It starts at ``max_lr / div_factor``, rises for the share ``pct_start`` of all steps
    and ends at that start over ``final_div_factor``; ``three_phase`` falls to the start
    first, as fast as it rose. With ``cycle_momentum`` the momentum moves the other way.
    Smith and Topin, "Super-Convergence", 2018. Raises ValueError for a length that is
    not given or not positive, and for more steps than were announced.

    >>> import gradtape as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=1.0, momentum=0.9)
    >>> OneCycleLR = torch.optim.lr_scheduler.OneCycleLR
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> [round(rate, 4) for rate in scheduler.get_last_lr()]
    [0.04]
    """

    anneal_func: Callable[[Any, Any, float], Any]

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _length(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        largest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, _, _ = start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, share: float) -> Any:
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:  # a state of an older version holds the function itself
            return self.anneal_func(start, end, share)
        if kind == "linear":
            return self._annealing_linear(start, end, share)
        return self._annealing_cos(start, end, share)

    @staticmethod
    def _annealing_cos(start: Any, end: Any, share: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, share: float) -> Any:
        return (end - start) * share + start

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at ``last_epoch``; set their momentum."""
        warn_outside_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        phase, share = self._place(step)
        rates: list[Rate] = []
        for group in self.optimizer.param_groups:
            start, end = group[phase["start_lr"]], group[phase["end_lr"]]
            rates.append(self._anneal_func(start, end, share))
            if self.cycle_momentum:
                start = group[phase["start_momentum"]]
                end = group[phase["end_momentum"]]
                set_momentum(
                    group, self._anneal_func(start, end, share), self.use_beta1
                )
        return rates

    def _place(self, step: int) -> tuple[dict[str, Any], float]:
        """Return the phase of a step and how much of it is over."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        return phase, (step - start) / (phase["end_step"] - start)


def _length(total: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or steps_per_epoch is None:
        raise ValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch)"
        )
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
        raise ValueError(
            f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}"
        )
    return epochs * steps_per_epoch


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Return where each phase ends, and what its rate and momentum run between."""
    up = (float(share * total) - 1, "initial_lr", "max_lr", "max", "base")
    if three:
        rows = [
            up,
            (float(2 * share * total) - 2, "max_lr", "initial_lr", "base", "max"),
            (total - 1, "initial_lr", "min_lr", "max", "max"),
        ]
    else:
        rows = [up, (total - 1, "max_lr", "min_lr", "base", "max")]
    return [
        {
            "end_step": end_step,
            "start_lr": start,
            "end_lr": end,
            "start_momentum": f"{heavy}_momentum",
            "end_momentum": f"{light}_momentum",
        }
        for end_step, start, end, heavy, light in rows
    ]
