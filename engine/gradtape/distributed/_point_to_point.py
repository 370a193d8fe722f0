"""Messages from one process to another."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ._engine import put
from ._group import ProcessGroup
from ._ranks import check_tensor, group_rank_of
from ._work import Work
from ._world import default_group, member, registered

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]

_NOT_TO_ITSELF = (
    "Invalid {what} rank: {what} rank should not be the same as "
    "the rank of the current process."
)
_NO_OP = (
    "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
    "``torch.distributed.irecv``."
)


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to process ``dst``, and return a Work to wait for.

    Raises ValueError where that is this process.
    """
    check_tensor(tensor, "tensor")
    found = member(group, "isend")
    if found is None:
        return None
    peer = _peer(found, dst, group_dst, "destination")
    carrier = found.carrier(tensor)
    return Work(carrier.engine.send(carrier.flat(tensor), peer, tag), [tensor])


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor, and return a Work to wait for.

    Without ``src`` from whoever sends. Of one process, tensors of one tag come in the
    order in which they were sent.
    """
    check_tensor(tensor, "tensor")
    found = member(group, "irecv")
    if found is None:
        return None
    return _receive(found, tensor, src, group_src, tag, [])


def _receive(
    found: ProcessGroup,
    tensor: Tensor,
    src: int | None,
    group_src: int | None,
    tag: int,
    sources: list[int],
) -> Work:
    """Begin to receive; ``sources`` will get the rank in the group of who sent."""
    peer = None
    if (src, group_src) != (None, None):
        peer = _peer(found, src, group_src, "source")
    carrier = found.carrier(tensor)
    pending = carrier.engine.receive(carrier.flat(tensor), peer, tag)

    def finish(received: tuple[Any, int]) -> None:
        array, source = received
        put(tensor, array, "recv_")
        sources.append(source)

    return Work(pending, [tensor], finish)


def _peer(
    group: ProcessGroup, rank: int | None, group_rank: int | None, what: str
) -> int:
    peer = group_rank_of(group, rank, group_rank)
    if peer == group.rank():
        raise ValueError(_NOT_TO_ITSELF.format(what=what))
    if not 0 <= peer < group.size():
        raise ValueError(f"Invalid {what} rank: there is no process of rank {peer}")
    return peer


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to process ``dst``, who receives into one of its type and size.

    Does not wait until it is received.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Fill a tensor with one that process ``src`` sends, and return its rank.

    Without ``src``, whoever sends. Returns -1 where this process is not in the group.
    """
    check_tensor(tensor, "tensor")
    found = member(group, "recv")
    if found is None:
        return -1
    sources: list[int] = []
    _receive(found, tensor, src, group_src, tag, sources).wait()
    return found.ranks[sources[0]]


class P2POp:
    """One `isend` or `irecv` for `batch_isend_irecv`.

    Raises ValueError where ``op`` is neither.
    """

    __module__ = "torch.distributed"

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(_NO_OP)
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = default_group() if group is None else registered(group)
        self.group_peer = group_rank_of(self.group, peer, group_peer)
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        ends = [self.group.rank(), self.group_peer]
        source, target = ends if self.op is isend else reversed(ends)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, "
            f"group_dst={target},  {self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin all of several sends and receptions, and return a Work for each."""
    if not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to "
            "to be of type ``torch.distributed.P2POp``."
        )
    first = p2p_op_list[0].group
    if any(each.group is not first for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    return [
        each.op(each.tensor, group=each.group, tag=each.tag, **_end(each))
        for each in p2p_op_list
    ]


def _end(each: P2POp) -> dict[str, int]:
    name = "group_dst" if each.op is isend else "group_src"
    return {name: each.group_peer}
