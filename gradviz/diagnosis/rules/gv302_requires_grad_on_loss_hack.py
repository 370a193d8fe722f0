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
from gradviz.dependence.learning import SWITCHES
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._report import Words, is_hack, make
from gradviz.program import Backward, Call, History


@rule("GV302", "requires-grad-on-loss-hack", "error")
def check(history: History) -> Iterator[Hit]:
    for cut in cuts(history):
        if not is_hack(cut):
            continue
        setter = _setter(history, cut.backward)
        related = () if setter is None else (Related("silenced here", setter.site),)
        words = Words(
            f"`{history.text(cut.call.site)}` ended the graph, and `requires_grad` set "
            "on the result made a fresh leaf of it: the error is gone, and so is the "
            "training.",
            "Remove the `requires_grad` and keep the loss differentiable where the "
            "graph ends.",
            cut.place,
            related=related,
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
