"""By which power a loss grows with the results of a model's last layers.

What a linear layer gives may be made any number of times as large, by its weights.
Where a loss grows by a power of that, and is below 0 anywhere, it has no least value.
"""

from __future__ import annotations

from collections.abc import Set
from math import isinf
from typing import NamedTuple

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.op_families import plain
from gradviz.program import Call, History, Value

_SAME = words(
    "view reshape flatten squeeze unsqueeze transpose permute t expand contiguous "
    "clone getitem select narrow index_select gather diagonal chunk split unbind mean "
    "amax amin sum neg negative"
)
_BENT = words("relu leaky_relu abs norm vector_norm linalg_vector_norm")  # at 0 alone
_ADDED = words("add radd iadd sub rsub isub subtract")
_MULTIPLIED = words("mul rmul imul multiply")
_DIVIDED = words("div idiv truediv itruediv divide true_divide")
_DEEPEST = 200  # calls between a loss and a layer


class _Degree(NamedTuple):
    """By which power a value grows; whether all of it does, as no margin would."""

    power: float
    whole: bool = True


_CONSTANT = _Degree(0.0)


def degree(history: History, root: Value, before: int, leaves: Set[int]) -> float:
    """Return the power by which a root grows with layers of these leaves; 0: unknown.

    None of these layers is given what another one of them made.
    """
    degrees = _Degrees(history, leaves)
    found = degrees.of(root, before)
    last = {each.tensor for layer in degrees.layers for each in layer.inputs[1:]}
    below = (history.behind(each.inputs[:1], each.index) for each in degrees.layers)
    apart = all(each.isdisjoint(last) for each in below)
    return found.power if found is not None and apart else 0.0


class _Degrees:
    """The degrees of what is made of layers whose weights are among some leaves."""

    def __init__(self, history: History, leaves: Set[int]) -> None:
        self._history = history
        self._leaves = leaves
        self.layers = list[Call]()
        self._known: dict[tuple[int, int], _Degree | None] = {}

    def of(self, value: Value, before: int, depth: int = 0) -> _Degree | None:
        """Return the degree of a value; None where it has none, or it is not known."""
        made = self._history.last_producer(value, before)
        if not value.requires_grad:
            behind = self._history.behind([value], before)
            return _CONSTANT if behind.isdisjoint(self._leaves) else None
        if made is None or depth > _DEEPEST:
            return None
        key = made.index, value.tensor
        if key not in self._known:
            self._known[key] = self._made(made, depth + 1)
        return self._known[key]

    def _made(self, call: Call, depth: int) -> _Degree | None:
        op = plain(name_of(call))
        if op == "linear":
            self.layers.append(call)
            learnt = (each.tensor in self._leaves for each in call.inputs[1:])
            return _Degree(1.0) if all(learnt) else None
        given = [self.of(each, call.index, depth) for each in call.inputs]
        known = [each for each in given if each is not None]
        if not known or len(known) < len(given):
            return None
        first = known[0]
        same = op in _SAME or (op in _MULTIPLIED | _DIVIDED and len(known) == 1)
        if same or (op == "masked_fill" and _fills_no_number(call)):
            return first
        if op in _ADDED:
            powers = {each.power for each in known}
            if len(powers - {0.0}) > 1:
                return None  # the higher one may bound what the other takes away
            alike = len(known) > 1 and len(powers) == 1
            return _Degree(max(powers), alike and all(each.whole for each in known))
        if not all(each.whole for each in known):
            return None
        if op in _MULTIPLIED:
            return _Degree(sum(each.power for each in known))
        if op == "square" or (op == "pow" and call.arguments[1:2] == (2,)):
            return _Degree(2 * first.power)
        return first if op in _BENT else None


def _fills_no_number(call: Call) -> bool:
    """Tell whether what fills a mask is none that a result could stop at."""
    filled = [each for each in call.arguments[1:] if isinstance(each, float | int)]
    return bool(filled) and all(each == 0 or isinf(each) for each in filled)
