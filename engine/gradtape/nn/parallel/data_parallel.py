"""DataParallel, on the one device that a module is on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._backend.device import device
from ..modules.module import Module


class DataParallel(Module):
    """Call a module as it is; PyTorch parts the batch among several devices.

    Programs written for several devices compute the same with it, on the device of
    the module's parameters. ``device_ids``, ``output_device`` and ``dim`` say how to
    part and join: there is nothing to part, so they change nothing.

    >>> import gradtape as torch
    >>> model = torch.nn.DataParallel(torch.nn.Identity())
    >>> model(torch.ones(2))
    tensor([1., 1.])
    >>> model.device_ids
    []
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | device] | None = None,
        output_device: int | device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module returns."""
        return self.module(*inputs, **kwargs)
