"""A loss lines the steps of one tensor up with the samples of another.

What it does
    Finds a loss or a difference whose operands have the same two dimensions in another
    order, told by the index that picked their samples or by the data they come from;
    flattened ones too, as ``(time * batch)`` against ``(batch * time)``, told by the
    sizes as well.

Why is this bad
    The sizes agree, always after ``view(-1)``, so nothing fails. The prediction for one
    step of one sample is compared with the target of another.

Example
    ::

        logits = head(out).view(-1, classes)  # out: (time, batch, features)
        loss = F.cross_entropy(logits, targets.view(-1))  # targets: (batch, time)

Use instead
    ::

        loss = F.cross_entropy(logits, targets.t().reshape(-1))

When it stays quiet
    Where nothing in the run says which dimension is which, and tables of pairs that are
    compared with their own transpose.

References
    https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gradviz.dependence.axes import Axis, Dim, Factor, only
from gradviz.dependence.axis_facts import Meeting
from gradviz.dependence.axis_indexing import before_pick
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.op_families import CONSTANTS, plain
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite


@rule("GV656", "axes-crossed", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that compares so."""
    told = set[RawSite | None]()
    for meeting in history.once(axes_of).meetings:
        if meeting.call.site in told:
            continue
        found = _crossed(meeting)
        if found is not None:
            told.add(meeting.call.site)
            yield _hit(history, meeting, *found)


def _crossed(meeting: Meeting) -> tuple[Factor, Factor] | None:
    """Return two factors that stand in one order here, in the other there."""
    if meeting.one.requires_grad and meeting.other.requires_grad:
        return None
    pairs = [before_pick(*pair) for pair in meeting.pairs]
    one = [factor for dim, _ in pairs for factor in dim]
    other = [factor for _, dim in pairs for factor in dim]
    if len(one) != len(other) or sorted(e.size for e in one) != sorted(
        e.size for e in other
    ):
        return None
    for i, j in combinations(range(len(one)), 2):
        if (one[i].size, one[j].size) != (other[j].size, other[i].size):
            continue
        across = _match(one[i], other[j]) + _match(one[j], other[i])
        if across and not _match(one[i], other[i]) + _match(one[j], other[j]):
            return one[i], one[j]
    return next(filter(None, map(_crossed_by_size, *zip(*pairs, strict=True))), None)


def _crossed_by_size(one: Dim, other: Dim) -> tuple[Factor, Factor] | None:
    """Return two factors of data of different sizes that were merged the other way."""
    sizes = [each.size for each in one]
    facing = [each.size for each in other]
    if sizes == facing or sorted(sizes) != sorted(facing):
        return None
    if not all(map(_is_data, (*one, *other))):
        return None
    i = next(i for i, size in enumerate(sizes) if size != facing[i])
    return one[i], one[sizes.index(facing[i], i)]


def _turned(history: History, meeting: Meeting) -> Call | None:
    """Return what flattened one of two that the index of both is not in the order of.

    That one is to change, and not the other: it would no longer fit to the index.
    """
    for pair in meeting.pairs:
        made = [each.root for dim in pair for each in only(dim)[:1]]
        picks = [each.call for each in made if each.merged and each.call is not None]
        if len(picks) < 2:
            continue
        index = history.once(axes_of).of(picks[0].inputs[-1])
        order = [factor.size for dim in index for factor in dim]
        sizes = [[factor.size for factor in each.merged] for each in made]
        odd = [pick for pick, own in zip(picks, sizes, strict=True) if own != order]
        if len(odd) == 1:
            return history.producer(odd[0].inputs[0], odd[0].index)
    return None


def _is_data(factor: Factor) -> bool:
    """Tell whether something came in that a factor runs over, and was not cut."""
    return any(
        axis.root.how == "given"
        and (axis.root.call is None or plain(axis.root.call.op) not in CONSTANTS)
        and all(each.how != "part" for each in axis.behind())
        for axis in factor.axes
    )


def _match(one: Factor, other: Factor) -> bool:
    """Tell whether two factors run over the same elements, for all that is known."""
    return any(_is_one(a, b) for a in one.axes for b in other.axes)


def _is_one(one: Axis, other: Axis) -> bool:
    given = one.root is other.root and one.root.how == "given"
    return given or one.picked_with(other)


def _hit(history: History, meeting: Meeting, first: Factor, second: Factor) -> Hit:
    call, target = meeting.call, (meeting.with_target() or meeting).other
    maker = history.producer(target, before=call.index)
    merged = any(len(dim) > 1 for dim, _ in meeting.pairs)
    how = (
        ", and both were flattened, so that their sizes agree"
        if merged
        else ", which are of one size"
        if first.size == second.size
        else ""
    )
    turned = _turned(history, meeting)
    return Hit(
        f"`{history.text(call.site)}` compares tensors whose dimensions of "
        f"{first.size} and {second.size} stand in opposite orders{how}: what is "
        "predicted for one sample and step meets the target of another.",
        turned.site if turned else call.site,
        "Transpose it before it is flattened here: the other one, and the index that "
        "picks from both, are in the other order."
        if turned
        else "Bring both into one order first: `.transpose(0, 1)` of one of them, "
        "before it is flattened.",
        symptom=call.site,
        related=(Related("target made here", maker.site if maker else None),),
        tensors=(target.tensor,),
        certainty=0.85,
    )
