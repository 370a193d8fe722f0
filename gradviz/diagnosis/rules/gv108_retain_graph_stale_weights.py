"""GV108 retain-graph-stale-weights: a kept graph is walked again after a step.

What it does
    Finds a second backward pass through a graph that ``retain_graph=True`` kept, with
    an optimizer step in between that changed the weights the graph saved.

Why is this bad
    A graph belongs to the weights of its forward pass. After a step, its gradient would
    be that of the old weights; autograd refuses because they were overwritten.

Example
    loss = model(x).mean()
    for epoch in range(2):
        loss.backward(retain_graph=True)
        opt.step()

Use instead
    for epoch in range(2):
        loss = model(x).mean()
        loss.backward()
        opt.step()

When it stays quiet
    When the graph is walked twice without a step in between.

References
    PyTorch documentation: torch.Tensor.backward, ``retain_graph``.
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
"""

from __future__ import annotations

from gradviz.dependence.learning import joined
from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    version_words,
    weights_words,
    written_at,
)
from gradviz.diagnosis._words import place
from gradviz.diagnosis.edits.training import carried_names
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._carried import carried_at
from gradviz.diagnosis.rules._freed import (
    Crossing,
    built_at,
    crossing_into,
    made_again,
    reused_after,
)
from gradviz.diagnosis.rules._lifetime import is_one_of_several, loop_site, repeats
from gradviz.program import Backward, History, OptimizerCall, RawSite


def _message(history: History, found: Overwrite) -> str:
    built = built_at(history, found.node, found.backward)
    return (
        f"{place(history, found.backward.site)} needs "
        f"{weights_words(history, found)} as they were in {history.line(built)}, but "
        f"{place(history, found.site)} has changed them in between "
        f"{version_words(found)}. retain_graph=True keeps the graph, not the weights."
    )


def _fix(history: History, found: Overwrite) -> str:
    if (reused := _reused(history, found)) is not None:
        return (
            f"Run {place(history, reused.node.site)} again before this line, with the "
            "weights that the step leaves, and drop retain_graph=True."
        )
    if not _is_needed(history, found):
        return (
            f"Step after {history.line(found.backward.site)}, or `.detach()` what it "
            "takes from this graph, whose parameters that pass is not to train."
        )
    walked = _passes_before(history, found)
    looped = bool(walked) and repeats(walked[0], found.backward)
    if looped and is_one_of_several(history, walked[0], found.backward):
        return (
            f"Move {place(history, found.site)} behind the loop, so that backward() of "
            "every loss comes before the first step."
        )
    built = _built_once(history, found)
    if built is not None:
        return (
            f"Move {place(history, built)} into the loop, so that it runs again after "
            "each step, and drop retain_graph=True. If it is not to be trained, put "
            "it under `torch.no_grad()` instead."
        )
    if _is_carried(history, found):
        names = _carried(history, found)
        return (
            f"Detach {joined([f'`{each}`' for each in names]) or 'what is carried'} "
            "where one step ends, and drop retain_graph=True."
        )
    root = next(iter(found.backward.roots), None)
    loss = None if root is None else history.producer(root, found.backward.index)
    sites = built_at(history, found.node, found.backward), loss and loss.site
    lines = dict.fromkeys(history.line(each) for each in sites if each)
    return f"Run {' and '.join(lines)} again after {history.line(found.site)}."


def _is_carried(history: History, found: Overwrite) -> bool:
    """Tell whether the line that saved the weights ran again after the step."""
    step = found.step
    return step is not None and made_again(history, found.node, step, found.backward)


def _passes_before(history: History, found: Overwrite) -> list[Backward]:
    """Return the passes that walked the old graph before this one."""
    return [
        each
        for each in history.backwards
        if each.index < found.backward.index and found.node.key in each.nodes
    ]


def _carried(history: History, found: Overwrite) -> list[str]:
    """Return the names under which an old graph came into the pass."""
    walked = _passes_before(history, found)
    crossing = crossing_into(history, walked[-1], found.backward) if walked else None
    if crossing is None:
        return []
    kept = carried_at(history, crossing, found.backward)
    return carried_names(history, kept, crossing.bridge)


def _built_once(history: History, found: Overwrite) -> RawSite | None:
    """Return the line before a loop that built what its turns walk again."""
    walked = _passes_before(history, found)
    looped = bool(walked) and repeats(walked[0], found.backward)
    if not looped or made_again(history, found.node, walked[0], found.backward):
        return None
    maker = history.maker(found.node)
    site = None if maker is None else built_at(history, found.node, found.backward)
    return None if site == walked[0].site else site


def _reused(history: History, found: Overwrite) -> Crossing | None:
    """Return where what was computed after the step used what was computed before it.

    None where a loop carries it along, which is another mistake, and where the pass
    does not train what is behind it.
    """
    if found.step is None or not _is_needed(history, found):
        return None
    crossing = reused_after(history, found.step, found.backward, found.node)
    if crossing is None or crossing.bridge is None or crossing.node.site is None:
        return None
    again = made_again(history, crossing.node, found.step, found.backward)
    return None if again or _built_once(history, found) else crossing


def _is_needed(history: History, found: Overwrite) -> bool:
    """Tell whether the way to what a pass trains leads through the old graph.

    The pass is for the optimizer whose gradients were cleared for it.
    """
    cleared = [
        each
        for each in history.of(OptimizerCall)
        if each.what == "zero_grad"
        and found.step is not None
        and found.step.index < each.index < found.backward.index
    ]
    trained = history.program.optimizers.get(cleared[-1].optimizer) if cleared else None
    if trained is None:
        return True
    return not history.leaves_behind([found.node.key]).isdisjoint(trained.tensors)


def _culprit(history: History, found: Overwrite) -> RawSite | None:
    """Return the line that used an old result after the step; without one, the step."""
    reused = _reused(history, found)
    if reused is None or reused.bridge is None:
        return written_at(history, found)
    return loop_site(history, reused.bridge)


def _walked(history: History, found: Overwrite) -> Related:
    site = found.backward.site
    if _reused(history, found) is not None:
        return Related("weights changed here", found.site)
    return Related("walks the old graph", site)


RULE = overwrite_rule(
    "GV108",
    "retain-graph-stale-weights",
    "stale weights",
    _message,
    _fix,
    _walked,
    culprit=_culprit,
)
