"""Normalisation by the statistics of the batch, in one process or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import distributed
from ..._dispatch.declare import tensor_ops
from ..._dtypes import int64
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor, wrap
from ...distributed.nn.functional import all_reduce
from .. import functional as F
from .. import init
from .._factory import empty, parameter
from ..parameter import UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin, materialize
from .module import Module
from .normalization import reset_affine

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d"]
__all__ += ["LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm"]


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


class SyncBatchNorm(_BatchNorm):
    """Normalise each channel by the statistics of the batches of all processes.

    Without a process group, with one process, and in evaluation it is the plain one.
    Works on the CPU, too, which PyTorch's does not.

    >>> import gradtape as torch
    >>> torch.nn.SyncBatchNorm(3)(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        options = (affine, track_running_stats, device, dtype)
        super().__init__(num_features, eps, momentum, *options, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError(
                "SyncBatchNorm number of input channels should be non-zero"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise; in training also move the running statistics along."""
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        alone = not distributed.is_initialized() or not self.training
        if alone or distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        dims = [i for i in range(input.dim()) if i != 1]
        shape = [1, self.num_features, *[1] * (input.dim() - 2)]
        count = input.new_full((1,), input.numel() // self.num_features)
        sums = self._sum_of_all(tensor_ops.cat([input.sum(dims), count]))
        total = sums[-1].detach()
        mean = sums[:-1] / total
        centred = input - mean.view(shape)
        var = self._sum_of_all((centred**2).sum(dims)) / total
        if self.track_running_stats:
            self._move_along(mean, var * (total / (total - 1)))
        output = centred * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            output = output * self.weight.view(shape)
        return output if self.bias is None else output + self.bias.view(shape)

    def _sum_of_all(self, tensor: Tensor) -> Tensor:
        return all_reduce(tensor, group=self.process_group)

    def _move_along(self, mean: Tensor, var: Tensor) -> None:
        """Let the running statistics take in those of the batch."""
        with no_grad():
            self.num_batches_tracked.add_(1)
            factor = self.momentum
            if factor is None:
                factor = 1.0 / float(self.num_batches_tracked)
            for running, new in ((self.running_mean, mean), (self.running_var, var)):
                running.mul_(1 - factor).add_(new.detach() * factor)

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: Any = None
    ) -> Module:
        """Replace every BatchNorm layer in a module, with all that it has learned.

        Returns the module itself, unless it is such a layer.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls._like(module, process_group)
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result

    @classmethod
    def _like(cls, module: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        options = (module.affine, module.track_running_stats, process_group)
        found = cls(
            *(module.num_features, module.eps, module.momentum, *options),
            bias=module.bias is not None,
        )
        if module.affine:
            found.weight, found.bias = module.weight, module.bias
        found.running_mean = module.running_mean
        found.running_var = module.running_var
        found.num_batches_tracked = module.num_batches_tracked
        found.training = module.training
        return found


# ---- norms ----


class _LazyNormBase(LazyModuleMixin):
    """A norm whose ``num_features`` come from the first input."""

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = wrap(np.zeros((), np.int64))

    def reset_parameters(self) -> None:
        """Reset weights and statistics, once there are any."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize weights and statistics for this input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        shape = (self.num_features,)
        if self.affine:
            materialize(self.weight, shape)
            materialize(self.bias, shape)
        if self.track_running_stats:
            materialize(self.running_mean, shape)
            materialize(self.running_var, shape)
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """Normalise sequences by batch once an input tells how wide."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """Normalise images by batch once an input tells how wide."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """Normalise volumes by batch once an input tells how wide."""

    cls_to_become = BatchNorm3d
