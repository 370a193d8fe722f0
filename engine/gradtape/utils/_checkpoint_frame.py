"""One checkpointed call: what forward saved, and how it is computed again in backward.

Forward keeps an empty :class:`Holder` in place of every saved tensor. The first one
that backward unpacks makes the function run again, under hooks that put what it saves,
in the same order, where the holders can find it. Holders know several passes, so that
checkpoints nest and graphs can be retained.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from .._common.site import RawSite, caller_site, resolve
from .._engine.graph_task import current_id
from .._engine.saved_attributes import SavedTensor, make_saved_tensor
from .._graph.node import Node
from .._modes.grad_mode import enable_grad
from .._tensor.tensor import Tensor
from ..autograd._saved_hooks import pop_hooks, push_hooks
from . import _checkpoint_errors as errors
from ._sketch import Sketch, differences, sketch_of

PassId = Any
"""What tells passes apart: a number, or the group that several passes form."""

_outside = itertools.count(-2, -1).__next__


class GraphExecGroup:
    """Passes that recompute what they need of a checkpoint once between them.

    Backward passes inside the block must run over different parts of the graph; a
    saved tensor that two of them need is refused with a CheckpointError. Raises
    RuntimeError when nested.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    >>> with torch.utils.checkpoint.GraphExecGroup():
    ...     y.sum().backward()
    """

    def __enter__(self) -> GraphExecGroup:
        if _group.current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Already inside group "
                f"{_group.current}"
            )
        _group.current = self
        return self

    def __exit__(self, *args: object) -> None:
        _group.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _group.current


class _Group(threading.local):
    current: GraphExecGroup | None = None


_group = _Group()


def _pass_id() -> PassId:
    """Return which pass unpacks now; a number of its own outside of all passes."""
    if _group.current is not None:
        return _group.current
    task = current_id()
    return _outside() if task == -1 else task


class _Handle:
    """Key of a recomputed tensor, which goes when the key does."""

    __slots__ = ("__weakref__",)


class Holder:
    """Stands in a node for a tensor that will be computed again."""

    __slots__ = ("__weakref__", "handles")

    def __init__(self) -> None:
        self.handles: dict[PassId, _Handle | None] = {}  # None once it was unpacked


class Seen(NamedTuple):
    """What is remembered of a tensor that forward saved, in place of the tensor."""

    metadata: Any
    sketch: Sketch | None
    origin: Origin


class Origin(NamedTuple):
    """Which op saved a tensor, and the user's line that called it."""

    node: str
    site: RawSite | None

    def __str__(self) -> str:
        where = "" if self.site is None else f" at {resolve(*self.site)}"
        return f"{self.node or 'a checkpoint inside'}{where}"


class StopRecomputationError(Exception):
    """Everything that backward needs has been computed again."""


class Frame:
    """The state that one checkpointed call and its recomputations share."""

    def __init__(
        self,
        recompute: Callable[..., None],
        early_stop: bool,
        metadata_of: Callable[[Tensor], Any],
        compare_values: bool,
        on_error: Callable[[errors.CheckpointError], None] | None,
    ) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.metadata_of = metadata_of
        self.compare_values = compare_values
        self.on_error = on_error
        self.arguments: list[Any] = []
        self.seen: list[Seen] = []
        self.holders: list[weakref.ref[Holder]] = []
        self.recomputed: dict[PassId, weakref.WeakKeyDictionary[_Handle, Tensor]] = (
            defaultdict(weakref.WeakKeyDictionary)
        )
        self.done: set[PassId] = set()
        self.forward_completed = False
        self.lenient = False  # backward inside forward may save more the second time

    def keep_arguments(self, *args: Any) -> None:
        """Save the arguments; those that are tensors under the hooks that are on."""
        self.arguments = [
            make_saved_tensor(arg) if isinstance(arg, Tensor) else arg for arg in args
        ]

    def pack(self, tensor: Tensor, node: Node | None) -> Holder:
        """Put a holder in the place of a tensor that forward saves."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.seen.append(
            Seen(
                self.metadata_of(tensor),
                sketch_of(tensor) if self.compare_values else None,
                origin_of(node),
            )
        )
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        """Return the tensor of a holder, computing the function again if need be."""
        try:
            return self._recomputed(holder)
        except errors.CheckpointError as error:
            if self.on_error is not None:
                self.on_error(error)
            raise

    def _recomputed(self, holder: Holder) -> Tensor:
        which = _pass_id()
        if which not in self.done:
            run = Recomputation(self, which)
            self._run_again(run)
            self.done.add(which)
            run.check()
        assert which in holder.handles, errors.INTERNAL
        handle = holder.handles[which]
        if handle is None:
            extra = "" if _group.current is None else errors.OVERLAP
            raise errors.CheckpointError(errors.UNPACKED_TWICE.format(extra=extra))
        holder.handles[which] = None
        return self.recomputed[which][handle]

    def _run_again(self, run: Recomputation) -> None:
        arguments = [
            arg.unpack() if isinstance(arg, SavedTensor) else arg
            for arg in self.arguments
        ]
        try:
            with run, enable_grad():
                self.recompute(*arguments)
        except StopRecomputationError:
            pass

    def __enter__(self) -> None:
        push_hooks(self.pack, self.unpack, for_node=True)

    def __exit__(self, *args: object) -> None:
        pop_hooks()


class Recomputation:
    """One run of the function again: the hooks it runs under, and what they found."""

    def __init__(self, frame: Frame, which: PassId) -> None:
        self._frame = weakref.ref(frame)  # the graph made now holds the hooks
        self._which = which
        self.origins: list[Origin] = []
        self.changed: list[str] = []  # tensors of other values, one paragraph each

    def pack(self, tensor: Tensor, node: Node | None) -> Tensor:
        """Keep a tensor for its holder, and in the graph that is made again."""
        frame = self._frame()
        assert frame is not None, errors.INTERNAL
        kept = tensor.detach() if tensor.requires_grad else tensor
        at = len(self.origins)
        self.origins.append(origin_of(node))
        if at >= len(frame.holders):
            self._refuse_more(frame)
            return kept
        holder = frame.holders[at]()
        if holder is not None:  # else a backward inside forward has let go of it
            assert holder.handles.get(self._which) is None, errors.INTERNAL
            handle = holder.handles[self._which] = _Handle()
            frame.recomputed[self._which][handle] = kept
            self._compare(frame.seen[at], at, kept)
        if frame.early_stop and at + 1 == len(frame.holders):
            raise StopRecomputationError
        return kept

    def _refuse_more(self, frame: Frame) -> None:
        assert not frame.early_stop, errors.INTERNAL
        if frame.forward_completed:
            error = errors.CheckpointError(errors.TOO_MANY)
            error.add_note(self._first_difference(frame))
            raise error
        frame.lenient = True

    def _compare(self, seen: Seen, at: int, found: Tensor) -> None:
        if seen.sketch is None:
            return
        text = differences(seen.sketch, sketch_of(found))
        if text:
            self.changed.append(
                f"tensor at position {at}, saved by {seen.origin}: shape "
                f"{list(found.shape)}, {found.dtype}; {text}\n"
            )

    def unpack(self, kept: Tensor) -> Tensor:
        """Return what :meth:`pack` kept."""
        return kept

    def check(self) -> None:
        """Refuse what is not what forward saved: in number, kind, or value."""
        frame = self._frame()
        assert frame is not None, errors.INTERNAL
        if frame.lenient:
            return
        if len(frame.holders) != len(self.origins):
            error = errors.CheckpointError(
                errors.OTHER_NUMBER.format(
                    forward=len(frame.holders), recomputed=len(self.origins)
                )
            )
            error.add_note(self._first_difference(frame))
            raise error
        self._check_kinds(frame)
        if self.changed:
            raise errors.CheckpointError(
                errors.OTHER_VALUES.format(tensors="".join(self.changed))
            )

    def _check_kinds(self, frame: Frame) -> None:
        wrong: list[str] = []
        notes: list[str] = []
        kept = frame.recomputed[self._which]
        for at, (reference, seen) in enumerate(
            zip(frame.holders, frame.seen, strict=True)
        ):
            holder = reference()
            handle = None if holder is None else holder.handles[self._which]
            if handle is None:
                continue
            found = frame.metadata_of(kept[handle])
            if found != seen.metadata:
                wrong.append(
                    errors.ONE_KIND.format(at=at, was=seen.metadata, now=found)
                )
                notes.append(
                    f"tensor at position {at} was saved by {seen.origin}, and by "
                    f"{self.origins[at]} during recomputation"
                )
        if wrong:
            error = errors.CheckpointError(
                errors.OTHER_KINDS.format(tensors="".join(wrong))
            )
            for note in notes:
                error.add_note(note)
            raise error

    def _first_difference(self, frame: Frame) -> str:
        """Say where the two runs part, by the ops that save."""
        for at, (seen, origin) in enumerate(
            zip(frame.seen, self.origins, strict=False)
        ):
            if seen.origin != origin:
                return (
                    f"tensor at position {at} was saved by {seen.origin}, and by "
                    f"{origin} during recomputation"
                )
        longer = [seen.origin for seen in frame.seen], self.origins
        shorter = min(map(len, longer))
        rest = max(longer, key=len)[shorter:]
        run = "forward" if len(longer[0]) > len(longer[1]) else "recomputation"
        return f"only {run} went on to save for {rest[0]}" if rest else ""

    def __enter__(self) -> None:
        push_hooks(self.pack, self.unpack, for_node=True)

    def __exit__(self, *args: object) -> None:
        pop_hooks()


def origin_of(node: Node | None) -> Origin:
    """Return who saves now, and for which line of the user's."""
    return Origin("" if node is None else node.name(), caller_site())
