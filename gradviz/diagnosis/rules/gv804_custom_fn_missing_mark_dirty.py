"""GV804: a custom forward changes its input in place and does not say so.

What it does
    Finds inputs that require grad and whose memory ``forward`` wrote, without
    ``ctx.mark_dirty``.
Why is this bad
    Autograd goes on with the history of the old value: the gradient of the change is
    lost, or saved tensors are wrong without an error.
Example
    ``x.mul_(2); return x`` in ``forward``
Use instead
    ``x.mul_(2); ctx.mark_dirty(x); return x``, or ``return x * 2``
When it stays quiet
    The input is marked, or needs no gradient, as running statistics do.
References
    pytorch/pytorch#133491.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.custom_functions import custom_nodes
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import CustomFunction, Node, Value


def check(history: History) -> Iterator[Hit]:
    """Yield the writes of forward to unmarked inputs."""
    for node, custom in custom_nodes(history):
        for value in custom.inputs:
            if not isinstance(value, Value) or value.tensor in custom.dirty:
                continue
            write = _write(history, node, custom, value)
            if not value.requires_grad or write is None:
                continue
            yield Hit(
                f"{custom.name}.forward changes its input "
                f"{history.name(value, 'tensor')} in place "
                f"(`{history.text(write.site)}`), but does not call "
                f"ctx.mark_dirty: autograd does not know of the change.",
                culprit=write.site,
                fix="Call ctx.mark_dirty(x) in forward and return x, or compute into a "
                "new tensor.",
                symptom=node.site,
                related=(Related("applied here", node.site),),
                nodes=(node.key,),
                tensors=(value.tensor,),
            )


def _write(
    history: History, node: Node, custom: CustomFunction, value: Value
) -> Call | None:
    """Return the call inside forward that wrote the memory of an input."""
    for call, _ in history.writes(value.storage):
        inside = call.site is not None and call.site[0] is custom.forward
        if inside or (call.within is not None and call.within == node.call):
            return call
    return None


RULE = Rule("GV804", "custom-fn-missing-mark-dirty", "warning", check)
