"""A sequence layer takes the batch for time, and goes from sample to sample.

What it does
    Finds recurrent layers and attention that run along the dimension of the samples: a
    ``DataLoader`` put them side by side, or the targets of a loss tell it. Both were
    picked with one index, or what is left after one element of the other dimension was
    taken has a target for each.

Why is this bad
    ``nn.LSTM`` and its like want ``(time, batch, features)`` unless
    ``batch_first=True`` is said. The state of one sample goes on into the next, and
    what stands for the last step is the last sample's. Nothing fails: every shape fits.

Example
    ::

        self.lstm = nn.LSTM(3, 8)
        out, _ = self.lstm(x)  # x: (batch, time, 3)
        return self.head(out[:, -1])

Use instead
    ::

        self.lstm = nn.LSTM(3, 8, batch_first=True)

When it stays quiet
    Targets for each step of a sequence, a batch of one, attention among the elements of
    a set, time in an order of its own, an index that picked rows and steps at once.

References
    https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import Axis, axes_in
from gradviz.dependence.axis_facts import Axes, Meeting, Scan
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.nesting import modules_around
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_LAYERS = (
    "LSTM",
    "GRU",
    "RNN",
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "Transformer",
)


@rule("GV654", "sequence-along-batch", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per layer that does so."""
    axes = history.once(axes_of)
    scans = {scan.call.index: scan for scan in axes.scans}
    told = set[RawSite | None]()
    for call, loss, reason in (*_taken(axes), *_loaded(axes)):
        scan = scans.get(call.index)
        site = _layer(history, call)
        if scan is None or site in told or not _several(scan):
            continue
        if scan.attends and _is_meant(axes, scan):
            continue
        told.add(site)
        yield _hit(history, loss, scan, site, reason)


def _several(scan: Scan) -> bool:
    return all(
        any(axis.size > 1 for axis in axes_in(dim))
        for dim in (scan.along, scan.beside)
    )  # fmt: skip


def _is_meant(axes: Axes, scan: Scan) -> bool:
    """Tell whether other attention of the run goes along what this takes for a batch.

    Then one goes along rows and the other along columns, samples among them.
    """
    beside = {id(axis.root) for axis in axes_in(scan.beside)}
    return any(
        id(axis.root) in beside
        for each in axes.scans
        if each.attends
        for axis in axes_in(each.along)
    )


def _loaded(axes: Axes) -> Iterator[tuple[Call, Call | None, str]]:
    """Yield the layers whose time is what a loader put side by side."""
    for scan in axes.scans:
        along, beside = axes_in(scan.along), axes_in(scan.beside)
        if any(map(axes.of_samples, along)) and not any(map(axes.of_samples, beside)):
            yield scan.call, None, "loader"


def _taken(axes: Axes) -> Iterator[tuple[Call, Call | None, str]]:
    """Yield the layers along whose time a loss has targets for samples, and why."""
    for meeting in filter(None, map(Meeting.with_target, axes.meetings)):
        for guess, target in meeting.pairs:
            for axis in axes_in(guess):
                found = _scanned(axis)
                if found is None or any(map(_scanned, axes_in(target))):
                    continue
                if any(map(axis.picked_with, axes_in(target))):
                    if not _picked_both(axes, found, axis):
                        yield found, meeting.call, "index"
                elif any(e.how == "dropped" and e.call is found for e in axis.behind()):
                    yield found, meeting.call, "dropped"


def _picked_both(axes: Axes, call: Call, axis: Axis) -> bool:
    """Tell whether one index chose what a layer goes along, and what it takes for rows.

    Of an index with a row for each sample nothing says which dimension are samples.
    """
    chosen = {each.call.index for each in axis.moves}
    return any(
        move.call.index in chosen
        for scan in axes.scans
        if scan.call is call
        for each in axes_in(scan.beside)
        for move in each.moves
    )


def _scanned(axis: Axis) -> Call | None:
    """Return the last sequence layer that went along an axis."""
    return next((each.call for each in axis.behind() if each.how == "scanned"), None)


def _layer(history: History, call: Call) -> RawSite | None:
    """Return the line that made the layer, or called the function."""
    for around in modules_around(history, call.module):
        module = history.program.modules.get(around.module)
        if module is not None and module.kind in _LAYERS:
            site = module.site or _copied(history, module.kind)
            if site is not None:
                return site
    return call.site


def _copied(history: History, kind: str) -> RawSite | None:
    """Return where the layer was made that others, made by no line, are copies of."""
    unused = [
        each.site
        for each in history.program.modules.values()
        if each.kind == kind and not each.calls and each.site is not None
    ]
    return unused[0] if len(unused) == 1 else None


def _hit(
    history: History, loss: Call | None, scan: Scan, site: RawSite | None, reason: str
) -> Hit:
    call = scan.call
    along = axes_in(scan.along)[0].size
    does = "compares the elements of" if scan.attends else "goes along"
    is_fixed = "batch_first" in history.text(site) and scan.attends
    first = not scan.batch_first
    fix = "Say `batch_first=True`." if first else "Leave `batch_first=True` out."
    if is_fixed or not any(each in history.text(site) for each in _LAYERS):
        fix = "Give it its input transposed: `.transpose(0, 1)`."
    return Hit(
        f"{history.quoted(call.site)} {does} a dimension of {along}, and these are the "
        f"samples: {_why(history, loss, scan, reason)} So what the layer says of a "
        "sample depends on the others in the batch.",
        site,
        fix,
        symptom=call.site,
        related=(
            Related("runs along the batch here", call.site),
            Related("one target per sample here", loss.site if loss else None),
        ),
        edit=None
        if is_fixed
        else with_keyword(site, "batch_first", str(first), of=_LAYERS),
        certainty=0.75 if reason == "dropped" else 0.85,
    )


def _why(history: History, loss: Call | None, scan: Scan, reason: str) -> str:
    if loss is None:
        return "the `DataLoader` put them side by side there."
    targets = (
        f"`{loss.op}` ({history.line(loss.site)}) has one target for each of them."
    )
    if reason == "index":
        return f"{targets} The index that picked them picked the targets, too."
    beside = axes_in(scan.beside)[0].size
    return (
        f"{targets} What is left of the other dimension, of {beside}, is one element."
    )
