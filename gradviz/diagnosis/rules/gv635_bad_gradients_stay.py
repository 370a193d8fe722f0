"""A step that NaN gradients forbid is left out, and the gradients are not cleared.

What it does
    Finds trainings in which ``zero_grad`` runs only with a step: from a pass that gave
    NaN or infinite gradients on, no optimizer steps, and nothing clears them, in at
    least three times as many passes as lay between two steps.

Why is this bad
    ``backward`` adds to ``.grad``. NaN plus anything is NaN: every later pass finds the
    NaN of the one bad batch, every later step is left out, and the model stays what it
    was, while the loss is printed on and on.

Example
    ::

        if torch.isfinite(norm):
            optimizer.step()
            optimizer.zero_grad()

Use instead
    ::

        if torch.isfinite(norm):
            optimizer.step()
        optimizer.zero_grad()

When it stays quiet
    Where gradients are cleared although the step is left out, where steps go on, and in
    the last passes of a run.

References
    https://pytorch.org/docs/stable/notes/amp_examples.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, OptimizerCall
from gradviz.text.words import counted

_LEAST = 3  # steps before, and as many that are missing after
_PASSES = 8


@rule("GV635", "bad-gradients-stay", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit where a run has stopped learning like this."""
    steps = learning.steps(history)
    cleared = [each for each in history.of(OptimizerCall) if each.what == "zero_grad"]
    if len(steps) < _LEAST or not cleared:
        return
    last, clear = steps[-1], cleared[-1]
    end = max(last.index, clear.index)
    if any(gap > end for gap in history.program.gaps):
        return
    after = [e for e in history.backwards if e.index > end and e.api == "backward"]
    before = [e for e in history.backwards if steps[-2].index < e.index < last.index]
    bad = next((place for place, e in enumerate(after) if _gives_bad(e)), None)
    if bad is None:
        return
    count = len(after) - bad - 1
    if count < max(_PASSES, _LEAST * len(before)):
        return
    source = after[bad]
    yield Hit(
        f"One bad batch stops the training for good: {history.quoted(clear.site)} runs "
        "only when a step is taken, so the NaN or infinite gradients from "
        f"{history.line(source.site)} are never cleared. "
        f"{counted(count, 'later backward pass')} added to the bad gradients, and no "
        "step was taken since.",
        clear.site,
        f"Call `{history.text(clear.site)}` also when the step is left out"
        f"{_branch(history, clear)}.",
        symptom=source.site,
        related=(Related("last step taken here", last.site),),
        certainty=1.0,  # the batch that began it was to be left out
    )


def _branch(history: History, clear: OptimizerCall) -> str:
    """Return where to put a line that stands in a branch."""
    where = spot(history, clear.site)
    around = () if where is None else where.source.around(where.node)
    branch = next((each for each in around if isinstance(each, ast.If)), None)
    if branch is None:
        return ""
    whole = "`if`/`else`" if branch.orelse else "`if`"
    return f": move it below the whole {whole} of line {branch.lineno}"


def _gives_bad(backward: Backward) -> bool:
    return any(summary.bad for _, summary in backward.at_leaves())
