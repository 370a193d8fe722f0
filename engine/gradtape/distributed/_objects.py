"""Collectives of any Python objects, which travel pickled.

Unpickling runs what a pickle says: use these among processes of one program only.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ._collectives import broadcast
from ._engine import flat
from ._gathering import all_gather, gather, scatter
from ._group import ProcessGroup
from ._point_to_point import recv, send
from ._ranks import group_rank_of, root_of
from ._world import member

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(value: Any, group: ProcessGroup) -> Tensor:
    data = np.frombuffer(bytearray(pickle.dumps(value)), np.uint8)
    return wrap(data).to(group.device_of_objects())


def _unpacked(tensor: Tensor, size: int) -> Any:
    return pickle.loads(flat(tensor, on_host=True)[:size].tobytes())


def _size(value: int, group: ProcessGroup) -> Tensor:
    return wrap(np.array([value], np.int64)).to(group.device_of_objects())


def _sizes_of_all(group: ProcessGroup, size: int) -> list[int]:
    found = [_size(0, group) for _ in range(group.size())]
    all_gather(found, _size(size, group), group)
    return [int(each) for each in found]


def _buffer(size: int, group: ProcessGroup) -> Tensor:
    return wrap(np.zeros(size, np.uint8)).to(group.device_of_objects())


def _padded(tensor: Tensor, size: int, group: ProcessGroup) -> Tensor:
    whole = _buffer(size, group)
    whole._data[: tensor.numel()] = tensor._data
    return whole


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill ``object_list``, in every process, with the objects of all, by rank."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    packed = _packed(obj, found)
    sizes = _sizes_of_all(found, packed.numel())
    parts = [_buffer(max(sizes), found) for _ in sizes]
    all_gather(parts, _padded(packed, max(sizes), found), found)
    for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        object_list[i] = _unpacked(part, size)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Fill a list in process ``dst``, by default 0, with the objects of all."""
    found = member(group, "gather_object")
    if found is None:
        return
    if dst is None and group_dst is None:
        dst = 0
    root = root_of("gather", found, dst, group_dst)
    is_root = found.rank() == root
    if is_root and not object_gather_list:
        raise ValueError(
            "Argument ``gather_list`` must be specified on destination rank."
        )
    if object_gather_list and not is_root:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )
    packed = _packed(obj, found)
    sizes = _sizes_of_all(found, packed.numel())
    parts = [_buffer(max(sizes), found) for _ in sizes] if is_root else None
    gather(_padded(packed, max(sizes), found), parts, group=found, group_dst=root)
    for i, part in enumerate(parts or []):
        assert object_gather_list is not None
        object_gather_list[i] = _unpacked(part, sizes[i])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Replace the objects of a list, in every process, by those of process ``src``.

    The lists are of one length. ``device`` makes no difference.
    """
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    if src is None and group_src is None:
        src = 0
    root = root_of("broadcast", found, src, group_src)
    is_root = found.rank() == root
    packed = _packed(list(object_list), found) if is_root else _buffer(0, found)
    size = _size(packed.numel(), found)
    broadcast(size, group=found, group_src=root)
    if not is_root:
        packed = _buffer(int(size), found)
    broadcast(packed, group=found, group_src=root)
    if not is_root:
        _replace(object_list, _unpacked(packed, packed.numel()))


def _replace(objects: list[Any], found: Sequence[Any]) -> None:
    for i in range(len(objects)):
        objects[i] = found[i]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Set the first of a list to what process ``src``, by default 0, has for it."""
    found = member(group, "scatter_object_list")
    if found is None:
        return
    output = scatter_object_output_list
    if not isinstance(output, list) or not output:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at "
            "least 1."
        )
    if src is None and group_src is None:
        src = 0
    root = root_of("scatter", found, src, group_src)
    packed: list[Tensor] = []
    if found.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError(
                "source rank must provide non-None scatter_object_input_list"
            )
        packed = [_packed(each, found) for each in scatter_object_input_list]
    largest = _size(max((each.numel() for each in packed), default=0), found)
    broadcast(largest, group=found, group_src=root)
    room = int(largest)
    mine, parts = _buffer(room, found), [_padded(each, room, found) for each in packed]
    scatter(mine, parts, group=found, group_src=root)
    size, sizes = _size(0, found), [_size(each.numel(), found) for each in packed]
    scatter(size, sizes, group=found, group_src=root)
    output[0] = _unpacked(mine, int(size))


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to process ``dst``."""
    found = member(group, "send_object_list")
    if found is None:
        return
    peer = group_rank_of(found, dst, group_dst)
    packed = _packed(list(object_list), found)
    send(_size(packed.numel(), found), group=found, group_dst=peer)
    send(packed, group=found, group_dst=peer)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Replace the objects of a list by those that come, and return who sent them."""
    found = member(group, "recv_object_list")
    if found is None:
        return -1
    size = _size(0, found)
    source = recv(size, src, found, group_src=group_src)
    packed = _buffer(int(size), found)
    recv(packed, source, found)
    _replace(object_list, _unpacked(packed, packed.numel()))
    return source
