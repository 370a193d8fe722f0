"""Gradients are clipped while a gradient scaler's factor is still in them.

What it does
    Finds ``clip_grad_norm_`` and ``clip_grad_value_`` after
    ``scaler.scale(loss).backward()`` and before the gradients were unscaled.

Why is this bad
    The limit meets gradients that are 65,536 times too large: it cuts all of them, and
    once unscaled they are far smaller than it says. The training crawls.

Example
    ::

        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)

Use instead
    ::

        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)

When it stays quiet
    The gradients were unscaled before, or the limit is infinity, which only asks for
    the norm; a scaler that is not enabled.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.training import only_optimizer, unscaled
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import limits
from gradviz.diagnosis.rules._loop_helpers import meetings
from gradviz.program import Call, History


@rule("GV627", "clip-before-unscale", "warning")
def check(history: History) -> Iterator[Hit]:
    for met in meetings(history):
        call = met.event
        if not isinstance(call, Call) or not limits(call):
            continue
        scaler, scales, _ = history.text(met.scale.site).partition(".scale(")
        optimizer = only_optimizer(history)
        yield Hit(
            f"`{history.text(call.site)}` clips gradients that are still {met.times} "
            f"too large: the loss was scaled in {history.line(met.scale.site)}. Once "
            "they are unscaled, they are far below the limit.",
            call.site,
            f"Call `{scaler}.unscale_({optimizer or '…'})` before clipping."
            if scales
            else "Unscale the gradients before clipping, with `unscale_()`.",
            symptom=call.site,
            related=(Related("loss scaled here", met.scale.site),),
            edit=unscaled(call.site, met.scale.site, optimizer, step=False),
        )
        return
