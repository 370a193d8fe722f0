"""A view gives dimensions other names where their elements should have moved.

What it does
    Finds ``view`` and ``reshape`` that cut through a dimension and ask for its size at
    another place, as ``(batch, class, time)`` of a tensor that is ``(batch, time,
    class)``, or ``(-1, class)`` of ``(batch, class, time)``, where a layer or a loss
    then tells the dimensions apart.

Why is this bad
    A view only counts the elements anew, in the order in which they lie. Every row of
    the result holds elements of several positions and several classes. Nothing fails,
    the loss falls a little, and the model learns from noise.

Example
    ::

        scores = self.out(hidden)  # (batch, time, classes)
        loss = F.cross_entropy(scores.view(batch, classes, time), targets)

Use instead
    ::

        loss = F.cross_entropy(scores.transpose(1, 2), targets)

When it stays quiet
    Views that merge neighbouring dimensions or take one apart, those that a later view
    takes back, padding that is shifted by a view, and results that nothing tells the
    dimensions of apart.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.view.html
    https://pytorch.org/docs/stable/generated/torch.permute.html
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.dependence.axes import Axis, only
from gradviz.dependence.axis_views import Mix
from gradviz.dependence.axis_walk import axes_of
from gradviz.diagnosis.edits.shapes import moved_first, permuted
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite


@rule("GV653", "view-mixes-axes", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that views so."""
    told = set[RawSite | None]()
    for mix in history.once(axes_of).mixes:
        axis, site = mix.swapped, mix.call.site
        if axis is None or mix.undone or not mix.uses or site in told:
            continue
        if _is_shift(mix) or _is_grouped(mix) or not _is_known(mix):
            continue
        told.add(site)
        yield _hit(history, mix, axis)


def _is_shift(mix: Mix) -> bool:
    """Return whether rows were made longer to be shifted: relative positions."""
    makers = [axis.call for factor in mix.before for axis in factor.axes]
    padded = any(each is not None and each.op in ("pad", "cat") for each in makers)
    return padded and mix.is_sliced


def _is_grouped(mix: Mix) -> bool:
    """Return whether features are taken apart, by chance in as many as are samples.

    ``view(-1, 4)`` of ``(4, 8)``: two choices of each of four samples. Features are in
    the last dimension.
    """
    samples_and_features = len(mix.before) == 2 == len(mix.after)
    last, size = mix.before[-1].axes[0], mix.before[-1].size
    is_last = mix.call.inputs[0].shape[-1] == size
    return mix.exact and samples_and_features and is_last and last.how == "made"


def _is_known(mix: Mix) -> bool:
    """Return whether the run says what the dimensions are, or there is a batch beside.

    Numbers that were only counted, ``arange(6).view(2, 3)``, may be counted anew.
    """
    axes = [axis for factor in mix.before for axis in factor.axes]
    if all(axis.how == "given" for axis in axes):
        value = axes[0].root.value
        beside = value is not None and len(value.shape) > len(mix.before)
        return beside or any(each.op.startswith("conv") for each in mix.uses)
    return not any(all(map(_is_learnt, factor.axes)) for factor in mix.before)


def _is_learnt(axis: Axis) -> bool:
    """Tell whether it is a dimension of a table of weights, which no data has met."""
    return axis.value is not None and axis.value.is_parameter


def _hit(history: History, mix: Mix, axis: Axis) -> Hit:
    call, use = mix.call, mix.uses[0]
    before, after = call.inputs[0], call.outputs[0]
    made = axis.call if axis.how != "given" else None
    order = _order(before.shape, after.shape)
    moved = order or _moved(history, mix, axis)
    numbers = ", ".join(map(str, moved))
    again = "" if call.op == "reshape" else ", and `.reshape` for `.view`"
    fix = (
        f"Move the dimensions instead: `.permute({numbers})`."
        if order
        else f"Move the dimensions first: `.permute({numbers})` before it{again}."
        if moved
        else "Move the dimensions with `.transpose(…)` first, and then `.reshape(…)`."
    )
    return Hit(
        f"`{use.op}` ({history.line(use.site)}) reads mixed-up values, because "
        f"`{history.text(call.site)}` turns {tuple(before.shape)} into "
        f"{tuple(after.shape)} and a view does not swap dimensions: "
        f"{_held(mix, axis)}.",
        call.site,
        fix,
        symptom=use.site,
        related=(
            Related("mixed-up values used here", use.site),
            Related("dimension comes from here", made.site if made else None),
        ),
        tensors=(before.tensor,),
        edit=permuted(call.site, order)
        if order
        else moved_first(call.site, moved)
        if moved
        else None,
        certainty=0.7 if mix.exact else 0.8,
    )


def _held(mix: Mix, axis: Axis) -> str:
    """Say what is in the dimension whose size was asked for."""
    if mix.merged:
        return (
            f"a row of {axis.size} holds {axis.size} neighbours along the last "
            f"dimension, not the {axis.size} values of one place"
        )
    return (
        f"the values of one of the {axis.size} entries are spread over several entries"
    )


def _moved(history: History, mix: Mix, axis: Axis) -> list[int]:
    """Return the order in which one dimension is where the view asks for it.

    So that the view behind it only merges neighbours or takes one apart; [] where it
    is not known which dimension it is.
    """
    call = mix.call
    before, after = call.inputs[0].shape, call.outputs[0].shape
    dims = history.once(axes_of).of(call.inputs[0])
    places = [place for place, dim in enumerate(dims) if axis in only(dim)]
    asked = [place for place, size in enumerate(after) if size == axis.size]
    if len(places) != 1 or len(asked) != 1:
        return []
    rest = [place for place in range(len(before)) if place != places[0]]
    for to in range(len(rest) + 1):
        ahead = prod(before[place] for place in rest[:to])
        if ahead == prod(after[: asked[0]]):
            return [*rest[:to], places[0], *rest[to:]]
    return []


def _order(before: tuple[int, ...], after: tuple[int, ...]) -> list[int]:
    """Return where the dimensions were before; [] where sizes do not tell."""
    if sorted(before) != sorted(after):
        return []
    kept = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a == b]
    rest = {size: i for i, size in enumerate(before) if i not in kept}
    if len(kept) + len(rest) < len(before):
        return []
    return [i if i in kept else rest[size] for i, size in enumerate(after)]
