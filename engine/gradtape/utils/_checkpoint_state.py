"""What a checkpointed function runs in: module call, autocast, devices, random state.

One generator, whose state is on the host, serves all devices: beside it there are no
random states to keep.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from .._autocast.autocast import state as autocast
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from ._pytree import tree_leaves


class Surroundings:
    """The module call and the autocast that there are now, for a second run."""

    def __init__(self) -> None:
        self._scope = mode.scope
        self._enabled, self._dtypes = dict(autocast.enabled), dict(autocast.dtypes)
        self._cache_enabled = autocast.cache_enabled

    @contextmanager
    def again(self) -> Generator[None, None, None]:
        """Make them those of the block, for which parameters are cast anew."""
        outer = Surroundings()
        autocast.nesting += 1
        self._apply()
        try:
            yield
        finally:
            autocast.nesting -= 1
            if not autocast.nesting:
                autocast.cache.clear()
            outer._apply()

    def _apply(self) -> None:
        mode.scope = self._scope
        autocast.enabled.update(self._enabled)
        autocast.dtypes.update(self._dtypes)
        autocast.cache_enabled = self._cache_enabled
        autocast.settle()


class DefaultDeviceType:
    """The device type that a checkpoint of host tensors is taken to have."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose the device type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the device type; "cpu" unless another was chosen."""
        return DefaultDeviceType._default_device_type or "cpu"


def infer_device_type(*args: Any) -> str:
    """Return the device type of the tensors in ``args``; warn where there are two."""
    leaves = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    types = [leaf.device.type for leaf in leaves if leaf.device.type != "cpu"]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two "
            "types of devices. Device state will only be saved for devices of a single "
            "device type, and the remaining devices will be ignored. Consequently, if "
            "any checkpointed functions involve randomness, this may result in "
            "incorrect gradients. (Note that if CUDA devices are among the devices "
            "detected, it will be prioritized; otherwise, the first device encountered "
            f"will be selected.)\nDevice types: {sorted(set(types))} first device "
            f"type: {types[0]}",
            UserWarning,
            stacklevel=2,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return devices with a random state of their own, and the states: none."""
    return [], []


def set_device_states(
    devices: Iterable[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Restore what :func:`get_device_states` returned: nothing."""
