"""Who is who: ranks in groups, and what a group is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .._tensor.tensor import Tensor
from . import _errors
from ._backends import Backend
from ._group import ProcessGroup
from ._world import GroupMember, default_group, everyone, groups, registered

__all__ = [
    "get_backend",
    "get_backend_config",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "is_torchelastic_launched",
]

_NO_LOCAL_RANK = (
    "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
    "`get_node_local_rank` to work, assuming you are not running in a multi-device "
    "context and want the code to run locally instead."
)


def get_rank(group: Any = None) -> int:
    """Return the rank of this process, or -1 where it is not in the group."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return -1
    default_group()
    return registered(group).rank()


def get_world_size(group: Any = None) -> int:
    """Return how many processes there are, or -1 where this is not in the group."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return -1
    default_group()
    return registered(group).size()


def get_backend(group: Any = None) -> str:
    """Return the name of a group's backend."""
    return Backend(_own(group).backend)


def get_backend_config(group: Any = None) -> str:
    """Return which backend serves which type of device, as text."""
    return _own(group).config


def _own(group: Any) -> ProcessGroup:
    """Return a group that this process is in."""
    default_group()
    try:
        return registered(group)
    except ValueError:
        raise ValueError(_errors.INVALID_GROUP) from None


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the rank in a group of a process, by its rank among all."""
    if group is everyone():
        return global_rank
    members = registered(group).ranks
    if global_rank not in members:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return members.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the rank among all of a process, by its rank in a group."""
    if group is everyone():
        return group_rank
    members = registered(group).ranks
    if not 0 <= group_rank < len(members):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return members[group_rank]


def get_process_group_ranks(group: Any) -> list[int]:
    """Return the processes of a group, by their ranks among all."""
    return list(registered(group).ranks)


def get_pg_count() -> int:
    """Return how many groups this process is in."""
    return len(groups())


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return which of its machine's processes this is, as the launcher said.

    Raises RuntimeError where none said it and there is no ``fallback_rank``.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(_NO_LOCAL_RANK)


def is_torchelastic_launched() -> bool:
    """Tell whether torchrun, or ``gradtape.distributed.run``, started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


# ---- what collectives accept, and PyTorch's words for what they do not -------


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
