"""Softmax over many classes: a short list of common ones, and clusters of the rest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """What the layer returns: each sample's log-probability, and the mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax over classes sorted by frequency, rare ones in small clusters.

    ``cutoffs`` say where clusters begin. Raises ValueError where they do not rise.

    >>> import gradtape as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0)
    >>> layer(torch.ones(3, 8), torch.tensor([0, 3, 9])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in itertools.pairwise(cuts))
        whole = all(int(cut) == cut for cut in cuts)
        if not rising or not whole or cuts[0] <= 0 or cuts[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in "
                "an increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cuts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cuts[0]
        self.n_clusters = len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (start, end) in enumerate(itertools.pairwise(self.cutoffs), 1):
            inner = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, False, device, dtype),
                    Linear(inner, end - start, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for linear in cluster:
                linear.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return each sample's log-probability of its target, and the mean loss."""
        _check(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        output = input.new_zeros(target.size(0))
        places = target.new_empty(target.size(0))
        used = 0
        for number, (low, high) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze()
            used += rows.numel()
            if rows.numel() == 0:
                continue
            if number == 0:
                places.index_copy_(0, rows, target[mask])
                continue
            inside = self.tail[number - 1](input.index_select(0, rows))
            places.index_fill_(0, rows, self.shortlist_size + number - 1)
            logs = F.log_softmax(inside, dim=1)
            own = logs.gather(1, (target[mask] - low).unsqueeze(1))
            output.index_copy_(0, rows, own.squeeze(1))
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in "
                f"range [{target.min().item()}, {target.max().item()}] were found. "
            )
        logs = F.log_softmax(self.head(input), dim=1)
        output += logs.gather(1, places.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        out = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        short = self.shortlist_size
        out[:, :short] = head[:, :short]
        for number, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            logs = F.log_softmax(self.tail[number](input), dim=1)
            out[:, start:end] = logs + head[:, short + number].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """Return log-probabilities of all classes, (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the likeliest class of each sample; clusters are read if needed."""
        argmax = FUNCTIONS["argmax"]
        head = self.head(input)
        output = argmax(head, dim=1)
        outside = output >= self.shortlist_size
        if not outside.any():
            return output
        logs = self._get_full_log_prob(input[outside], head[outside])
        output[outside] = argmax(logs, dim=1)
        return output


def _check(input: Tensor, target: Tensor) -> None:
    rank = target.dim()
    if rank > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported"
        )
    if rank == 1 and input.size(0) != target.size(0):
        raise RuntimeError(
            "Input and target should have the same size in the batch dimension."
        )
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found "
            f"inputs with size {input.size()}"
        )
