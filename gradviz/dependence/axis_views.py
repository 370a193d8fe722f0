"""What a change of shape does to axes: keeps, merges, takes apart, or mixes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from gradviz.dependence.axes import Axis, Dim, Dims, Factor, only
from gradviz.program import Call

_MOST_USES = 64


@dataclass(slots=True, eq=False)
class Mix:
    """Several axes that one view cut where none of them ends."""

    call: Call
    before: tuple[Factor, ...]
    after: tuple[int, ...]  # the sizes that were asked for
    made: list[Axis] = field(default_factory=list[Axis])
    exact: bool = False  # every cut is at a whole number of rows
    swapped: Axis | None = None  # whose size was asked for at another place
    merged: bool = False  # it went whole into another dimension
    uses: list[Call] = field(default_factory=list[Call])  # where the places matter
    undone: bool = False  # a later change of shape takes all of it again
    is_sliced: bool = False

    def used_by(self, call: Call) -> None:
        """Note a call that tells the places apart; a loop's are the same."""
        if len(self.uses) < _MOST_USES:
            self.uses.append(call)


def reshaped(dims: Dims, shape: tuple[int, ...], call: Call, mixes: list[Mix]) -> Dims:
    """Return the dimensions of a tensor after a change of its shape.

    Elements keep their order in memory: sizes are compared from the outside in, and
    what lies between two common boundaries belongs together.
    """
    factors = [factor for dim in dims for factor in dim if factor.size > 1]
    made: list[Dim] = []
    place = 0
    for group, sizes in _groups([each.size for each in factors], shape):
        old = factors[place : place + group]
        place += group
        made += _group(old, sizes, call, mixes)
    return tuple(made)


def _groups(old: list[int], new: tuple[int, ...]) -> Iterator[tuple[int, list[int]]]:
    """Yield how many old sizes come together with which new ones."""
    place = 0
    sizes: list[int] = []
    taken, product, wanted = 0, 1, 1
    for size in new:
        if size == 1 and product == wanted:
            yield 0, [1]
            continue
        sizes.append(size)
        wanted *= size
        while product < wanted and place < len(old):
            product *= old[place]
            place, taken = place + 1, taken + 1
        if product == wanted:
            yield taken, sizes
            sizes, taken, product, wanted = [], 0, 1, 1
    if sizes:
        yield taken, sizes


def _group(
    old: list[Factor], sizes: list[int], call: Call, mixes: list[Mix]
) -> list[Dim]:
    if not old:
        return [() for _ in sizes]
    mix = _whole(old)
    if mix is not None:
        mix.undone = True
        wanted = [size for size in sizes if size > 1]
        if wanted == [factor.size for factor in mix.before]:
            return _spread(list(mix.before), sizes)
    sizes_left = [size for size in sizes if size > 1]
    if len(sizes_left) == 1:
        return [_rejoined(old) if size > 1 else () for size in sizes]
    if len(old) == 1:
        return _parts(old[0], sizes, call)
    return _mixed(old, sizes, call, mixes)


def _spread(factors: list[Factor], sizes: list[int]) -> list[Dim]:
    left = iter(factors)
    return [(next(left),) if size > 1 else () for size in sizes]


def mixed_in(axis: Axis) -> Mix | None:
    """Return what mixed an axis, if it came of that as it is."""
    if axis.how != "mixed" or not isinstance(axis.token, tuple):
        return None
    mix: Mix = axis.token[0]
    return mix


def _whole(old: list[Factor]) -> Mix | None:
    """Return what mixed these axes, if they are all that came of it."""
    sources = [_source(factor) for factor in old]
    first = sources[0]
    if first is None:
        return None
    mix = first[0]
    found = {each[1] for each in sources if each is not None and each[0] is mix}
    return mix if len(found) == len(mix.made) else None


def _source(factor: Factor) -> tuple[Mix, int] | None:
    """Return the mix that an axis came of, sliced or not, and its place there."""
    for axis in factor.axes:
        each: Axis | None = axis
        while each is not None and each.how in ("picked", "mixed", "normalised"):
            mix = mixed_in(each)
            if mix is not None:
                return mix, mix.made.index(each)
            each = each.parent
    return None


def _rejoined(old: list[Factor]) -> Dim:
    """Return factors as one dimension; all parts of an axis are that axis."""
    out: list[Factor] = []
    for factor in old:
        out.append(factor)
        axis = factor.axes[0]
        if axis.how != "part" or not isinstance(axis.token, tuple):
            continue
        _, place, count = axis.token
        last = out[-count:]
        if place == count - 1 and len(last) == count and _are_parts(last):
            parents = [each.parent for each in last[0].axes if each.parent is not None]
            size = prod([each.size for each in last])
            if parents and all(each.size == size for each in parents):
                out[-count:] = [Factor(tuple(parents), size)]
    return tuple(out)


def taken_again(call: Call, dims: Dims) -> None:
    """Note where what a view made of an axis is taken for that axis again.

    As where what attention gives is added to what it was given.
    """
    for dim in dims:
        axes = only(dim)
        for mix in filter(None, map(mixed_in, axes if len(axes) > 1 else ())):
            cut = mix.swapped
            if cut is not None and any(
                each.root is cut.root and mixed_in(each) is None for each in axes
            ):
                mix.used_by(call)


def _are_parts(factors: list[Factor]) -> bool:
    firsts = [factor.axes[0] for factor in factors]
    return all(
        each.how == "part"
        and each.parent is firsts[0].parent
        and isinstance(each.token, tuple)
        and each.token[1] == place
        for place, each in enumerate(firsts)
    )


def _parts(factor: Factor, sizes: list[int], call: Call) -> list[Dim]:
    wanted = [size for size in sizes if size > 1]
    made: list[Dim] = []
    place = 0
    for size in sizes:
        if size == 1:
            made.append(())
            continue
        token = (call.index, place, len(wanted))
        axes = [each.derived("part", call, size, token=token) for each in factor.axes]
        made.append((Factor(tuple(axes), size),))
        place += 1
    return made


def _mixed(
    old: list[Factor], sizes: list[int], call: Call, mixes: list[Mix]
) -> list[Dim]:
    """Return what a view makes of axes that it cuts in between."""
    before = _bounds([each.size for each in old])
    after = _bounds([size for size in sizes if size > 1])
    bounds = sorted({*before, *after})
    exact = all(b % a == 0 for a, b in pairwise(bounds))
    mix = Mix(call, tuple(old), tuple(size for size in sizes if size > 1), exact=exact)
    mix.swapped = _swapped(old, before, mix.after, after)
    if mix.swapped is None:
        mix.swapped = _merged(old, before, mix.after, after)
        mix.merged = mix.swapped is not None
    if exact and mix.swapped is None:
        cut = _cut(old, bounds, call)
        return _collected(cut, sizes)
    mixes.append(mix)
    made: list[Dim] = []
    for size in sizes:
        if size == 1:
            made.append(())
            continue
        axis = Axis(size, "mixed", call, token=(mix,))
        mix.made.append(axis)
        made.append((Factor((axis,), size),))
    return made


def _bounds(sizes: list[int]) -> list[int]:
    """Return the products of sizes from the outside in."""
    product, found = 1, list[int]()
    for size in sizes:
        product *= size
        found.append(product)
    return found


def _swapped(
    old: list[Factor], before: list[int], sizes: tuple[int, ...], after: list[int]
) -> Axis | None:
    """Return an axis that was cut, and whose size was asked for at another place.

    Then its name was meant to move: ``view(b, c, t)`` of ``(b, t, c)``.
    """
    ends = {0: 1, **dict(enumerate(before, 1))}
    for place, factor in enumerate(old):
        first, last = ends[place], ends[place + 1]
        for dim, size in enumerate(sizes):
            begin = after[dim] // size
            whole = (begin, after[dim]) == (first, last)
            if size == factor.size and not whole and _is_cut(first, last, after):
                return factor.axes[0]
    return None


def _merged(
    old: list[Factor], before: list[int], sizes: tuple[int, ...], after: list[int]
) -> Axis | None:
    """Return features that went into a dimension of samples, if theirs is asked for.

    ``view(-1, c)`` of ``(b, c, t)``: what is called c there are neighbours along t.
    """
    if len(old) < 2 or len(sizes) < 2 or before[-2] >= after[-2]:
        return None
    last = {axis.root for axis in old[-1].axes}
    begin = 1
    for factor, end in zip(old[:-1], before, strict=False):
        kept = begin in (1, *after) and end in after
        axis = factor.axes[0]
        if factor.size == sizes[-1] and not kept and _is_apart(axis, last):
            return axis
        begin = end
    return None


def _is_apart(axis: Axis, others: set[Axis]) -> bool:
    """Tell whether a layer made an axis, and these others not in the same call."""
    call = axis.root.call
    return axis.root.how == "made" and call not in {each.call for each in others}


def _is_cut(first: int, last: int, after: list[int]) -> bool:
    """Tell whether a new boundary lies within an axis, or where it does not fit."""
    return any(first < bound < last for bound in after)


def _cut(old: list[Factor], bounds: list[int], call: Call) -> list[Factor]:
    """Return factors cut at all boundaries."""
    made: list[Factor] = []
    begin = 1
    for factor in old:
        end = begin * factor.size
        inside = [bound for bound in bounds if begin < bound <= end]
        sizes = [b // a for a, b in zip([begin, *inside], inside, strict=False)]
        if len(sizes) == 1:
            made.append(factor)
        else:
            made += [dim[0] for dim in _parts(factor, sizes, call)]
        begin = end
    return made


def _collected(factors: list[Factor], sizes: list[int]) -> list[Dim]:
    left = iter(factors)
    made: list[Dim] = []
    for size in sizes:
        dim: list[Factor] = []
        while prod([each.size for each in dim]) < size:
            dim.append(next(left))
        made.append(_rejoined(dim))
    return made
