"""GV109 data-bypasses-version: a saved tensor was overwritten through ``.data``.

What it does
    Finds writes through ``.data``, and assignments to it, between the operation that
    saved the memory and the backward pass that used it.

Why is this bad
    ``.data`` shares the memory but not the version counter. Autograd cannot notice that
    a saved value changed: there is no error, and the gradient is wrong.

Example
    loss = (h ** 2).sum()
    h.data.mul_(0.5)
    loss.backward()

Use instead
    loss = (h ** 2).sum()
    loss.backward()
    with torch.no_grad():
        h.mul_(0.5)

When it stays quiet
    For updates and initialisations outside of a forward-backward pair, such as
    ``p.data -= lr * p.grad`` after backward(), moving averages, and weight clipping.

References
    PyTorch documentation: torch.Tensor.detach (the note on in-place changes).
    PyTorch notes: Autograd mechanics, "In-place correctness checks".
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._saved_writes import step_around
from gradviz.diagnosis._unseen_writes import UnseenWrite, data_writes
from gradviz.diagnosis._words import node_words, place, tensor_words
from gradviz.diagnosis.decisions.order import parting
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite


def _message(history: History, found: UnseenWrite, call: Call) -> str:
    return (
        f"{place(history, call.site)} overwrites {tensor_words(history, found.value)} "
        "through `.data`, which autograd does not notice: the gradient that "
        f"{place(history, found.backward.site)} computes is wrong, without an error. "
        f"The gradient of {node_words(history, found.node)} needs the old numbers and "
        f"was computed from the new ones (both are version {found.value.version})."
    )


@rule("GV109", "data-bypasses-version", "error")
def check(history: History) -> Iterator[Hit]:
    told: set[RawSite | None] = set()
    for found in data_writes(history):
        call = found.call
        if call is None or call.site in told:
            continue
        told.add(call.site)
        step = step_around(history, call)
        came = _ordered(history, found, call) if step is None else step.site
        yield Hit(
            _message(history, found, call),
            came,
            _fix(history, found, call),
            symptom=found.backward.site,
            related=(
                Related("saved here", found.node.site),
                Related("written here", None if came == call.site else call.site),
            ),
            nodes=(found.node.key,),
            tensors=(found.value.tensor,),
        )


def _fix(history: History, found: UnseenWrite, call: Call) -> str:
    if _goes_on(history, found, call):
        return (
            "Leave what was saved as it is, and go on with a new tensor: what a call "
            "without `_` at its end gives, such as `masked_fill`, without `.data`."
        )
    return (
        "Write after the backward pass, or to a `clone()`; and under "
        "`torch.no_grad()` instead of through `.data`, so that autograd can check it."
    )


def _ordered(history: History, found: UnseenWrite, call: Call) -> RawSite | None:
    """Return the line that let the write follow the use: who called a helper there."""
    saved = history.maker(found.node)
    parted = None if saved is None else parting(call.frames, saved.frames)
    if parted is None or _goes_on(history, found, call):
        return call.site
    return parted[0]


def _goes_on(history: History, found: UnseenWrite, call: Call) -> bool:
    """Tell whether the pass is of what was computed with the new numbers, too.

    As of a state that a helper resets: no other order of lines would do.
    """
    later = history.uses(found.value.tensor, call.index)
    return not found.value.is_leaf and any(
        each.nodes and each.index < found.backward.index for each in later
    )
