"""The same derivative is taken twice, where the second was to be another one.

What it does
    Finds two calls of ``autograd.grad`` in one function, in different lines, that take
    the derivative of the same result with respect to the same tensor, graph included.

Why is this bad
    Both give the same numbers. In an equation with a second derivative, the first one
    was written down again: ``u_xx`` is ``u_x``. The network is trained on another
    equation, the residual falls, and the solution is wrong.

Example
    ::

        u_x = grad(u, x)
        u_xx = grad(u, x)

Use instead
    ::

        u_x = grad(u, x)
        u_xx = grad(u_x, x)

When it stays quiet
    Where the two are of different functions, or of one line that runs again; where no
    graph is asked for; where it happens once.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, RawSite, Value

_LEAST = 2  # times
_Pair = tuple[RawSite, RawSite]


@rule("GV637", "same-derivative-twice", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pair of lines."""
    taken: dict[Hashable, Backward] = {}
    found: dict[_Pair, list[Backward]] = {}
    for each in history.backwards:
        if each.api != "grad" or not each.create_graph:
            continue
        pair = _lines(history, taken.setdefault(_asked(each), each), each)
        if pair is not None:
            found.setdefault(pair, []).append(each)
    for (first, second), passes in found.items():
        if len(passes) >= _LEAST:
            yield _hit(history, first, second, passes[0])


def _asked(backward: Backward) -> Hashable:
    """Return which derivative a pass takes: of what, by what, with what weights."""
    of = tuple(value.tensor for value in backward.roots)
    by = tuple(value.tensor for value in backward.inputs)
    return of, by, tuple(_weight(value) for value in backward.gradients)


def _weight(value: Value | None) -> Hashable:
    """Return the number that a tensor is filled with, or which one it is."""
    summary = None if value is None else value.summary
    if value is None or summary is None or summary.bad or not summary.count:
        return value and value.tensor
    is_constant = summary.minimum == summary.maximum
    return ("all", summary.minimum) if is_constant else value.tensor


def _lines(history: History, first: Backward, second: Backward) -> _Pair | None:
    """Return the two lines of one function from which passes were begun."""
    for one, other in zip(first.frames[::-1], second.frames[::-1], strict=False):
        if one != other:
            is_apart = one[0] is other[0] and history.line(one) != history.line(other)
            return (one, other) if is_apart else None
    return None


def _hit(history: History, first: RawSite, second: RawSite, passed: Backward) -> Hit:
    names = [", ".join(history.places.targets(site)) for site in (first, second)]
    old, new = (f"`{name}`" if name else "" for name in names)
    as_old = f" as {old}" if old else ""
    return Hit(
        f"`{history.text(second)}` takes the derivative that {history.line(first)} "
        "took already, of the same result with respect to the same tensor: "
        f"{new or 'it'} has the same numbers{as_old}.",
        second,
        f"For a second derivative, take that of {old or 'the first one'}; otherwise "
        "leave this line out.",
        symptom=passed.site,
        related=(Related("taken here", first),),
        tensors=tuple(value.tensor for value in passed.inputs),
        certainty=0.85,
    )
