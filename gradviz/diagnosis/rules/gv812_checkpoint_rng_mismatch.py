"""GV812: a checkpointed function computes something else when it runs again.

What it does
    Compares the calls of each checkpointed function with those of its second run, in
    the backward pass, and finds the first that differs. Where the function, or one that
    it calls, draws from a generator of Python or NumPy, that line is to blame.
Why is this bad
    The gradient belongs to the second run and the loss to the first. PyTorch compares
    shapes and dtypes only, so another dropout mask passes without an error.
Example
    ``checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)`` with dropout
Use instead
    ``preserve_rng_state=True``, the default; noise from PyTorch's default generator, or
    drawn outside and handed in.
When it stays quiet
    Both runs compute the same, as with the default settings.
References
    pytorch/pytorch#141896; the documentation of ``torch.utils.checkpoint``.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from gradviz.dependence.alike import same_numbers
from gradviz.dependence.draws import draws
from gradviz.dependence.nesting import within
from gradviz.diagnosis.edits.calls import without_keyword
from gradviz.diagnosis.random_draws import foreign_draw, function_of_call
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value


@rule("GV812", "checkpoint-rng-mismatch", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the checkpoints whose two runs differ."""
    inside = within(history)
    for call in history.calls:
        if call.op != "checkpoint":
            continue
        runs = inside.get(call.index, [])
        first = [each for each in runs if each.op != "recompute"]
        # A reentrant first run has no graph: of a step in brief, it may lack calls.
        if not (any(e.nodes for e in first) or history.is_told_in_full(call.index)):
            continue
        for again in (each for each in runs if each.op == "recompute"):
            second = inside.get(again.index, [])
            both = (call, first), (again, second)
            pair = _difference(call, *_comparable(history, *both))
            if pair is not None:
                known = {(each.op, each.site) for each in first}
                new = (pair[1].op, pair[1].site) not in known
                yield _hit(history, call, again, *pair, new)
                break
    yield from _own(history)


def _comparable(
    history: History, *runs: tuple[Call, list[Call]]
) -> Iterator[list[Call]]:
    """Yield the calls of both runs without those that a library makes beside the graph.

    Each comes with the call that it is the run of: a library's have its line.

    FSDP gathers the parameters of a module in the first run, or before the second. Of a
    step that was looked at in brief, none beside the graph are sure to be there.
    """
    all_made = all(any(call.nodes for call in run) for _, run in runs)
    whole = history.is_told_in_full(runs[0][0].index)
    for outer, run in runs:
        yield [
            call
            for call in run
            if not all_made
            or call.nodes
            or (whole and call.site != outer.site)
            or draws(call)
        ]


def _difference(
    outer: Call, first: list[Call], second: list[Call]
) -> tuple[Call, Call] | None:
    """Return the first two calls of both runs that differ.

    Calls of a library's module have the line of who called it, another in each run.
    """
    for before, after in zip(first, second, strict=False):
        elsewhere = before.site != after.site and before.site != outer.site
        if before.op != after.op or elsewhere:
            return before, after
        if draws(before) and outer.keywords.get("preserve_rng_state") is False:
            return before, after  # the second run may stop here, without a result
        for old, new in zip(before.outputs, after.outputs, strict=False):
            if not _alike(old, new):
                return before, after
    return None


def _alike(old: Value, new: Value) -> bool:
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        return False
    first, second = old.summary, new.summary
    if first is None or second is None:
        return True
    # What is part of a graph may be looked at another way, which rounds otherwise.
    return same_numbers(first, second)


def _hit(
    history: History, call: Call, again: Call, before: Call, after: Call, new: bool
) -> Hit:
    site, line, why, fix = _blame(history, call, before)
    if new and site == before.site:
        site, why = after.site, "The first run did not do that."
    failed = [
        event
        for event in history.backwards
        if event.error is not None and "CheckpointError" in event.error
    ]
    effect = (
        "checkpoint raises an error"
        if failed
        else "the gradient does not belong to the loss"
    )
    differs = (
        f"{history.quoted(after.site)} runs in place of {history.quoted(before.site)}"
        if before.site != after.site
        else f"{history.quoted(before.site)} gives other results"
    )
    return Hit(
        f"The backward pass runs the function checkpointed in "
        f"{history.line(call.site)} again and computes something else, so {effect}: in "
        f"the second run {differs}. {why}",
        culprit=site,
        line=line,
        fix=fix,
        symptom=again.site,
        related=(
            Related("checkpointed here", call.site),
            Related("second run differs here", before.site),
            Related("run again here", again.site),
        ),
        edit=without_keyword(call.site, "preserve_rng_state"),
        explains=bool(failed),
        certainty=0.9,
    )


def _own(history: History) -> Iterator[Hit]:
    """Yield the Functions of the user whose backward runs a random forward again."""
    functions = {each.name: each for each in history.program.functions}
    for applied in history.calls:
        custom = functions.get(applied.op)
        if custom is None:
            continue
        for draw in filter(draws, within(history).get(applied.index, [])):
            again = _again(history, custom.backward, draw)
            if again is None:
                continue
            yield Hit(
                f"The gradient does not belong to the loss: `{custom.name}.backward` "
                f"runs the forward pass again ({history.line(again)}), and "
                f"{history.quoted(draw.site)} draws other random numbers then.",
                culprit=again,
                fix="Keep torch.get_rng_state() in forward and restore it around the "
                "second run, or use torch.utils.checkpoint.",
                symptom=applied.site,
                related=(Related("random numbers drawn here", draw.site),),
            )
            return


def _again(history: History, backward: CodeType | None, draw: Call) -> RawSite | None:
    """Return the line of a backward that made a draw once more, with other results."""
    for call in history.calls:
        if call.index <= draw.index or (call.op, call.site) != (draw.op, draw.site):
            continue
        frames = [each for each in call.stack if each[0] is backward]
        alike = all(map(_alike, draw.outputs, call.outputs))
        if frames and not alike:
            return frames[0]
    return None


_DRAW = (
    "Draw from PyTorch's default generator (`torch.rand`) in the function, or draw "
    "before the checkpoint and pass the numbers in."
)
_RESTORED = "Remove `preserve_rng_state=False`."
_SAME = (
    "Let the function do the same in both runs: pass in as an argument what it reads "
    "from a counter, a list or an attribute that changes."
)


def _blame(
    history: History, call: Call, before: Call
) -> tuple[RawSite | None, int | None, str, str]:
    """Return the place to change, why, and what to write instead."""
    if draws(before) and call.keywords.get("preserve_rng_state") is False:
        why = "`preserve_rng_state=False` does not restore the random generator."
        return call.site, None, why, _RESTORED
    if draws(before):
        why = "This draw uses a generator whose state checkpoint does not restore."
        return before.site, None, why, _DRAW
    frames = before.frames
    outer = frames.index(call.site) if call.site in frames else 1
    inside = dict.fromkeys(each[0] for each in frames[:outer])
    for code in (*inside, function_of_call(call)):
        site, line = foreign_draw(history, code)
        if site is None:
            continue
        why = f"Line {line} draws from a generator of Python or NumPy, which checkpoint"
        return site, line, f"{why} does not restore.", _DRAW
    why = "The function depends on something that changed between the two runs."
    return before.site, None, why, _SAME
