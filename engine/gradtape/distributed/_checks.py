"""What collectives accept, and PyTorch's words for what they do not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .._tensor.tensor import Tensor
from ._group import ProcessGroup
from ._ranks import get_group_rank

__all__ = [
    "check_count",
    "check_list",
    "check_same_dtype",
    "check_shapes",
    "check_tensor",
    "group_rank_of",
    "root_of",
    "warn_old",
]


def check_tensor(value: Any, name: str) -> None:
    """Raise TypeError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"torch.Tensor\n             but got {type(value)} instead."
        )


def check_list(values: Any, name: str) -> None:
    """Raise TypeError for what is no list of tensors."""
    start = f"Invalid function argument. Expected parameter `{name}` of type "
    start += f"List[torch.Tensor]\n             but got {type(values)}"
    if not isinstance(values, list):
        raise TypeError(f"{start} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        kinds = [type(value) for value in values]
        raise TypeError(f"{start} with elements of type {kinds}.")


def check_same_dtype(*tensors: Tensor) -> None:
    """Raise ValueError for tensors of several types."""
    for before, tensor in pairwise(tensors):
        if before.dtype is not tensor.dtype:
            raise ValueError(
                "Invalid usage of tensors with different dtypes"
                f"Found {before.dtype} and  {tensor.dtype}"
            )


def check_shapes(name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """Raise RuntimeError where a tensor has another shape than ``like``."""
    for index, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {index} "
                f"(expected {_shape(like)}, got {_shape(tensor)})"
            )


def check_count(name: str, what: str, tensors: Sequence[Tensor], size: int) -> None:
    """Raise RuntimeError where a list has not one tensor for each process."""
    if len(tensors) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect {what} list size {len(tensors)}. "
            f"{what.capitalize()} list size should be {size}, same as size of the "
            "process group."
        )


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def group_rank_of(
    group: ProcessGroup, global_rank: int | None, group_rank: int | None
) -> int:
    """Return the rank in the group of a process that is given in one of two ways.

    Raises ValueError where it is given in both, in none, or is not in the group.
    """
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, global_rank)


def root_of(
    name: str, group: ProcessGroup, global_rank: int | None, group_rank: int | None
) -> int:
    """Return the rank of a root; raise RuntimeError where the group has none such."""
    root = group_rank_of(group, global_rank, group_rank)
    if not 0 <= root < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root


def warn_old(old: str, new: str) -> None:
    """Warn of a function that PyTorch has under another name now."""
    warnings.warn(
        f"`torch.distributed.{old}` is deprecated. "
        f"Please use `torch.distributed.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )
