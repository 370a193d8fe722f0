"""A view gives dimensions other names where their elements should have moved.

What it does
    Finds ``view`` and ``reshape`` that cut through a dimension and ask for its size at
    another place, as ``(batch, class, time)`` of a tensor that is ``(batch, time,
    class)``, where a layer or a loss then tells the dimensions apart.

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

from gradviz.dependence.axes import Axis
from gradviz.dependence.axis_views import Mix
from gradviz.dependence.axis_walk import axes_of
from gradviz.diagnosis.edits.shapes import permuted
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
        if _is_shift(mix) or not _is_known(mix):
            continue
        told.add(site)
        yield _hit(history, mix, axis)


def _is_shift(mix: Mix) -> bool:
    """Return whether rows were made longer to be shifted: relative positions."""
    makers = [axis.call for factor in mix.before for axis in factor.axes]
    padded = any(each is not None and each.op in ("pad", "cat") for each in makers)
    return padded and mix.is_sliced


def _is_known(mix: Mix) -> bool:
    """Return whether the run says what the dimensions are, or there is a batch beside.

    Numbers that were only counted, ``arange(6).view(2, 3)``, may be counted anew.
    """
    axes = [axis for factor in mix.before for axis in factor.axes]
    if all(axis.how == "given" for axis in axes):
        value = axes[0].root.value
        beside = value is not None and len(value.shape) > len(mix.before)
        return beside or any(each.op.startswith("conv") for each in mix.uses)
    return not any(axis.value is not None and axis.value.is_parameter for axis in axes)


def _hit(history: History, mix: Mix, axis: Axis) -> Hit:
    call, use = mix.call, mix.uses[0]
    before, after = call.inputs[0], call.outputs[0]
    made = axis.call if axis.how != "given" else None
    order = _order(before.shape, after.shape)
    numbers = ", ".join(map(str, order))
    fix = (
        f"Move the dimensions instead: `.permute({numbers})`."
        if order
        else f"{_moved(before.shape, after.shape)}, so that only neighbours are merged."
    )
    return Hit(
        f"`{history.text(call.site)}` makes {tuple(after.shape)} of "
        f"{tuple(before.shape)}, and a view does not swap dimensions: what "
        f"belonged to one of the {axis.size} is spread over several of them now. "
        f"`{use.op}` ({history.line(use.site)}) takes each for what it was before.",
        call.site,
        fix,
        symptom=use.site,
        related=(
            Related("taken for dimensions here", use.site),
            *([Related("dimension made here", made.site)] if made is not None else []),
        ),
        tensors=(before.tensor,),
        edit=permuted(call.site, order) if order else None,
        certainty=0.7 if mix.exact else 0.8,
    )


def _moved(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """Return what to write first where a view begins with another dimension's size."""
    wanted = after[0] if after else 0
    if before and before[0] != wanted and before.count(wanted) == 1:
        swap = f"`.transpose(0, {before.index(wanted)})`"
        return f"Write {swap} first, and `.reshape(…)` in place of the view"
    return "Move the dimensions with `.transpose(…)` first, and then `.reshape(…)`"


def _order(before: tuple[int, ...], after: tuple[int, ...]) -> list[int]:
    """Return where the dimensions were before; [] where sizes do not tell."""
    if sorted(before) != sorted(after) or len(set(before)) < len(before):
        kept = [
            i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a == b
        ]
        rest = [size for i, size in enumerate(before) if i not in kept]
        if sorted(before) != sorted(after) or len(set(rest)) < len(rest):
            return []
        return [
            i if i in kept else next(
                j for j, b in enumerate(before) if b == size and j not in kept
            )
            for i, size in enumerate(after)
        ]  # fmt: skip
    return [before.index(size) for size in after]
