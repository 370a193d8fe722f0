"""GV411: bad data went through the model into its parameters.

What it does
    Finds NaN and Inf that were in the data already, and says which loss, gradient and
    step they spoiled.
Why is this bad
    One bad element of one batch makes the loss NaN, the step after it makes all
    parameters NaN, and the run is lost; it is noticed steps later, in an op that is
    not to blame.
Example
    ``batch[0, 0] = float("nan")``, then a training step on it.
Use instead
    Clean or drop such rows where the data is loaded, and skip a step whose loss is not
    finite: ``if not torch.isfinite(loss): continue``.
When it stays quiet
    The values are removed, replaced or masked before they reach a loss.
References
    Lightning-AI/pytorch-lightning#8313.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.op_families import is_fill
from gradviz.diagnosis import nonfinite_words as words
from gradviz.diagnosis.nonfinite import Birth
from gradviz.diagnosis.nonfinite_kinds import of_kind
from gradviz.diagnosis.rule import Hit, rule
from gradviz.program import History, Value

_LOADED = "Clean or drop the row where the data is loaded."
_REWRITTEN = (
    "Look at what is written into it. If it is a mask of -inf, leave each row one "
    "element that is not masked, also the rows that the loss leaves out."
)


@rule("GV411", "nan-poisons-parameters", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the bad data that reached a loss."""
    for birth in of_kind(history, "data"):
        name = history.name(birth.value, "a tensor") if birth.value else "a tensor"
        weight = _weight(history, birth)
        if weight is not None:
            yield _written(history, birth, weight)
            continue
        if birth.call is not None and not birth.is_nan and is_fill(birth.call.op):
            yield _masked(history, birth, name)
            continue
        put = (
            f"{history.quoted(birth.site)} brings in {words.kind_of(birth)}: {name} "
            f"has it{words.place(birth)}."
        )
        told = put, _maker(birth), _step(history, birth)
        fix = _REWRITTEN if birth.is_lost else _LOADED
        yield words.hit(history, birth, " ".join(filter(None, told)), fix)


def _maker(birth: Birth) -> str:
    if not birth.is_lost:
        return ""
    return "It was written into it in place, by a line that is no longer in the log."


def _weight(history: History, birth: Birth) -> Value | None:
    """Return the leaf that learns and whose memory was written, if it was one."""
    storage = None if birth.value is None else birth.value.storage
    for value in learning.last_seen(history).values():
        if value.storage == storage and value.is_leaf and value.requires_grad:
            return value
    return None


def _written(history: History, birth: Birth, weight: Value) -> Hit:
    name = history.name(weight, "a leaf that requires grad")
    return words.hit(
        history,
        birth,
        f"{history.quoted(birth.site)} wrote {words.kind_of(birth)} into "
        f"{name}{words.place(birth)}: a weight that is trained.",
        "Write finite values: look at what this line computes them from.",
    )


def _masked(history: History, birth: Birth, name: str) -> Hit:
    """Tell of a mask of infinities that a loss did not pass by."""
    return words.hit(
        history,
        birth,
        f"{history.quoted(birth.site)} wrote {words.kind_of(birth)} into "
        f"{name}{words.place(birth)}.",
        "Let no target point at a masked element, and leave each row one that is not "
        "masked; or write a large finite number instead, such as -1e4.",
    )


def _step(history: History, birth: Birth) -> str:
    """Say in which step it came in."""
    event = birth.poisoned
    if event is None:
        return ""
    steps = learning.steps_of(history)[event.optimizer]
    return f"It came in with step {steps.index(event) + 1} of {len(steps)}."
