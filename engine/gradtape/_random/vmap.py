"""What the enclosing vmaps of a thread have to say about drawing random numbers."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import abc
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .._storage.result_strides import sorted_dims

Fill = TypeVar("Fill", bound=Callable[..., Any])


class Batch:
    """The draws of one vmap whose examples each get numbers of their own.

    PyTorch draws for all examples of a chunk at once. So the first of them draws for
    all, and the n-th draw of the others finds its numbers there.
    """

    def __init__(self, size: int, chunk: int, mapped: list[tuple[Any, int]]) -> None:
        self._size, self._chunk = size, chunk
        self._wholes = [(whole, whole.stride(dim)) for whole, dim in mapped]
        self._known: dict[int, tuple[weakref.ref[Any], tuple[int, ...]]] = {}
        self._orders: list[list[int] | None] = []  # of the first chunk's draws

    def begin(self, index: int) -> None:
        """Begin an example."""
        self.index, self.place = index % self._chunk, 0
        self._is_first = index < self._chunk
        if not self.index:
            self._drawn: list[Any] = []
            self._here = min(self._chunk, self._size - index)

    def order_of(self, tensor: Any) -> list[int] | None:
        """Return the order in memory of a whole input of which a tensor is one example.

        From the outermost dimension to the innermost, the examples being dimension 0;
        None where the tensor is neither a view of an input nor made of one pointwise.
        """
        strides = self._strides_of(tensor)
        if strides is None:
            return None
        return sorted_dims((self._size, *tensor.shape), [strides])[::-1]

    def _strides_of(self, tensor: Any) -> tuple[int, ...] | None:
        for whole, step in self._wholes:
            if tensor._storage is whole._storage:
                return (step, *tensor.stride())
        reference, strides = self._known.get(id(tensor), (None, None))
        return strides if reference is not None and reference() is tensor else None

    def follow(self, given: list[Any], mapped: Any, result: Any) -> None:
        """Note how all results of a pointwise op lie, given one example of them."""
        shape = (self._size, *result.shape)
        found = [self._beside(each, each in mapped, shape) for each in given]
        step, strides = 1, [0] * len(shape)
        for dim in sorted_dims(shape, found):
            strides[dim] = step
            step *= shape[dim]
        self._known[id(result)] = weakref.ref(result), tuple(strides)

    def _beside(
        self, tensor: Any, is_mapped: bool, shape: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the strides of all examples of an operand, broadcast to a shape."""
        strides = self._strides_of(tensor)
        if strides is None:
            strides = (tensor.numel() if is_mapped else 0, *tensor.stride())
        lead = len(shape) - tensor.dim() - 1
        sizes = zip(tensor.shape, strides[1:], shape[lead + 1 :], strict=True)
        own = (0 if n == 1 != m else step for n, step, m in sizes)
        return (strides[0], *(0,) * lead, *own)

    def fill(
        self, out: Any, draw: Callable[[Any], Any], order: list[int] | None = None
    ) -> None:
        """Fill an array of this example; ``draw`` fills any array of its kind.

        The array for all examples lies in an ``order``; by default they are in a row.
        """
        if not self.index:
            shape = (self._here, *out.shape)
            if self._is_first:
                self._orders.append(order)
            elif self.place < len(self._orders):  # whose ops were watched
                order = self._orders[self.place]
            if order is None or len(order) != len(shape):
                order = list(range(len(shape)))
            whole = np.empty([shape[dim] for dim in order], out.dtype)
            self._drawn.append(whole.transpose(np.argsort(order)))
            draw(self._drawn[-1])
        self.place += 1
        whole = self._drawn[self.place - 1] if self.place <= len(self._drawn) else out
        if whole.dtype is out.dtype and whole.shape[1:] == out.shape:
            out[...] = whole[self.index]
        else:  # this example draws what the first did not
            draw(out)


class Vmaps(threading.local):
    """The vmaps of a thread that are under way, by what they want of draws."""

    def __init__(self) -> None:
        self.refusing = 0  # how many of them let nobody draw
        self.starts: tuple[dict[Any, Any], ...] = ()  # by generator
        """For each whose examples all draw the same, the states they begin from."""
        self.batches: tuple[Batch, ...] = ()
        """Those whose examples draw different numbers, the outermost first."""
        self.order: list[int] | None = None
        """How the numbers of all examples lie that are drawn next, if not in a row."""
        self.groups: tuple[Any, ...] = ()
        """Whom an example asks for the answer of a rule for batches, see ``func``."""

    def note(self, generator: Any) -> None:
        """Remember where a generator was before it drew for the first time."""
        for starts in self.starts:
            if generator not in starts:
                starts[generator] = generator.get_state()

    def lie_beside(self, tensor: Any) -> None:
        """Let what is drawn next for all examples lie as the tensor does for all."""
        batches = self.batches
        self.order = batches[0].order_of(tensor) if len(batches) == 1 else None

    @contextmanager
    def aside(self) -> abc.Generator[None]:
        """Let other examples draw, and go on where this one was."""
        places = [(batch, batch.index, batch.place) for batch in self.batches]
        states = [(g, g.get_state()) for starts in self.starts for g in starts]
        yield
        for batch, index, place in places:
            batch.index, batch.place = index, place
        for generator, state in states:
            generator.set_state(state)


vmaps = Vmaps()


def at_once(fill: Fill) -> Fill:
    """Let a function that fills an array draw for all examples of a vmap at once."""

    @functools.wraps(fill)
    def filled(out: Any, *args: Any, **named: Any) -> Any:
        batches = vmaps.batches
        if not batches:
            return fill(out, *args, **named)
        order, vmaps.order = vmaps.order, None
        in_rows = out.flags.c_contiguous or order is not None
        if not in_rows or any(map(_is_array, args)):
            return fill(out, *args, **named)

        draw: Callable[[Any], Any] = lambda whole: fill(whole, *args, **named)  # noqa: E731
        for batch in batches:
            draw = functools.partial(batch.fill, draw=draw, order=order)
        vmaps.batches = ()
        try:
            draw(out)
        finally:
            vmaps.batches = batches
        return out

    return filled  # type: ignore[return-value] - takes what ``fill`` takes


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)
