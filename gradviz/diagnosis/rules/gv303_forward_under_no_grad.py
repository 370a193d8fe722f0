"""A part of the model runs in a ``no_grad()`` block, and never learns.

What it does
    Finds operations on the way to the root of a backward pass that ran in a
    ``with torch.no_grad():``, ``set_grad_enabled(False)`` or ``inference_mode()``
    block, where the leaves they used get no gradient in the whole run. Where a setting
    elsewhere chose the block, that is named.

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

import ast

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.decisions.choice import choice
from gradviz.diagnosis.decisions.decision import Decision, decided
from gradviz.diagnosis.decisions.frames import spot
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
    chosen = _chosen(history, cut)
    what = (
        f"`{history.text(cut.call.site)}` ran with gradients switched off by the "
        f"block that begins in {history.line(site)}: no graph was recorded there."
    )
    if chosen is not None:
        return Words(
            f"{what} `{chosen.text}` in {history.line(chosen.site)} chose that block.",
            f"Change `{chosen.text}` in {history.line(chosen.site)} so that gradients "
            "stay on where this is trained, or move what needs them out of the block.",
            chosen.site,
            line=chosen.line,
            related=(Related("switches gradients off", site), ran),
        )
    return Words(
        what, move, site, related=(ran,), edit=unblocked(site, cut.backward.site)
    )


def _chosen(history: History, cut: Cut) -> Decision | None:
    """Return the setting, made elsewhere, by which a block switches gradients off.

    None where the block says itself what it does.
    """
    switch = cut.switch
    where = None if switch is None else spot(history, switch.site, switch.stack)
    if where is None or not isinstance(where.node, ast.With):
        return None
    asked = [choice(where.at(each.context_expr)) for each in where.node.items]
    settings = [each for each in asked if isinstance(each.node, ast.Constant)]
    return decided(history, settings[0], cut.place) if len(settings) == 1 else None
