"""Checkpointing a block whose inputs do not require grad trains nothing inside it.

What it does
    Finds reentrant ``checkpoint`` calls on the way to a root where the parameters used
    inside get no gradient, because no input of the checkpoint requires grad, and the
    line that made it reentrant.

Why is this bad
    A reentrant checkpoint runs its block without gradients and decides by its inputs
    whether to come back to it. With frozen embeddings in front of trainable layers
    (adapters, prompts) no input requires grad, and the adapters stay untrained.

Example
    ::

        hidden = frozen_embedding(tokens)
        hidden = checkpoint(block_with_adapter, hidden, use_reentrant=True)

Use instead
    ::

        hidden = checkpoint(block_with_adapter, hidden, use_reentrant=False)

When it stays quiet
    Checkpoints whose parameters get a gradient, in whichever pass.

References
    https://pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.dependence.modes import checkpoint_around
from gradviz.diagnosis.decisions.decision import Decision, of_keyword
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Related
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History

_HOW = "use_reentrant"


@cut_rule("GV315", "checkpoint-without-grad-input", "checkpoint")
def words(history: History, cut: Cut) -> Words:
    site, made = cut.place, checkpoint_around(history, cut.call)
    chosen = Decision(site) if made is None else of_keyword(history, made, _HOW)
    ran = Related("ran without gradients", cut.call.site)
    called = [Related("called here", site)] if chosen.is_elsewhere else []
    return Words(
        f"`{history.text(site)}` runs its block without gradients, and a reentrant "
        "checkpoint computes them again only if an input requires grad: none does.",
        f"Pass `{_HOW}=False`.",
        chosen.site,
        line=chosen.line,
        related=(ran, *called),
        edit=None if called else with_keyword(site, _HOW, "False", safe=True),
    )
