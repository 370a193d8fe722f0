"""Averages of a model's weights over training, and what belongs to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Literal, TypeAlias

from .. import _dtypes
from .._dispatch.declare import FUNCTIONS
from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler._base import LRScheduler, Rate, per_group, warn_outside_step
from .optimizer import Optimizer

# ---- ways to average the values that weights take over training --------------

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


# ---- averages of a model's weights over training, and what belongs to them ----

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


# ---- the averaged model -----------------------------------------------------------


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over time.

    Without a function of yours the average is the mean of all values that
    :meth:`update_parameters` saw, as in Izmailov et al., "Averaging Weights Leads to
    Wider Optima and Better Generalization", 2018. ``use_buffers`` averages the buffers
    as well; otherwise they are copied. Raises AssertionError for two functions.

    >>> import gradtape as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    1.5
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError(
                "Only one of avg_fn and multi_avg_fn should be provided"
            )
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = FUNCTIONS["tensor"](0, dtype=_dtypes.int64, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute what the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Let the averages take in the parameters that ``model`` has now."""
        averages, values = self._pairs(model)
        if not self.n_averaged.item():
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.multi_avg_fn is not None:
            for key, members in _grouped(averages, values).items():
                ours, theirs = zip(*members, strict=True)
                count = self.n_averaged.to(key[0])
                self.multi_avg_fn(list(ours), list(theirs), count)
        else:
            update = self.avg_fn or get_swa_avg_fn()
            for average, value in zip(averages, values, strict=True):
                count = self.n_averaged.to(average.device)
                average.copy_(update(average, value, count))
        if not self.use_buffers:
            buffers = zip(self.module.buffers(), model.buffers(), strict=True)
            for ours, theirs in buffers:
                ours.detach().copy_(theirs.detach().to(ours.device))
        self.n_averaged += 1

    def _pairs(self, model: Module) -> tuple[list[Tensor], list[Tensor]]:
        """Return what is averaged, here and in the model, detached."""
        ours: Iterable[Tensor] = self.parameters()
        theirs: Iterable[Tensor] = model.parameters()
        if self.use_buffers:
            ours = chain(self.module.parameters(), self.module.buffers())
            theirs = chain(model.parameters(), model.buffers())
        pairs = [
            (average.detach(), value.detach().to(average.device))
            for average, value in zip(ours, theirs, strict=False)
        ]
        return [average for average, _ in pairs], [value for _, value in pairs]


def _grouped(
    averages: list[Tensor], values: list[Tensor]
) -> dict[Any, list[tuple[Tensor, Tensor]]]:
    """Return the pairs by device and dtype, in order."""
    groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
    for average, value in zip(averages, values, strict=True):
        key = average.device, average.dtype
        groups.setdefault(key, []).append((average, value))
    return groups


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Set the running statistics of a model's batch norms from one pass over data.

    Each batch may be a list or tuple, whose first member is then the input.

    >>> import gradtape as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta: dict[_BatchNorm, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        inputs: Any = batch
        if isinstance(inputs, list | tuple):
            inputs = inputs[0]
        if device is not None:
            inputs = inputs.to(device)
        model(inputs)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Bring the rate to ``swa_lr`` within ``anneal_epochs`` epochs and keep it there.

    Raises ValueError for an unknown strategy and for a length that is no integer or
    negative.

    >>> import gradtape as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> SWALR = torch.optim.swa_utils.SWALR
    >>> scheduler = SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    anneal_func: Callable[[float], float]

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """Return the rate of each group at the current step."""
        warn_outside_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        return [
            group["swa_lr"] * now
            + _start(group["lr"], group["swa_lr"], before) * (1 - now)
            for group in self.optimizer.param_groups
        ]

    def _share(self, step: int) -> float:
        """Return how much of the way to ``swa_lr`` is done at a step."""
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = _along_cosine if anneal_strategy == "cos" else _along_line

    def state_dict(self) -> dict[str, Any]:
        """Return everything but optimizer and function."""
        state = super().state_dict()
        del state["anneal_func"]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)


def _along_line(share: float) -> float:
    return share


def _along_cosine(share: float) -> float:
    return (1 - math.cos(math.pi * share)) / 2


def _start(rate: Any, swa_rate: Any, share: float) -> Any:
    """Return where the way began on which ``rate`` is at ``share``."""
    return swa_rate if share == 1 else (rate - share * swa_rate) / (1 - share)
