"""A rate that rises once and then falls far below its start."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from ._base import LRScheduler, Rate, check_optimizer, per_group, warn_outside_step
from ._momentum import set_momentum, start_momentum


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
