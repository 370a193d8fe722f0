"""Who is who: ranks in groups, and what a group is."""

from __future__ import annotations

import os
from typing import Any

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
