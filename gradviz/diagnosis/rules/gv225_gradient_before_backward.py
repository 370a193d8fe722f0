"""The gradient of a leaf is used before any backward pass has made one.

What it does
    Explains runs that ended because ``.grad`` was None, where it is that of a leaf and
    no pass has reached the leaf so far.

Why is this bad
    ``.grad`` is None until the first backward pass fills it, and None has no
    ``zero_()``. In a loop that clears first, the first iteration fails.

Example
    ::

        for x, y in batches:
            w.grad.zero_()
            ((x @ w - y) ** 2).mean().backward()

Use instead
    ::

        for x, y in batches:
            w.grad = None
            ((x @ w - y) ** 2).mean().backward()

When it stays quiet
    Where a pass came by before, where ``.grad`` is only compared with None, and where
    another rule says why no gradient came.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._words import code
from gradviz.diagnosis.rule import LAST_RESORT, Hit, rule
from gradviz.diagnosis.rules._gradients import gradient_reads
from gradviz.diagnosis.rules._lifetime import name_of, none_ended_run
from gradviz.program import History, RawSite


@rule("GV225", "gradient-before-backward", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the read that ended the run."""
    reads = gradient_reads(history)
    if not reads or not none_ended_run(history):
        return
    read, value = reads[-1], reads[-1].inputs[0]
    reached = any(
        value.tensor in each.leaves and each.index < read.index
        for each in history.backwards
    )
    if read.result is None and not read.outputs and value.is_leaf and not reached:
        name = name_of(history, value)
        yield Hit(
            f"The .grad of {name} is None in {history.line(read.site)}: no backward "
            "pass has reached it so far.",
            read.site,
            _fix(history, read.site),
            tensors=(value.tensor,),
            explains=True,
            certainty=LAST_RESORT,
        )


def _fix(history: History, site: RawSite | None) -> str:
    text = history.text(site)
    if text.endswith(".grad") and "zero_(" in code(history, site):
        return f"Clear it with `{text} = None`, which works before the first pass, too."
    return "Read it after `backward()`."
