"""Which of PyTorch's kernels a convolution on the CPU is, in a build without oneDNN."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any


class ConvBackend(Enum):
    """The kernels that PyTorch has for convolutions on all kinds of devices."""

    CudaDepthwise2d = 0
    CudaDepthwise3d = 1
    Cudnn = 2
    CudnnTranspose = 3
    Empty = 4
    Miopen = 5
    MiopenDepthwise = 6
    MiopenTranspose = 7
    Mkldnn = 8
    MkldnnEmpty = 10
    NnpackSpatial = 11
    Overrideable = 12
    Slow2d = 13
    Slow3d = 14
    SlowDilated2d = 15
    SlowDilated3d = 16
    SlowTranspose2d = 17
    SlowTranspose3d = 18
    Winograd3x3Depthwise = 19
    Xnnpack2d = 20
    Mps = 21


def select_conv_backend(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Any,
    groups: int,
    bias_sizes: Any = None,
) -> ConvBackend:
    """Return the kernel by the shapes and options; a row counts as an image.

    >>> import gradtape as torch
    >>> x, weight, each = torch.ones(1, 1, 4), torch.ones(1, 1, 2), ((1,), (0,))
    >>> torch._C._select_conv_backend(x, weight, None, *each, (1,), False, (0,), 1)
    <ConvBackend.Slow2d: 13>
    """
    if not input.numel():
        return ConvBackend.Empty
    kind = "Transpose" if transposed else "Dilated" * any(d != 1 for d in dilation)
    return ConvBackend[f"Slow{kind}{max(2, input.dim() - 2)}d"]
