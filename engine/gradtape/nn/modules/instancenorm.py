"""Normalisation of each sample's channels by their own statistics."""

from __future__ import annotations

import warnings
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d"]
__all__ += ["LazyInstanceNorm2d", "LazyInstanceNorm3d"]


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


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """Normalise sequences by instance once an input tells how wide."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """Normalise images by instance once an input tells how wide."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """Normalise volumes by instance once an input tells how wide."""

    cls_to_become = InstanceNorm3d
