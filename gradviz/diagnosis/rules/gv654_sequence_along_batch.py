"""A sequence layer takes the batch for time, and goes from sample to sample.

What it does
    Finds recurrent layers and attention that run along a dimension which the targets
    of a loss tell to be the samples: both were picked with one index, or what is left
    after one element of the other dimension was taken has a target for each.

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
    a set, time in an order of its own.

References
    https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import Axis, axes_in
from gradviz.dependence.axis_facts import Axes, Meeting, Scan
from gradviz.dependence.axis_walk import axes_of
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, ModuleCall, RawSite

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
    for meeting, call, reason in _taken(axes):
        scan = scans.get(call.index)
        site = _layer(history, call)
        if scan is None or site in told or not _several(scan):
            continue
        if scan.attends and _is_meant(axes, scan):
            continue
        told.add(site)
        yield _hit(history, meeting, scan, site, reason)


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


def _taken(axes: Axes) -> Iterator[tuple[Meeting, Call, str]]:
    """Yield the layers along whose time a loss has targets for samples, and why."""
    for meeting in filter(None, map(Meeting.with_target, axes.meetings)):
        for guess, target in meeting.pairs:
            for axis in axes_in(guess):
                found = _scanned(axis)
                if found is None or any(map(_scanned, axes_in(target))):
                    continue
                if any(map(axis.picked_with, axes_in(target))):
                    yield meeting, found, "index"
                elif any(e.how == "dropped" and e.call is found for e in axis.behind()):
                    yield meeting, found, "dropped"


def _scanned(axis: Axis) -> Call | None:
    """Return the last sequence layer that went along an axis."""
    return next((each.call for each in axis.behind() if each.how == "scanned"), None)


def _layer(history: History, call: Call) -> RawSite | None:
    """Return the line that made the layer, or called the function."""
    around = history.at(call.module)
    while isinstance(around, ModuleCall):
        module = history.program.modules.get(around.module)
        if module is not None and module.kind in _LAYERS:
            site = module.site or _copied(history, module.kind)
            if site is not None:
                return site
        around = history.at(around.parent)
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
    history: History, meeting: Meeting, scan: Scan, site: RawSite | None, reason: str
) -> Hit:
    call, loss = scan.call, meeting.call
    along = axes_in(scan.along)[0].size
    beside = axes_in(scan.beside)[0].size
    does = "compares the elements of" if scan.attends else "goes along"
    why = (
        "The index that picked them picked the targets, too"
        if reason == "index"
        else f"What is left of the other dimension, of {beside}, is one element"
    )
    said = "batch_first" in history.text(site)
    first = not scan.batch_first
    fix = (
        "Say `batch_first=True`, or give it `x.transpose(0, 1)`."
        if first
        else "Give it `x.transpose(0, 1)`, or leave `batch_first=True` out."
    )
    return Hit(
        f"`{history.text(call.site)}` ({history.line(call.site)}) {does} a dimension "
        f"of {along}, and these are the samples: `{loss.op}` "
        f"({history.line(loss.site)}) has one target for each of them. {why}. So what "
        "the layer says of a sample depends on the others in the batch.",
        site,
        fix,
        symptom=call.site,
        related=(
            Related("runs along the batch here", call.site),
            Related("one target per sample here", loss.site),
        ),
        edit=None
        if said and scan.attends
        else with_keyword(site, "batch_first", str(first), of=_LAYERS),
        certainty=0.85 if reason == "index" else 0.75,
    )
