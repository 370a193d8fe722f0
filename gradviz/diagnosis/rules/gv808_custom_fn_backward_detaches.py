"""GV808: a custom backward cuts the graph that a second derivative needs.

What it does
    Finds ``detach``, ``.data``, ``item``, ``numpy`` and ``no_grad`` inside a
    ``backward`` that ran under ``create_graph=True``, and saved copies that
    ``forward`` detached.
Why is this bad
    The first derivative is right; the second misses the detached part, without a word.
Example
    ``(x,) = ctx.saved_tensors; return 2 * x.detach() * g``
Use instead
    ``return 2 * x * g``
When it stays quiet
    No second derivative is taken, or what is detached needs no gradient.
References
    pytorch/pytorch#18945; the notes on double backward of custom Functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.nesting import by_function
from gradviz.diagnosis.custom_functions import second_pass, twice_differentiated
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.statements import unblocked
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import (
    Backward,
    Call,
    CustomFunction,
    Event,
    History,
    ModeSwitched,
    Node,
)

_CUTS = ("detach", "detach_", "data.get", "item", "tolist", "numpy", "__array__")


@rule("GV808", "custom-fn-backward-detaches", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the cuts inside backward functions that were differentiated."""
    for first, node, custom in twice_differentiated(history):
        if custom.once_differentiable:
            continue
        second = second_pass(history, first)
        cuts = [*_in_backward(history, first, custom), *_saved(history, node, custom)]
        if not cuts:
            continue
        cut = cuts[0]
        failed = second is not None and second.error is not None
        where = f"of {history.line(second.site)} " if second is not None else ""
        yield Hit(
            f"{history.quoted(cut.site)} cuts the graph inside {custom.name}: the "
            f"gradient that {history.line(first.site)} took with create_graph=True "
            f"lacks this part, so a second derivative {where}is missing or wrong.",
            culprit=cut.site,
            fix="Compute the gradient from `ctx.saved_tensors` with differentiable "
            "ops, without `detach()`, `.data`, `item()` or `no_grad()`.",
            symptom=(second or first).site,
            related=(
                Related("applied here", node.site),
                Related("first derivative", first.site),
            ),
            nodes=(node.key,),
            severity="error" if failed else None,
            edit=first_of(
                without_method(cut.site, ("detach", "data", "item")),
                unblocked(cut.site),
            ),
            explains=failed,
        )


def _in_backward(
    history: History, first: Backward, custom: CustomFunction
) -> Iterator[Event]:
    for event in history.events:
        if event.site is None or event.site[0] is not custom.backward:
            continue
        if event.index < first.index:
            continue
        if isinstance(event, ModeSwitched):
            if not event.enabled and not event.leaving:
                yield event
        elif (
            isinstance(event, Call)
            and event.op in _CUTS
            and any(value.requires_grad for value in event.inputs)
        ):
            yield event


def _saved(history: History, node: Node, custom: CustomFunction) -> Iterator[Event]:
    """Yield the calls of forward that detached what the node then saved."""
    saved = {each.value.tensor for each in node.saved}
    saved |= {each.value.tensor for each in custom.attributes}
    for call in by_function(history).get(custom.forward, ()):
        cuts = call.op in ("detach", "data.get")
        if cuts and any(value.tensor in saved for value in call.outputs):
            yield call
