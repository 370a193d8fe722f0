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

from gradviz.diagnosis._saved_writes import Overwrite, overwrite_rule, saved_words
from gradviz.diagnosis._words import place
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._freed import built_at, made_again
from gradviz.diagnosis.rules._lifetime import repeats
from gradviz.program import History, RawSite


def _message(history: History, found: Overwrite) -> str:
    return (
        f"{saved_words(history, found)}, and this graph was kept by retain_graph after "
        f"its first backward pass. {place(history, found.site)} then changed the "
        f"weights in place (now version {found.version_now}), so "
        f"{place(history, found.backward.site)} cannot walk the old graph again."
    )


def _fix(history: History, found: Overwrite) -> str:
    built = _built_once(history, found)
    if built is not None:
        return (
            f"Move {place(history, built)} into the loop, so that it runs again after "
            "each step, and drop retain_graph=True. If it is not to be trained, put "
            "it under `torch.no_grad()` instead."
        )
    return (
        "Run the forward pass again after each step and drop retain_graph=True. A "
        "state that is carried from step to step is to be detached: "
        "`state = state.detach()`."
    )


def _built_once(history: History, found: Overwrite) -> RawSite | None:
    """Return the line before a loop that built what its turns walk again."""
    walked = [
        each
        for each in history.backwards
        if each.index < found.backward.index and found.node.key in each.nodes
    ]
    looped = bool(walked) and repeats(walked[0], found.backward)
    if not looped or made_again(history, found.node, walked[0], found.backward):
        return None
    maker = history.maker(found.node)
    site = None if maker is None else built_at(history, found.node, found.backward)
    return None if site == walked[0].site else site


def _walked(history: History, found: Overwrite) -> Related:
    site = found.backward.site
    return Related("walks the old graph", site, "Run the forward pass again before it.")


RULE = overwrite_rule(
    "GV108", "retain-graph-stale-weights", "stale weights", _message, _fix, _walked
)
