"""Normalisation with running statistics: by batch, by instance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._dtypes import int64
from ..._tensor.tensor import Tensor, wrap
from .. import functional as F
from .. import init
from .._fresh import empty, parameter
from ._module import Module
from ._norm import reset_affine


class _NormBase(Module):
    """Weights and running statistics of normalisation per channel."""

    _version = 2
    ranks: tuple[int, ...]  # how many dimensions an input may have

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            found = parameter(num_features, device, dtype) if wanted else None
            self.register_parameter(name, found)
        for name in ("running_mean", "running_var"):
            tracked = (
                empty(num_features, device, dtype) if track_running_stats else None
            )
            self.register_buffer(name, tracked)
        count = empty((), device, int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Forget the running statistics; set weight to ones and bias to zeros."""
        self.reset_running_stats()
        reset_affine(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            names = " or ".join(f"{n}D" for n in self.ranks)
            raise ValueError(f"expected {names} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = f"{prefix}num_batches_tracked"
        old = (local_metadata.get("version") or 1) < 2
        if old and self.track_running_stats and key not in state_dict:
            # Files from before the counter: keep ours, if it has a value.
            ours = self.num_batches_tracked
            fresh = ours is None or ours.device.type == "meta"
            state_dict[key] = wrap(np.zeros((), np.int64)) if fresh else ours
        found = (missing_keys, unexpected_keys, error_msgs)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, *found
        )


class _BatchNorm(_NormBase):
    """Normalise each channel by the statistics of the batch."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise; in training also move the running statistics along."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked._data)
        untracked = self.running_mean is None and self.running_var is None
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            self.training or untracked,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise the channels of (N, C) or (N, C, length)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise the channels of (N, C, height, width).

    >>> import gradtape as torch
    >>> torch.nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise the channels of (N, C, depth, height, width)."""

    ranks = (5,)


class _InstanceNorm(_NormBase):
    """Normalise each channel of each sample by its own statistics."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            device,
            dtype,
            bias=bias,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise a batch, or one sample without a batch dimension."""
        self._check_input_dim(input)
        channel = input.dim() - (self.ranks[-1] - 1)
        if input.shape[channel] != self.num_features:
            self._complain(channel, input.shape[channel])
        if input.dim() == self.ranks[0]:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _get_no_batch_dim(self) -> int:
        return self.ranks[0]

    def _complain(self, channel: int, size: int) -> None:
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={channel} to match num_features "
                f"({self.num_features}), but got: {size}."
            )
        warnings.warn(
            f"input's size at dim={channel} does not match num_features. You can "
            "silence this warning by not passing in num_features, which is not used "
            "because affine=False",
            UserWarning,
            stacklevel=3,
        )

    def _normalise(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalise the channels of each sample of (N, C, length)."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalise the channels of each sample of (N, C, height, width)."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalise the channels of each sample of (N, C, depth, height, width)."""

    ranks = (4, 5)
