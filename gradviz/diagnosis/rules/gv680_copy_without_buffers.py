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
from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Module, RawSite, TrainingSwitched

_NAMES = 3  # that are told


@rule("GV680", "copy-without-buffers", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that keeps up the parameters alone."""
    copied = learning.copies(history) - learning.trained(history)
    found = defaultdict[RawSite | None, list[tuple[Call, Module]]](list)
    for module in history.program.modules.values() if copied else ():
        own = set(module.parameters.values())
        if module.batches != 0 or module.training or not own or not own <= copied:
            continue
        kept = _kept_up(history, own)
        if kept is not None:
            found[kept.site].append((kept, module))
    for rows in found.values():
        yield _hit(history, rows[0][0], [module for _, module in rows])


def _kept_up(history: History, own: set[int]) -> Call | None:
    """Return a call that writes a parameter of a layer after a pass."""
    first = history.backwards[0].index if history.backwards else 0
    seen = learning.last_seen(history)
    writes = history.writes(seen[min(own)].storage, after=first)
    return writes[-1][0] if len(writes) > 1 else None


def _hit(history: History, kept: Call, layers: list[Module]) -> Hit:
    loop = _loop_of(history, kept.site)
    site = loop or kept.site
    names = [f"`{each.name}`" if each.name else f"a {each.kind}" for each in layers]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    switched = [
        each
        for each in history.of(TrainingSwitched)
        if layers[0].key in each.changed and not each.training
    ]
    return Hit(
        f"The running mean and variance of {', '.join(names[:_NAMES])}{more} are "
        f"never copied, because {_why(history, kept.site)}. In eval mode the copy "
        "still normalises with the initial mean 0 and variance 1.",
        site,
        _fix(history, kept, loop),
        symptom=switched[-1].site if switched else None,
        related=(
            Related("parameters copied here", kept.site if site != kept.site else None),
        ),
        certainty=0.8,
    )


def _loading(history: History, site: RawSite | None) -> str:
    """Return the model whose ``named_parameters()`` a line loads as a state; or ""."""
    statement = history.places.statement(site)
    for each in ast.walk(statement) if statement else ():
        match each:
            case ast.Call(func=ast.Attribute(model, "named_parameters")):
                if "load_state_dict(" in ast.unparse(statement or model):
                    return ast.unparse(model)
            case _:
                pass
    return ""


def _why(history: History, site: RawSite | None) -> str:
    """Tell why a line leaves the buffers out."""
    line = history.line(site)
    if _loading(history, site):
        return (
            f"`named_parameters()` in {line} has no buffers and `strict=False` hides "
            "that they are missing"
        )
    return f"{line} copies parameters only, and they are buffers"


def _fix(history: History, kept: Call, loop: RawSite | None) -> str:
    """Return how to copy the buffers, too."""
    model = _loading(history, kept.site)
    if model:
        return f"Load `{model}.state_dict()` in {history.line(kept.site)}."
    return (
        f"Copy the buffers too, in a second loop{_headed(history, loop)}, with "
        "`copy_()`. Do not average them: `num_batches_tracked` is an integer."
    )


def _headed(history: History, loop: RawSite | None) -> str:
    """Return what such a loop goes through, after the one of the parameters."""
    head = history.places.statement(loop)
    if not isinstance(head, ast.For):
        return ""
    return f" over `{ast.unparse(head.iter).replace('parameters()', 'buffers()')}`"


def _loop_of(history: History, site: RawSite | None) -> RawSite | None:
    """Return the head of the loop that goes through the parameters."""
    for each in history.places.around(site):
        if isinstance(each, ast.For) and "parameters()" in ast.unparse(each.iter):
            return site and history.places.at_line(site[0], each.lineno)
    return None
