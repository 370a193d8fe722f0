"""What following the axes of a run shows: meetings, scans, picks, padding, mixes."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradviz.dependence.axes import Axis, Dim, Dims, fits, new
from gradviz.dependence.axis_views import Mix
from gradviz.program import Call, Value


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two tensors that a call compares element by element."""

    call: Call
    one: Value
    other: Value
    pairs: tuple[tuple[Dim, Dim], ...]  # of dimensions that both have

    def turned(self) -> Meeting:
        """Return it with the two exchanged."""
        pairs = tuple([(other, one) for one, other in self.pairs])
        return Meeting(self.call, self.other, self.one, pairs)

    def with_target(self) -> Meeting | None:
        """Return it with what learns first; None where both do, or neither."""
        if self.one.requires_grad == self.other.requires_grad:
            return None
        return self if self.one.requires_grad else self.turned()


@dataclass(frozen=True, slots=True)
class Scan:
    """A call of a sequence layer, or of attention."""

    call: Call
    along: Dim  # what it takes for time
    beside: Dim  # what it takes for the batch
    attends: bool = False
    batch_first: bool = False


@dataclass(frozen=True, slots=True)
class Pick:
    """One element of a dimension was taken, by its number."""

    call: Call
    dim: Dim
    number: int
    size: int


@dataclass(slots=True, eq=False)
class Padding:
    """A dimension in which shorter rows were filled up."""

    call: Call
    is_right: bool = True  # behind the rows, as opposed to before them
    fill: float | None = None
    packed: bool = False  # what is behind the rows is none of a layer's results


@dataclass(slots=True, eq=False)
class Axes:
    """What the dimensions of a run's tensors are: ``history.once(axes_of)``."""

    mixes: list[Mix] = field(default_factory=list[Mix])
    meetings: list[Meeting] = field(default_factory=list[Meeting])
    scans: list[Scan] = field(default_factory=list[Scan])
    picks: list[Pick] = field(default_factory=list[Pick])
    padded: dict[Axis, Padding] = field(default_factory=dict[Axis, Padding])
    dims: dict[int, Dims] = field(default_factory=dict[int, Dims])  # by tensor
    written: set[int] = field(default_factory=set[int])  # storages
    samples: set[Axis] = field(default_factory=set[Axis])  # of a loader's batches

    def of_samples(self, axis: Axis) -> bool:
        """Tell whether an axis is one along which a loader put samples side by side."""
        return not self.samples.isdisjoint(axis.behind())

    def of(self, value: Value) -> Dims:
        """Return the dimensions of a tensor; one that is not known has its own."""
        found = self.dims.get(value.tensor)
        if found is None or not fits(found, value.shape):
            found = self.dims[value.tensor] = new(value.shape, "given", None, value)
        return found
