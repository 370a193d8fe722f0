"""Lengths: nodes that compute a varying integer from the shapes known in a graph.

A length is looked for, in this order, as a known size of some tensor, then as a known
size plus, times or divided by a constant, then as a product of two known sizes. It has
to fit in every run; the runs are made to differ enough for that to be a proof in
practice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ._table import CannotTranslateError
from ._varying import Varying

if TYPE_CHECKING:
    from ._graph import Graph

UNKNOWN = (
    "a size that was {values} in runs with other lengths of the dynamic "
    "axes is no simple function of them. Export with fewer dynamic axes"
)


def compute(graph: Graph, wanted: Varying) -> str:
    """Return a tensor of one int64.

    Raises CannotTranslateError where no formula fits.
    """
    known = dict(graph.lengths)
    for formula in (_plus, _times, _divided, _product):
        for values, name in known.items():
            found = formula(graph, wanted, values, name)
            if found is not None:
                return found
    raise CannotTranslateError(
        UNKNOWN.format(values=", ".join(str(v) for v in wanted.values))
    )


def _plus(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    offset = wanted - known
    if isinstance(offset, Varying):
        return None
    return graph.node("Add", name, graph.length(offset))


def _times(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    """Find a factor and an offset: wanted = known * a + b."""
    steps = _differences(wanted), _differences(known)
    ratios = {
        divmod(w, k) if k else None for w, k in zip(*steps, strict=True) if w or k
    }
    (ratio,) = ratios if len(ratios) == 1 else (None,)
    if ratio is None or ratio[1]:
        return None
    offset = wanted - known * ratio[0]
    if isinstance(offset, Varying):
        return None
    scaled = graph.node("Mul", name, graph.length(ratio[0]))
    return graph.node("Add", scaled, graph.length(offset)) if offset else scaled


def _divided(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    """Find wanted = (known + a) // c + b, the lengths of strided windows."""
    for divisor, offset in _divisions():
        rest = wanted - (known + offset) // divisor
        if isinstance(rest, Varying):
            continue
        total = graph.node("Add", name, graph.length(offset)) if offset else name
        if known.values[0] + offset < 0:
            continue  # ONNX rounds towards zero
        found = graph.node("Div", total, graph.length(divisor))
        return graph.node("Add", found, graph.length(rest)) if rest else found
    return None


def _divisions() -> Iterator[tuple[int, int]]:
    for divisor in range(2, 33):
        for offset in range(divisor):
            yield divisor, offset


def _product(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    if any(k == 0 or w % k for w, k in zip(wanted.values, known.values, strict=True)):
        return None
    quotient = wanted // known
    assert isinstance(quotient, Varying)  # else _times had found it
    other = graph.lengths.get(quotient)
    if other is None:
        steps: Callable[..., str | None] = _times
        for values, label in list(graph.lengths.items()):
            other = steps(graph, quotient, values, label)
            if other is not None:
                break
    return None if other is None else graph.node("Mul", name, other)


def _differences(length: Varying) -> list[int]:
    first = length.values[0]
    return [v - first for v in length.values[1:]]
