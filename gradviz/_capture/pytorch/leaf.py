"""The one call that a module of PyTorch makes, as it was when it was seen."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

from gradviz._capture.loop.base import Place
from gradviz._capture.pytorch.ops import Op
from gradviz._capture.pytorch.values import IS_VIEW, NEEDS, VERSION
from gradviz.program.noted import Glance

SHAPE, _STRIDES = 3, 4
LIKE = slice(SHAPE, NEEDS + 1)
"""Of a glance: shape, strides, offset, dtype, device and need of a gradient."""

SEEN = 3
"""Parts of a row of the table of tensors that has a glance."""

Met = list[tuple[Any, Glance]]
"""Tensors of a call, and what they are like."""


class Leaf:
    """A call, with what it depends on besides its module: what the inputs are like."""

    __slots__ = (
        *("_given", "_given_at", "_keywords", "_keywords_at", "_shape", "_strides"),
        *("count", "op", "output", "wanted"),
    )

    def __init__(self, note: tuple[Any, ...], sources: Sequence[int | str]) -> None:
        """Learn from the note of a call.

        ``sources`` tells for each of its tensors which argument of the module it was,
        or the name of which parameter.
        """
        _, _, begun, outputs, nodes, _, _ = note
        inputs: tuple[Glance, ...] = begun[5]
        self.op = Op(begun[0], "record")
        self._given: tuple[Any, ...] = begun[6]
        self._keywords: tuple[Any, ...] = begun[7]
        self._given_at = _places(self._given, inputs)
        self._keywords_at = _places(self._keywords, inputs)
        likes = [glance[LIKE] for glance in inputs]
        self.wanted = tuple(zip(sources, likes, strict=True))
        self.output: Glance = outputs[0]
        self._shape, self._strides = self.output[SHAPE], self.output[_STRIDES]
        self.count = len(nodes)  # that it makes

    def is_whole(self) -> bool:
        """Tell whether all tensors lie open among the arguments, in no list."""
        places = (*(self._given_at or ()), *(self._keywords_at or ()))
        return self._given_at is None or len(places) == len(self.wanted)

    def begun(
        self, code: CodeType, lasti: int, place: Place, module: int, met: Met
    ) -> tuple[Any, ...]:
        """Return the same call with these tensors, as a note tells its beginning."""
        inputs = tuple([glance for _, glance in met])
        given, keywords = self._given_at, self._keywords_at
        return (
            self.op.name,
            code,
            lasti,
            (),
            place.thread,
            inputs,
            inputs if given is None else _filled(self._given, given, inputs),
            _filled(self._keywords, keywords, inputs) if keywords else self._keywords,
            True,  # gradients are on, or there would be no node
            False,
            module,
            place.within,
        )

    def fits(self, result: Any, met: Met, count: int) -> bool:
        """Tell whether the call gave what it gave before, and wrote nowhere."""
        if (
            count != self.count
            or result.shape != self._shape
            or result.stride() != self._strides
            or not result.requires_grad
            or result._is_view() is not self.output[IS_VIEW]
        ):
            return False
        for tensor, before in met:
            if tensor is result or tensor._version != before[VERSION]:
                return False
        return True


class Known:
    """What is known of one module."""

    __slots__ = ("forward", "leaves", "reference")

    def __init__(self, module: Any) -> None:
        self.reference = weakref.ref(module)
        self.forward = type(module).forward
        self.leaves: dict[Any, Leaf | int] = {}  # by kind of input; or failed tries


def _places(
    things: tuple[Any, ...], glances: tuple[Glance, ...]
) -> tuple[tuple[int, int], ...] | None:
    """Return where glances lie among arguments; None where these are just they."""
    if things is glances:
        return None
    numbers = {id(glance): number for number, glance in enumerate(glances)}
    found = [(at, numbers.get(id(each))) for at, each in enumerate(things)]
    return tuple([(at, number) for at, number in found if number is not None])


def _filled(
    things: tuple[Any, ...],
    places: tuple[tuple[int, int], ...],
    glances: tuple[Glance, ...],
) -> tuple[Any, ...]:
    """Return arguments with other glances among them."""
    filled = list(things)
    for at, number in places:
        filled[at] = glances[number]
    return tuple(filled)
