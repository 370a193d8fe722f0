"""A ``detach()`` or ``.data`` cuts off layers that should learn.

What it does
    Finds ``detach()`` and ``.data`` on the way to a root where the leaves behind get no
    gradient in the whole run.

Why is this bad
    Nothing fails. The layers behind the cut stay as they were initialised, and the
    layers after it learn to live with that.

Example
    ::

        features = torch.tanh(encoder(x)).detach()
        loss = head(features).pow(2).mean()

Use instead
    ::

        features = torch.tanh(encoder(x))
        loss = head(features).pow(2).mean()

When it stays quiet
    Straight-through estimators, stop-gradients beside a live branch, fakes that are
    detached for a discriminator, hidden states between chunks, logging: there the
    leaves are reached by another path or another pass, or no optimizer steps them.

References
    https://github.com/speechbrain/speechbrain/issues/1396
"""

from __future__ import annotations

from gradviz.dependence.cuts import Cut
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.rules._report import Words, cut_rule
from gradviz.program import History


@cut_rule("GV306", "detach-in-forward", "detach")
def words(history: History, cut: Cut) -> Words:
    call = cut.call
    spelled = "`.data`" if call.op == "data.get" else f"`.{call.op}()`"
    return Words(
        f"{spelled} in {history.line(call.site)} cuts the graph.",
        f"Remove {spelled}, or take what it cuts off out of the optimizer if it is "
        "not meant to learn.",
        call.site,
        edit=without_method(call.site, ("detach", "data")),
    )
