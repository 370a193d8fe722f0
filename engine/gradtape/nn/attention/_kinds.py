"""Which kinds of attention may run. What they compute is the same."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from ...backends.cuda import attention_kinds


class SDPBackend(IntEnum):
    """PyTorch's kinds of scaled dot product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Generator[dict[Any, Any]]:
    """Allow only some kinds of attention in the block, which all compute the same.

    >>> import gradtape as torch
    >>> from gradtape.nn.attention import SDPBackend, sdpa_kernel
    >>> x = torch.ones(1, 1, 2, 2)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x).sum()
    tensor(4.)
    """
    given = backends if isinstance(backends, list) else [backends]
    if not all(isinstance(each, SDPBackend) for each in given):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend "
            f"instances, got {type(backends).__name__}"
        )
    with attention_kinds(
        flash=SDPBackend.FLASH_ATTENTION in given,
        memory_efficient=SDPBackend.EFFICIENT_ATTENTION in given,
        math=SDPBackend.MATH in given,
        cudnn=SDPBackend.CUDNN_ATTENTION in given,
    ):
        yield {}
