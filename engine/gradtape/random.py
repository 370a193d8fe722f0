"""``gradtape.random``: the state of the default generator, and blocks that keep it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import Any

from ._random.generator import default_generator as default_generator
from .ops.creation.random import get_rng_state as get_rng_state
from .ops.creation.random import initial_seed as initial_seed
from .ops.creation.random import manual_seed as manual_seed
from .ops.creation.random import seed as seed
from .ops.creation.random import set_rng_state as set_rng_state

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Generator[None, None, None]:
    """Set the default generator back, at the end of the block, to where it was.

    One generator serves all devices, so ``devices`` and ``device_type`` choose nothing.

    >>> import gradtape as torch
    >>> generator = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     inside = torch.rand(1)
    >>> torch.equal(inside, torch.rand(1))
    True
    """
    if not enabled or device_type == "meta":
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
