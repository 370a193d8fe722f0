"""One run of a model: which of its modules began and ended when."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

Mark: TypeAlias = tuple[int, ...]
"""Where things stand: counters that only grow, as of time or of bytes."""


@dataclass(slots=True)
class Turn:
    """One call of one module, with all that ran inside."""

    module: int  # its id
    began: Mark
    inner: bool  # it ran inside another call of the same module
    ended: Mark | None = None  # None: it raised
    shapes: tuple[tuple[int, ...], ...] = ()  # of the tensors it returned


@contextmanager
def turns_of(
    modules: Sequence[Any], mark: Callable[[], Mark], lib: Any
) -> Generator[list[Turn]]:
    """Yield the list that the turns of these modules come into, as they begin.

    The hooks that see to it are gone at the end of the block.
    """
    turns: list[Turn] = []
    running: list[Turn] = []

    def begin(module: Any, _: Any) -> None:
        own = id(module)
        inner = any(turn.module == own for turn in running)
        turn = Turn(own, mark(), inner)
        turns.append(turn)
        running.append(turn)

    def end(module: Any, _: Any, output: Any) -> None:
        # A call that raised, and whose error the model caught, never ended.
        while running:
            turn = running.pop()
            if turn.module == id(module):
                turn.ended = mark()
                turn.shapes = tuple(shapes_in(output, lib.Tensor))
                return

    handles = [each.register_forward_pre_hook(begin) for each in modules]
    handles += [each.register_forward_hook(end) for each in modules]
    try:
        yield turns
    finally:
        for handle in handles:
            handle.remove()


def shapes_in(thing: Any, kind: type) -> Generator[tuple[int, ...]]:
    """Yield the shapes of the tensors in what a module returns: in lists and dicts."""
    if isinstance(thing, kind):
        yield tuple(getattr(thing, "shape", ()))
    elif isinstance(thing, Mapping | list | tuple):
        for each in thing.values() if isinstance(thing, Mapping) else thing:
            yield from shapes_in(each, kind)
