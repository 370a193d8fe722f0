"""A part of the model runs in a ``no_grad()`` block, and never learns.

What it does
    Finds operations on the way to the root of a backward pass that ran in a
    ``with torch.no_grad():``, ``set_grad_enabled(False)`` or ``inference_mode()``
    block, where the leaves they used get no gradient in the whole run.

Why is this bad
    Nothing is recorded in such a block. If the whole loss was computed there,
    ``backward()`` says that it "does not require grad"; if only a part was, nothing is
    said and that part stays as it was initialised.

Example
    ::

        with torch.no_grad():
            features = encoder(x)
        head(features).sum().backward()
        optimizer.step()  # of encoder and head

Use instead
    ::

        features = encoder(x)
        head(features).sum().backward()

When it stays quiet
    Validation, targets of temporal differences, teachers, frozen backbones that no
    optimizer steps, warm-up phases: what is reached in any pass, or stepped by nobody,
    is left alone.

References
    https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.edits.statements import unblocked
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV303", "forward-under-no-grad", "block", "library")
def words(history: History, cut: Cut) -> Words:
    site = cut.place
    move = "Move the forward pass out of the block; keep in it what is only measured."
    ran = Related("ran without gradients", cut.call.site)
    if cut.kind == "library":
        return Words(
            f"`{history.text(site)}` switches gradients off inside, and "
            f"`{cut.call.op}` ran without them.",
            "Call it outside the part that is to learn, or switch gradients back on "
            "with `torch.enable_grad()`.",
            site,
            related=(ran,),
        )
    return Words(
        f"`{history.text(cut.call.site)}` ran with gradients switched off by the "
        f"block that begins in {history.line(site)}: no graph was recorded there.",
        move,
        site,
        related=(ran,),
        edit=unblocked(site, cut.backward.site),
    )
