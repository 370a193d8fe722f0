"""Batch normalisation by the statistics of the batches of several processes."""

from __future__ import annotations

from typing import Any

from ... import distributed
from ..._dispatch.declare import tensor_ops
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...distributed.nn.functional import all_reduce
from ._batchnorm import _BatchNorm
from ._module import Module


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
