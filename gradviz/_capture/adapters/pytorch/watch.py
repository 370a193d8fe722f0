"""Reads gradients and updates of PyTorch's parameters, in few and harmless calls."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gradviz import ir
from gradviz._capture.adapters.pytorch.isolation import Isolated, is_opaque
from gradviz._capture.adapters.pytorch.statistics import statistics as full_statistics

Hook = Callable[..., None]
Numbers = tuple[float, ...]  # norm, largest, zeros, nans, infs
UNKNOWN: Numbers = (math.nan,) * 5

COPIED = 16_384
"""Elements of a parameter that are copied to see what a step changed of it."""

_PICTURED = 1 << 20  # elements that a histogram is made of


class TorchReader:
    """What a watch asks of PyTorch. Nothing here writes to, or keeps, a tensor."""

    engine = "torch"

    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]

    def quiet(self) -> Isolated:
        """Compute without graph, modes and subclasses noticing."""
        return Isolated(self._torch)

    def gradients(self, tensors: Sequence[Any]) -> list[Numbers]:
        """Return the numbers of each gradient; :data:`UNKNOWN` for None.

        All are computed before the first is waited for, so a GPU is waited for once.
        """
        torch = self._torch
        found = [UNKNOWN] * len(tensors)
        waiting: list[tuple[int, Any, Any]] = []
        for place, tensor in enumerate(tensors):
            data = None if tensor is None else self._plain(tensor)
            if data is None:
                continue
            if not data.numel():
                found[place] = (0.0,) * 5
                continue
            wide = data if data.dtype is torch.float64 else data.float()
            three = (
                torch.linalg.vector_norm(wide),
                torch.linalg.vector_norm(wide, math.inf),
                torch.count_nonzero(wide),
            )
            packed = torch.stack([number.double() for number in three])
            waiting.append((place, data, packed))
        for (place, data, _), numbers in zip(
            waiting, self._fetch(waiting), strict=True
        ):
            norm, largest, nonzero = numbers
            zeros = data.numel() - nonzero
            found[place] = (norm, largest, zeros, 0.0, 0.0)
            if not math.isfinite(norm):
                found[place] = self._of_finite(data, zeros)
        return found

    def _fetch(self, waiting: list[tuple[int, Any, Any]]) -> list[list[float]]:
        devices = {packed.device for _, _, packed in waiting}
        if len(devices) == 1:
            return self._torch.stack([packed for _, _, packed in waiting]).tolist()
        return [packed.tolist() for _, _, packed in waiting]

    def _of_finite(self, data: Any, zeros: float) -> Numbers:
        torch = self._torch
        nans, infs = int(torch.isnan(data).sum()), int(torch.isinf(data).sum())
        fine = torch.nan_to_num(data.double(), 0.0, 0.0, 0.0)
        norm, largest = torch.linalg.vector_norm(fine), fine.abs().max()
        if nans + infs == data.numel():
            return math.nan, math.nan, zeros, nans, infs
        return float(norm), float(largest), zeros, nans, infs

    def _plain(self, tensor: Any) -> Any:
        """Return the numbers that this process holds of a gradient or parameter.

        A tensor that is spread over processes is never gathered: that would wait for
        the others.
        """
        local = getattr(tensor, "_local_tensor", tensor)
        if local.layout is not self._torch.strided:
            local = local.coalesce().values() if local.is_sparse else local.values()
        if is_opaque(self._torch, local) or local.is_quantized:
            return None
        data = local.detach()
        if data.is_complex():
            data = self._torch.view_as_real(data.resolve_conj())
        return data if data.is_floating_point() else None

    def is_bad(self, tensor: Any) -> bool:
        """Tell whether a small gradient holds NaN or Inf."""
        torch = self._torch
        if tensor.layout is not torch.strided or not tensor.is_floating_point():
            return False
        with self.quiet():
            local = getattr(tensor, "_local_tensor", tensor)
            if is_opaque(torch, local):
                return False
            return not math.isfinite(local.detach().sum().item())

    def copies(self, parameters: Sequence[Any]) -> list[Any]:
        """Return some elements of each parameter, as they are now."""
        found: list[Any] = []
        for parameter in parameters:
            some = self._some(parameter)
            found.append(None if some is None else some.clone())
        return found

    def changes(
        self, parameters: Sequence[Any], before: Sequence[Any]
    ) -> list[tuple[float, float]]:
        """Return the norm of each parameter before and of what changed since.

        Of large parameters both are estimated from the copied elements.
        """
        torch = self._torch
        found = [(math.nan, math.nan)] * len(parameters)
        waiting: list[tuple[int, Any, Any]] = []
        for place, (parameter, old) in enumerate(zip(parameters, before, strict=True)):
            new = self._some(parameter)
            if old is None or new is None or new.shape != old.shape:
                continue
            if not old.numel():
                continue
            whole = math.sqrt(self._plain(parameter).numel() / old.numel())
            norms = (
                torch.linalg.vector_norm(old.double()),
                torch.linalg.vector_norm(new.double() - old.double()),
            )
            waiting.append((place, None, torch.stack(norms) * whole))
        for (place, _, _), numbers in zip(waiting, self._fetch(waiting), strict=True):
            found[place] = (numbers[0], numbers[1])
        return found

    def _some(self, parameter: Any) -> Any:
        data = self._plain(parameter)
        if data is None:
            return None
        flat = data.view(-1) if data.is_contiguous() else data.reshape(-1)
        return flat[:: max(1, -(-flat.numel() // COPIED))]

    def statistics(self, tensor: Any) -> ir.Statistics | None:
        """Return the full statistics of a gradient, of some elements if it is large."""
        data = None if tensor is None else self._plain(tensor)
        if data is None or not data.numel():
            return None
        if data.numel() > _PICTURED:
            data = data.reshape(-1)[:: -(-data.numel() // _PICTURED)]
        return full_statistics(self._torch, data)

    def scale(self, optimizer: Any) -> float:
        """Return what the gradients are still multiplied with when a step begins.

        A fused optimizer divides by the scale of a GradScaler itself.
        """
        scale = getattr(optimizer, "grad_scale", None)
        return 1.0 if scale is None else float(scale)

    def skips(self, optimizer: Any) -> bool:
        """Tell whether a fused step will be skipped, as a scaled gradient is Inf."""
        found = getattr(optimizer, "found_inf", None)
        return found is not None and bool(float(found))

    def step_hooks(self, pre: Hook, post: Hook) -> list[Any]:
        """Call these before and after the step of any optimizer."""
        optimizers = sys.modules["torch.optim.optimizer"]
        return [
            optimizers.register_optimizer_step_pre_hook(pre),
            optimizers.register_optimizer_step_post_hook(post),
        ]

    def rank(self) -> int | None:
        """Return the number of this process among those that train together."""
        distributed = self._distributed()
        return None if distributed is None else distributed.get_rank()

    def size(self) -> int | None:
        """Return how many processes train together."""
        distributed = self._distributed()
        return None if distributed is None else distributed.get_world_size()

    def _distributed(self) -> Any:
        """Return PyTorch's package for several processes, where they have met."""
        distributed = getattr(self._torch, "distributed", None)
        if distributed is None or not distributed.is_available():
            return None
        return distributed if distributed.is_initialized() else None
