"""The groups of this process: making, finding and ending them."""

from __future__ import annotations

import warnings
import zlib
from datetime import timedelta
from typing import Any

from . import _errors
from ._backends import Backend
from ._group import ProcessGroup
from ._store import Store
from ._tcp_store import TCPStore
from .constants import default_pg_nccl_timeout, default_pg_timeout

__all__ = [
    "GroupMember",
    "checked_timeout",
    "default_group",
    "destroy_process_group",
    "everyone",
    "group",
    "groups",
    "is_available",
    "is_initialized",
    "is_outside",
    "member",
    "new_group",
    "registered",
    "set_default",
]

Group = Any
"""A ProcessGroup, None for that of all, or NON_GROUP_MEMBER."""


class _World:
    """What this process has of groups."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.own_store: Store | None = None  # one that no user made
        self.made = 0  # how many, in every process the same
        self.made_of: dict[tuple[int, ...], int] = {}  # by their members alone


_world = _World()


class _Members(type):
    """Lets `group.WORLD` be the group of all at any time."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 - PyTorch's name
        return _world.default


class group(metaclass=_Members):
    """``group.WORLD`` is the group of all processes."""


class GroupMember(metaclass=_Members):
    """``NON_GROUP_MEMBER`` is what those get of a new group who are not in it."""

    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Tell that there is this package; what it may lack, its functions say."""
    return True


def is_initialized() -> bool:
    """Tell whether there is a group of all.

    >>> is_initialized()
    False
    """
    return _world.default is not None


def set_default(group: ProcessGroup, own_store: Store | None) -> None:
    """Remember the group of all; ``own_store`` is closed when it ends."""
    _world.default, _world.own_store = group, own_store
    _world.groups.append(group)
    _world.made = 1


def everyone() -> ProcessGroup | None:
    """Return the group of all, if it was made."""
    return _world.default


def groups() -> list[ProcessGroup]:
    """Return the groups that this process is in."""
    return list(_world.groups)


def default_group() -> ProcessGroup:
    """Return the group of all. Raises ValueError where it was not made."""
    if _world.default is None:
        raise ValueError(_errors.NOT_INITIALIZED)
    return _world.default


def registered(given: Group) -> ProcessGroup:
    """Return a group, for None that of all.

    Raises ValueError for what is none, or has been destroyed.
    """
    if given is None:
        return default_group()
    if given == GroupMember.NON_GROUP_MEMBER:
        raise ValueError(_errors.INVALID_GROUP)
    if given not in _world.groups:
        raise ValueError(_errors.NOT_REGISTERED.format(given))
    return given


def is_outside(given: Group) -> bool:
    """Tell whether this is what those get of a group who are not in it."""
    return given == GroupMember.NON_GROUP_MEMBER


def member(given: Group, name: str) -> ProcessGroup | None:
    """Return a group, or None, with a warning, where this process is not in it."""
    if is_outside(given):
        rank = "unknown" if _world.default is None else default_group().rank()
        warnings.warn(
            f"Running {name} on global rank {rank} which does not "
            "belong to the given group.",
            UserWarning,
            stacklevel=4,
        )
        return None
    return registered(given)


# ---- the ends of groups ------------------------------------------------------------


def checked_timeout(given: timedelta | None, backend: str) -> timedelta:
    """Return a timeout, by default the backend's. Raises TypeError for others."""
    if given is None:
        nccl = backend == Backend.NCCL
        return default_pg_nccl_timeout if nccl else default_pg_timeout
    if not isinstance(given, timedelta):
        raise TypeError(_errors.NO_TIMEDELTA.format(given))
    return given


def destroy_process_group(group: Group = None) -> None:
    """Leave a group; without one, or for that of all, leave all groups."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found = _world.default if group is None else group
    if found is None:
        raise AssertionError("Process group cannot be None")
    if found not in _world.groups:
        raise ValueError(_errors.INVALID_GROUP)
    leaving = list(_world.groups) if found is _world.default else [found]
    for each in reversed(leaving):
        _world.groups.remove(each)
        each.close()
    if found is _world.default:
        _world.default, _world.made = None, 0
        _world.made_of.clear()
        if isinstance(_world.own_store, TCPStore):
            _world.own_store.close()
        _world.own_store = None


# ---- groups of some -----------------------------------------------------------------


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Group:
    """Make a group of some processes, by default of all.

    All processes call this, also those that will not be in the group, which get
    ``GroupMember.NON_GROUP_MEMBER``; with ``use_local_synchronization`` only those
    that will. The group uses the connections of the group of all.

    Raises ValueError for ranks that there are not, or that come twice.
    """
    everyone = default_group()
    members = _members(ranks, everyone.size(), sort_ranks)
    if timeout is not None:
        checked_timeout(timeout, everyone.backend)
    if use_local_synchronization:
        key = tuple(members)
        count = _world.made_of[key] = _world.made_of.get(key, 0) + 1
        # Others do not count along: a number of the members alone, apart from theirs.
        number = 2**32 + zlib.crc32(repr((key, count)).encode())
    else:
        number, _world.made = _world.made, _world.made + 1
    named = (str(number), group_desc or "undefined")
    made = everyone.split(members, number, *named)
    if made is None:
        return GroupMember.NON_GROUP_MEMBER
    if timeout is not None:
        made.set_timeout(timeout)
    _world.groups.append(made)
    return made


def _members(ranks: list[int] | None, size: int, sort: bool) -> list[int]:
    if ranks is None:
        return list(range(size))
    found = sorted(ranks) if sort else list(ranks)
    if len(set(found)) != len(found):
        raise ValueError(f"ranks list must not contain duplicate entries, got {found}")
    if len(found) > size:
        raise ValueError(
            "the new group's world size should be less or equal to "
            "the world size set by init_process_group"
        )
    for rank in found:
        if not 0 <= rank < size:
            raise ValueError(
                f"Rank {rank} is out of range. "
                f"Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    return found
