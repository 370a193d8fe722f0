"""Ways to average the values that weights take over training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor

Tensors: TypeAlias = Sequence[Tensor]
Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage: TypeAlias = Callable[[Tensors, Tensors, Any], None]


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """Return a function that moves averages towards values by ``1 - decay``.

    It writes to the averages in place. Raises ValueError for a decay outside [0, 1].

    >>> import gradtape as torch
    >>> average = [torch.zeros(2)]
    >>> update = torch.optim.swa_utils.get_ema_multi_avg_fn(decay=0.75)
    >>> update(average, [torch.ones(2)], 1)
    >>> average
    [tensor([0.2500, 0.2500])]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(averages: Tensors, values: Tensors, _: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            if _interpolates(averages[0]):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """Return a function that keeps the mean of all values seen, in place.

    >>> import gradtape as torch
    >>> average = [torch.zeros(2)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.ones(2)], 1)
    >>> average
    [tensor([0.5000, 0.5000])]
    """

    @no_grad()
    def swa_update(averages: Tensors, values: Tensors, num_averaged: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            if _interpolates(averages[0]):
                average.lerp_(value, 1 / (float(num_averaged) + 1))
            elif isinstance(num_averaged, Tensor):
                average.addcdiv_(value - average, num_averaged + 1)
            else:
                average.add_(value - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function for ``decay * average + (1 - decay) * value``.

    Raises ValueError for a decay outside [0, 1].

    >>> import gradtape as torch
    >>> update = torch.optim.swa_utils.get_ema_avg_fn(decay=0.75)
    >>> update(torch.zeros(2), torch.ones(2), 1)
    tensor([0.2500, 0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return decay * average + (1 - decay) * value

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return a function for the mean after one more value.

    >>> import gradtape as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(2), torch.ones(2), 3)
    tensor([0.2500, 0.2500])
    """

    @no_grad()
    def swa_update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return average + (value - average) / (num_averaged + 1)

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] "
            "range."
        )


def _interpolates(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex
