"""A copy of a model gets its parameters, and never its running statistics.

What it does
    Finds batch norm layers of a copy that is kept up (a moving average, a target) whose
    parameters are written after passes, which are in evaluation mode, and whose running
    mean and variance have never seen a batch.

Why is this bad
    Running statistics are buffers: ``parameters()`` does not give them. The copy
    normalises with those it was made with, mean 0 and variance 1, and its results are
    far from the model's however close the weights are.

Example
    ::

        for slow, fast in zip(ema.parameters(), model.parameters()):
            slow.lerp_(fast, 0.01)

Use instead
    ::

        for slow, fast in zip(ema.state_dict().values(), model.state_dict().values()):
            slow.lerp_(fast, 0.01) if slow.is_floating_point() else slow.copy_(fast)

When it stays quiet
    The buffers are written as well, the copy was made of a trained model, or it runs in
    training mode itself.

References
    https://github.com/FlyreelAI/sesemi/issues/36
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Module, RawSite, TrainingSwitched
from gradviz.program.places import over_lines


@rule("GV680", "copy-without-buffers", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that keeps up the parameters alone."""
    copied = learning.copies(history) - learning.trained(history)
    told = set[RawSite | None]()
    for module in history.program.modules.values() if copied else ():
        own = set(module.parameters.values())
        if module.batches != 0 or module.training or not own or not own <= copied:
            continue
        kept = _kept_up(history, own)
        if kept is not None and kept.site not in told:
            told.add(kept.site)
            yield _hit(history, kept, module)


def _kept_up(history: History, own: set[int]) -> Call | None:
    """Return a call that writes a parameter of a layer after a pass."""
    first = history.backwards[0].index if history.backwards else 0
    seen = learning.last_seen(history)
    writes = history.writes(seen[min(own)].storage, after=first)
    return writes[-1][0] if len(writes) > 1 else None


def _hit(history: History, kept: Call, module: Module) -> Hit:
    site = _loop_of(history, kept.site) or kept.site
    name = f"`{module.name}`" if module.name else f"a {module.kind}"
    switched = [
        each
        for each in history.of(TrainingSwitched)
        if module.key in each.changed and not each.training
    ]
    return Hit(
        f"{history.line(kept.site).capitalize()} writes the parameters of a copy that "
        f"evaluates, and nothing writes the running mean and variance of {name} in it: "
        "it normalises with mean 0 and variance 1, as it was made.",
        site,
        "Copy the buffers, too: go through `state_dict()`, or zip `buffers()` beside "
        "`parameters()` and `copy_()` each.",
        symptom=switched[-1].site if switched else None,
        related=(Related("written here", kept.site if site != kept.site else None),),
        certainty=0.8,
    )


def _loop_of(history: History, site: RawSite | None) -> RawSite | None:
    """Return the head of the loop that goes through the parameters."""
    if site is None:
        return None
    file, line = site[0].co_filename, history.places.line(site)
    for each in over_lines(history.places.tree(file), line, line):
        if isinstance(each, ast.For) and "parameters()" in ast.unparse(each.iter):
            return history.places.at_line(site[0], each.lineno)
    return None
