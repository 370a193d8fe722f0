"""Seeds of CUDA devices.

One generator, on the host, makes the random numbers of all devices, so that a program
draws the same on each. Where there is no device, its seed is nobody's: as in PyTorch,
the numbers of the CPU stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._backend import cuda as _cuda
from .._tensor.tensor import Tensor
from ..ops.creation import random as host

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """Restart the random numbers of the devices; nothing happens without one.

    >>> import gradtape as torch
    >>> torch.cuda.manual_seed(0)
    """
    value = int(seed)
    if _cuda.is_available():
        host.manual_seed(value)


def manual_seed_all(seed: int) -> None:
    """Restart the random numbers of all devices, which are the same."""
    manual_seed(seed)


def seed() -> None:
    """Restart the random numbers with a seed from the operating system."""
    if _cuda.is_available():
        host.seed()


def seed_all() -> None:
    """Restart the random numbers of all devices, which are the same."""
    seed()


def initial_seed() -> int:
    """Return the seed that the random numbers began with."""
    _cuda.cupy()
    return host.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the state of the generator as a tensor of bytes."""
    _cuda.cupy()
    return host.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the state once per device."""
    return [get_rng_state(index) for index in range(_cuda.device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Restore what :func:`get_rng_state` returned; nothing happens without a device."""
    if _cuda.is_available():
        host.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore what :func:`get_rng_state_all` returned."""
    for state in new_states:
        set_rng_state(state)
