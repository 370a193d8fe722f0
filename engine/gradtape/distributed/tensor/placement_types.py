"""How tensors would lie on several processes: libraries say it for all their layers."""

from __future__ import annotations

from dataclasses import dataclass

from ..._common.refusals import refused_names

globals().update(refused_names("distributed.tensor.placement_types"))


class Placement:
    """How a tensor lies on one dimension of a mesh; no tensor here is ever laid so."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Tell whether each process holds a part, of dimension ``dim`` if given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Tell whether each process holds all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Tell whether the processes' tensors have yet to be reduced."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process holds a part of one dimension.

    >>> from gradtape.distributed.tensor import Shard
    >>> Shard(0).is_shard(), str(Shard(0))
    (True, 'S(0)')
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process holds all of the tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is what the processes' tensors reduce to."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
