"""What the enclosing vmaps of a thread have to say about drawing random numbers."""

from __future__ import annotations

import functools
import threading
from collections import abc
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from ._generator import Generator

Fill = TypeVar("Fill", bound=Callable[..., Any])


class Batch:
    """The draws of one vmap whose examples each get numbers of their own.

    PyTorch draws for all examples of a chunk at once. So the first of them draws for
    all, and the n-th draw of the others finds its numbers there.
    """

    def __init__(self, size: int, chunk: int) -> None:
        self._size, self._chunk = size, chunk

    def begin(self, index: int) -> None:
        """Begin an example."""
        self.index, self.place = index % self._chunk, 0
        if not self.index:
            self._drawn: list[Any] = []
            self._here = min(self._chunk, self._size - index)

    def fill(self, out: Any, draw: Callable[[Any], Any]) -> None:
        """Fill an array of this example; ``draw`` fills any array of its kind."""
        if not self.index:
            self._drawn.append(np.empty((self._here, *out.shape), out.dtype))
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
        self.starts: tuple[dict[Generator, Any], ...] = ()
        """For each whose examples all draw the same, the states they begin from."""
        self.batches: tuple[Batch, ...] = ()
        """Those whose examples draw different numbers, the outermost first."""
        self.groups: tuple[Any, ...] = ()
        """Whom an example asks for the answer of a rule for batches, see ``func``."""

    def note(self, generator: Generator) -> None:
        """Remember where a generator was before it drew for the first time."""
        for starts in self.starts:
            if generator not in starts:
                starts[generator] = generator.get_state()

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
        if not batches or not out.flags.c_contiguous or any(map(_is_array, args)):
            return fill(out, *args, **named)

        draw: Callable[[Any], Any] = lambda whole: fill(whole, *args, **named)  # noqa: E731
        for batch in batches:
            draw = functools.partial(batch.fill, draw=draw)
        vmaps.batches = ()
        try:
            draw(out)
        finally:
            vmaps.batches = batches
        return out

    return filled  # type: ignore[return-value] - takes what ``fill`` takes


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)
