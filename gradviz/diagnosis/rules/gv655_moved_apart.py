"""Inputs and their targets are put into different orders.

What it does
    Finds a loss that compares what was made of samples in one order with targets in
    another: both were shuffled by a permutation of their own, or only one of them was.
    The same of images that are flipped or rolled while their masks are not.

Why is this bad
    Each input is trained towards the target of another one. Nothing fails, and the
    loss falls to what guessing gives.

Example
    ::

        x = x[torch.randperm(len(x))]
        y = y[torch.randperm(len(y))]

Use instead
    ::

        order = torch.randperm(len(x))
        x, y = x[order], y[order]

When it stays quiet
    Where the right targets come into play elsewhere, as with mixed samples or pairs
    that are wrong on purpose; targets that were drawn after the order was, or are
    constants; orders that are undone, or not known.

References
    https://pytorch.org/docs/stable/generated/torch.randperm.html
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator

from gradviz.dependence import learning
from gradviz.dependence.axes import Axis, Dim, Move, axes_in
from gradviz.dependence.axis_facts import Axes, Meeting
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.op_families import CONSTANTS, plain
from gradviz.diagnosis._words import tensor_words
from gradviz.diagnosis.decisions.loaders import loader_of
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_Order = tuple[tuple[str, Hashable], ...]


@rule("GV655", "moved-apart", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that moves one of two that belong together."""
    axes, weights = history.once(axes_of), learning.by_memory(history)
    compared = [*filter(None, map(Meeting.with_target, axes.meetings))]
    together = {
        (id(a.root), id(b.root))
        for meeting in compared
        for one, other in meeting.pairs
        for a in axes_in(one)
        for b in axes_in(other)
        if _is_same(a, b)
    }
    told = set[RawSite | None]()
    for meeting in compared:
        for one, other in meeting.pairs:
            found = _apart(axes, weights, one, other, meeting.other)
            if found is None:
                continue
            axis, beside, move = found
            ordered = move.what in ("index", "numbers")
            if ordered and (id(axis.root), id(beside.root)) in together:
                continue
            if move.call.site not in told:
                told.add(move.call.site)
                yield _hit(history, meeting, axis, beside, move)


def _apart(
    axes: Axes, weights: Container[int], one: Dim, other: Dim, target: Value
) -> tuple[Axis, Axis, Move] | None:
    """Return the axes of a dimension that are apart in all that it stands for."""
    if len(one) != 1 or len(other) != 1:
        return None
    found: tuple[Axis, Axis, Move] | None = None
    for axis in axes_in(one):
        for beside in axes_in(other):
            if _is_same(axis, beside):
                return None
            if not _is_data(axes, weights, axis, beside):
                continue
            move = _difference(axis, beside, target)
            if move is not None:
                found = found or (axis, beside, move)
    return found


def _learns(axis: Axis, weights: Container[int]) -> bool:
    came = axis.value
    return came is not None and (came.requires_grad or came.storage in weights)


def _is_data(axes: Axes, weights: Container[int], axis: Axis, beside: Axis) -> bool:
    """Tell whether two axes came in as data of one size, the targets no constant."""
    one, other = axis.root, beside.root
    if one.how != "given" or other.how != "given" or one.size != other.size:
        return False
    if _learns(one, weights) or _learns(other, weights):
        return False  # rows of a table: what is looked up, not samples
    if other.call is None or plain(other.call.op) not in CONSTANTS:
        return True
    return other.value is not None and other.value.storage in axes.written


def _order(axis: Axis) -> _Order:
    """Return the changes of order along an axis that were not ranges."""
    kinds = ("index", "numbers", "unknown")
    moves = (e for e in axis.moves if e.what in kinds and not _is_range(e))
    return tuple((each.what, each.token) for each in moves)


def _is_range(move: Move) -> bool:
    token = move.token
    if move.what != "numbers" or not isinstance(token, tuple) or not token:
        return False
    first = token[0]  # pyright: ignore[reportUnknownVariableType]
    return type(first) is int and token == tuple(range(first, first + len(token)))  # pyright: ignore[reportUnknownArgumentType]


def _turns(axis: Axis) -> tuple[int, int]:
    """Return how often an axis was flipped, of two, and how far it was rolled."""
    flips = sum(each.what == "flip" for each in axis.moves) % 2
    rolled = [each.token for each in axis.moves if each.what == "roll"]
    return flips, sum(each for each in rolled if isinstance(each, int))


def _is_same(one: Axis, other: Axis) -> bool:
    return _order(one) == _order(other) and _turns(one) == _turns(other)


def _difference(axis: Axis, beside: Axis, target: Value) -> Move | None:
    """Return the move of one that the other lacks, if they are surely apart."""
    one, other = _order(axis), _order(beside)
    if any(what == "unknown" for what, _ in {*one} ^ {*other}):
        return None
    before = -1 if beside.root.call is None else beside.root.call.index
    if one != other:
        moves = [
            each
            for each in (*axis.moves, *beside.moves)
            if (each.what, each.token) in {*one} ^ {*other}
        ]
        first = min(moves, key=lambda each: each.call.index, default=None)
        last = max(moves, key=lambda each: each.call.index, default=None)
        return last if first is not None and first.call.index > before else None
    if axis.root is beside.root and "float" in target.dtype:
        return None  # to turn it back may be what is learnt
    if _turns(axis) == _turns(beside) or any(_turns(beside)):
        return None
    turned = [each for each in axis.moves if each.what in ("flip", "roll")]
    return turned[0] if turned and turned[0].call.index > before else None


def _hit(
    history: History, meeting: Meeting, axis: Axis, beside: Axis, move: Move
) -> Hit:
    call, loss, target = move.call, meeting.call, meeting.other
    kept = beside if any(each is move for each in axis.moves) else axis
    others = [each.call for each in kept.moves if each.what in ("index", "numbers")]
    also = next((each for each in reversed(others) if each is not call), None)
    code, where = history.text(call.site), history.line(loss.site)
    what = tensor_words(history, target)
    if move.what in ("flip", "roll"):
        turn = "flips" if move.what == "flip" else "rolls"
        message = (
            f"`{code}` {turn} the input, and {what}, which {where} compares with what "
            f"was made of it place by place, stays as it was: each place has the "
            "target of another."
        )
        fix = "Do the same with the target, whenever you do it with the input."
    else:
        apart = "The other side keeps the order it had"
        if also is not None and also.site == call.site:
            apart = "It orders the other side, too, each time anew"
        elif also is not None:
            apart = f"{history.quoted(also.site)} orders the other side in its own way"
        message = (
            f"`{code}` changes the order of {axis.root.size} samples. {apart}, and "
            f"`{loss.op}` ({where}) compares the two: each sample is trained towards "
            "the target of another."
        )
        fix = "Put the other side in the same order."
        if also is not None:
            fix = (
                f"Make one permutation, `torch.randperm({axis.root.size})`, and index "
                "both with it."
            )
    other_site = None if also is None or also.site == call.site else also.site
    return Hit(
        message,
        _decided(history, meeting, call, kept),
        fix,
        symptom=loss.site,
        related=(
            Related("compared here", loss.site),
            Related("other order made here", other_site),
        ),
        tensors=(target.tensor,),
        certainty=0.8,
    )


def _decided(
    history: History, meeting: Meeting, call: Call, kept: Axis
) -> RawSite | None:
    """Return where one was moved while the other was at hand: the caller of a helper.

    A helper that both go through moves each in its own way, and is not to blame.
    """
    tensors = history.behind([meeting.other], meeting.call.index)
    made = (history.producer(each, meeting.call.index) for each in tensors)
    codes = {each.site[0] for each in made if each is not None and each.site}
    others = {each.call.site for each in kept.moves}
    loader = loader_of(history, call) if call.op == "stack" else None
    if loader is not None:
        return site_of(history, loader)  # two loaders shuffle apart
    for site in call.frames:
        if site[0] in codes and site not in others:
            return site
    return call.site
