"""What the records ask of objects that are defined further up.

A node refers to tensors, to memory and, while it runs, to a backward pass. Their
classes know nodes, so nodes cannot name them: they say here what they need of them.
Only what is read is listed, as read-only, so that every subclass fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import CodeType

    from .._common.site import RawSite


class StorageLike(Protocol):
    """The record of a block of memory: :class:`gradtape._storage.storage.Storage`."""

    @property
    def id(self) -> int: ...
    @property
    def version(self) -> int: ...


class TensorLike(Protocol):
    """A tensor: :class:`gradtape._tensor.tensor.Tensor`."""

    @property
    def _data(self) -> Any: ...
    @property
    def _memory(self) -> StorageLike | None: ...
    @property
    def _storage(self) -> StorageLike: ...
    @property
    def _needs(self) -> bool: ...
    def more(self) -> Any: ...


class WriteLike(Protocol):
    """One write to memory that its record remembers."""

    @property
    def op(self) -> str: ...
    @property
    def site(self) -> RawSite | None: ...
    @property
    def version(self) -> int: ...


class NodeLike(Protocol):
    """A node as anomaly mode sees it: what it is called, and the line that made it."""

    @property
    def code(self) -> CodeType | None: ...
    @property
    def lasti(self) -> int: ...
    def name(self) -> str: ...


class TaskLike(Protocol):
    """The backward pass that runs: :class:`gradtape._engine.graph_task.GraphTask`."""

    @property
    def id(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def keep(self) -> bool: ...
    @property
    def can_checkpoint(self) -> bool: ...
    @property
    def callbacks(self) -> list[Callable[[], Any]]: ...
    @property
    def roots(self) -> Sequence[tuple[Any, int]]: ...
    @property
    def order(self) -> Sequence[Any]: ...
    @property
    def steps(self) -> Iterator[Any] | None: ...
    @property
    def waiting(self) -> dict[Any, int]: ...
    @property
    def wanted(self) -> set[Any] | None: ...
    @property
    def capture(self) -> dict[Any, Any] | None: ...
