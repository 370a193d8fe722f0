"""A tensor was made to require grad after the result was computed from it.

What it does
    Finds ``requires_grad_()`` or ``x.requires_grad = True`` on a tensor that the loss
    had already been computed from, where its gradient is then read as None or asked
    for.

Why is this bad
    The graph is recorded while operations run. Those that met the tensor before it
    required grad left no edge to it, and no later switch brings one.

Example
    ::

        loss = loss_fn(model(image), label)
        image.requires_grad_(True)
        loss.backward()
        image.grad.sign()

Use instead
    ::

        image.requires_grad_(True)
        loss = loss_fn(model(image), label)
        loss.backward()
        image.grad.sign()

When it stays quiet
    Where nobody asks for the gradient, and where the tensor was used after the switch.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.learning import last_seen
from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import gradient_reads
from gradviz.diagnosis.rules._lifetime import failed_backwards, name_of, none_ended_run
from gradviz.program import SWITCHES, Backward, Call, History, RawSite, Value


@rule("GV260", "requires-grad-too-late", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per switch that came after the graph."""
    told: set[int] = set()
    for value, backward, explains in _asked(history):
        switch = _switch(history, value)
        if switch is None or switch.index in told:
            continue
        before = min(backward.index, switch.index)
        if value.tensor not in history.behind(backward.roots, before=before):
            continue
        told.add(switch.index)
        name = name_of(history, value, "This tensor")
        yield Hit(
            f"{name} was made to require grad in {history.line(switch.site)}, after "
            f"the result of the backward pass in {history.line(backward.site)} had "
            "been computed from it: that graph has no edge to it, so it gets no "
            "gradient.",
            switch.site,
            f"Move this line up, before {name} is used.",
            symptom=backward.site,
            related=(Related("backward pass", backward.site),),
            tensors=(value.tensor,),
            explains=explains,
            edit=moved(switch.site, _first_use(history, value, switch), safe=True),
        )


def _first_use(history: History, value: Value, switch: Call) -> RawSite | None:
    """Return the line that first computed with a tensor."""
    uses = history.uses(value.tensor)
    return next((e.site for e in uses if e.outputs and e.index < switch.index), None)


def _asked(history: History) -> Iterator[tuple[Value, Backward, bool]]:
    """Yield leaves that were asked for a gradient, the pass, and whether it raised."""
    reads = gradient_reads(history)
    for call in reads:
        value = call.inputs[0]
        empty = call.result is None and not call.outputs
        if not (empty and value.is_leaf and value.requires_grad):
            continue
        passes = [each for each in history.backwards if each.index < call.index]
        if passes and value.tensor not in passes[-1].leaves:
            ended = call is reads[-1] and none_ended_run(history)
            yield value, passes[-1], ended
    for backward in failed_backwards(history, "not have been used in the graph"):
        for value in backward.inputs:
            if value.is_leaf:
                yield value, backward, history.ended_by(backward)
    for backward in failed_backwards(history, "does not require grad"):
        for value in last_seen(history).values():
            if value.is_leaf and value.requires_grad:
                yield value, backward, history.ended_by(backward)


def _switch(history: History, value: Value) -> Call | None:
    """Return the call that made a used tensor require grad."""
    for call in history.uses(value.tensor):
        if call.op in SWITCHES and not call.error:
            return None if call.inputs[0].requires_grad else call
    return None
