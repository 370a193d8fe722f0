"""A frozen parameter keeps its last gradient, and the optimizer goes on stepping it.

What it does
    Finds parameters that were frozen after they had learnt, whose ``.grad`` is still
    there, in the steps of an optimizer that moves them with it: with a gradient that is
    not zero, or with the momentum of Adam and its like.

Why is this bad
    ``requires_grad = False`` stops autograd, not the optimizer, which skips only what
    has no ``.grad``. What was to stay as it is moves, by old gradients, by momentum and
    by weight decay.

Example
    ::

        optimizer.zero_grad(set_to_none=False)
        for p in model.fc1.parameters():
            p.requires_grad = False

Use instead
    ::

        for p in model.fc1.parameters():
            p.requires_grad = False
            p.grad = None

When it stays quiet
    The gradient is None, or zero and the optimizer keeps no momentum; a single step.

References
    https://discuss.pytorch.org/t/153740
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, OptimizerCall, RawSite

_LEAST = 2  # steps
_WITH_MOMENTUM = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")


@rule("GV682", "frozen-parameter-moves", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that freezes such parameters."""
    moved: dict[tuple[RawSite | None, int], list[OptimizerCall]] = {}
    switched: dict[int, list[Call]] = {}
    learns = learning.trained(history)
    for step in learning.steps(history):
        row = history.program.optimizers.get(step.optimizer)
        goes_on = row is not None and row.kind in _WITH_MOMENTUM
        for state in step.states:
            kept = state.has_grad and not state.requires_grad
            if not kept or not (state.zero is False or goes_on):
                continue
            if state.tensor not in learns:
                continue
            if state.tensor not in switched:
                switched[state.tensor] = learning.switches(history, state.tensor)
            switch = _last_before(switched[state.tensor], step)
            if switch is not None:
                moved.setdefault((switch.site, state.tensor), []).append(step)
    lines: dict[RawSite | None, set[int]] = {}
    for (site, tensor), found in moved.items():
        if len(found) >= _LEAST:
            lines.setdefault(site, set()).add(tensor)
    for site, tensors in lines.items():
        yield _hit(history, site, tensors, moved[site, min(tensors)])


def _last_before(calls: list[Call], step: OptimizerCall) -> Call | None:
    """Return who froze a parameter, as it was in a step."""
    place = bisect_left(calls, step.index, key=lambda call: call.index)
    return calls[place - 1] if place else None


def _hit(
    history: History,
    site: RawSite | None,
    tensors: set[int],
    found: list[OptimizerCall],
) -> Hit:
    step = found[0]
    return Hit(
        f"{history.line(site)} freezes "
        f"{learning.listed(history, tensors)}, and the gradient of before is still in "
        f"`.grad`: {len(found)} steps of {history.line(step.site)} moved what was to "
        "stay as it is.",
        site,
        "Set `.grad = None` where you freeze, or let `zero_grad()` do it, which sets "
        "gradients to None unless `set_to_none=False` is given.",
        symptom=step.site,
        related=(Related("moved here", step.site),),
        tensors=tuple(sorted(tensors)),
        certainty=0.8,
    )
