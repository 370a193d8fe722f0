"""``requires_grad_()`` on a loss silences the error, and nothing is trained.

What it does
    Finds backward passes whose root is a leaf that ``requires_grad`` was set on, and
    names the call behind it that ended the graph.

Why is this bad
    The root is a fresh leaf: its only gradient is its own, 1.0. No parameter gets one,
    and no error says so.

Example
    ::

        loss = 1 - (out > 0).float().mean()
        loss.requires_grad_(True)
        loss.backward()

Use instead
    ::

        loss = F.binary_cross_entropy_with_logits(out, target)
        loss.backward()

When it stays quiet
    Leaves that are meant to be leaves: parameters, inputs whose gradient is read, and
    roots with nothing that requires grad behind them.

References
    https://github.com/ronghuaiyang/arcface-pytorch/issues/56
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.cuts import cuts
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._report import Words, is_hack, make
from gradviz.program import SWITCHES, Backward, Call, History


@rule("GV302", "requires-grad-on-loss-hack", "error")
def check(history: History) -> Iterator[Hit]:
    for cut in cuts(history):
        if not is_hack(cut):
            continue
        setter = _setter(history, cut.backward)
        site = None if setter is None else setter.site
        at = "" if site is None else f" in {history.line(site)}"
        ran = cut.place != cut.call.site and cut.kind == "block"
        why = f", under {history.quoted(cut.place)}," if ran else ""
        words = Words(
            f"{history.quoted(cut.call.site)}{why} gives a result without a graph; "
            f"`requires_grad`{at} only hides the error that backward() would raise.",
            f"Remove `requires_grad`{at}, and compute "
            f"{history.line(cut.call.site)} so that it has a graph.",
            cut.place,
            related=(Related("error hidden here", site),),
        )
        yield make(history, cut, words, "error", cut.lost)


def _setter(history: History, backward: Backward) -> Call | None:
    """Return the call that set requires_grad on a root."""
    for root in backward.roots:
        for call in reversed(history.uses(root.tensor)):
            if call.op in SWITCHES and call.index < backward.index:
                return call
        made = history.producer(root, before=backward.index)
        if made is not None:
            return made
    return None
