"""A mode that ``torch.vmap`` needs in PyTorch, at the path where it is there."""

from __future__ import annotations

from contextlib import nullcontext


class TransformGetItemToIndex(nullcontext[None]):
    """Let mapped tensors be indices: here they are as they come, one example each.

    >>> import gradtape as torch
    >>> from gradtape._dynamo import _trace_wrapped_higher_order_op as ops
    >>> rows = torch.arange(6.0).view(3, 2)
    >>> with ops.TransformGetItemToIndex():
    ...     torch.vmap(lambda i: rows[i])(torch.tensor([2, 0]))
    tensor([[4., 5.],
            [0., 1.]])
    """
