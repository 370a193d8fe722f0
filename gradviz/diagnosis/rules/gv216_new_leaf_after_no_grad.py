"""``requires_grad_()`` on a result without a graph makes a new leaf.

What it does
    Finds ``requires_grad_()`` on a tensor that was computed, without a graph, from
    tensors that require grad and that no gradient ever reaches.

Why is this bad
    The call does not bring the graph back: it makes the tensor a new leaf. Gradients
    stop there, and what it was computed from never learns.

Example
    ::

        with torch.no_grad():
            h = encoder(x)
        h.requires_grad_()
        head(h).mean().backward()

Use instead
    ::

        h = encoder(x)
        head(h).mean().backward()

When it stays quiet
    Where gradients reach those tensors on another way or in another step, where nobody
    asks for them (no ``.grad`` read, no optimizer), where the program sets their
    ``.grad`` or moves them itself (first-order meta-learning), and for adversarial
    inputs, saliency maps and penalties, which ask for this tensor's own gradient.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.program import SWITCHES, Call, History, Value

_TURNS = 3  # of a loop: later ones tell the same story


@rule("GV216", "new-leaf-after-no-grad", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per new leaf that keeps gradients from older ones."""
    reached = {leaf for each in history.backwards for leaf in each.leaves}
    spared = learning.trained(history) | learning.copies(history)
    roots = {value.tensor for each in history.backwards for value in each.roots}
    asked = {value.tensor for each in history.backwards for value in each.inputs}
    looked = Counter[object]()
    for call in history.calls:
        if call.op not in SWITCHES or not call.inputs:
            continue
        looked[call.site] += 1
        if looked[call.site] > _TURNS:
            continue
        value = call.inputs[0]
        made = history.producer(value, before=call.index)
        if call.error or made is None or value.requires_grad or not value.is_leaf:
            continue
        if "requires_grad" not in history.text(call.site):
            continue  # inside the library: of `once_differentiable`
        if value.tensor not in reached or value.tensor in roots | asked:
            continue  # what a pass is asked for by name is meant as a start
        kept_from = {each.tensor: each for each in _lost(history, made, spared)}
        if kept_from:
            name, source = name_of(history, value), _named(history, kept_from)
            get = learning.plural(len(kept_from), "gets", "get")
            them = learning.plural(len(kept_from), "it", "them")
            yield Hit(
                f"{source} {get} no gradient: {history.quoted(made.site)} computes "
                f"{name} from {them} {_why(made)}. `requires_grad_()` does not connect "
                f"{name} with {them} again; it only keeps backward() from raising.",
                call.site,
                _fix(history, made, name),
                symptom=made.site,
                related=(Related("computed here", made.site),),
                tensors=(value.tensor, *kept_from),
            )


def _fix(history: History, made: Call, name: str) -> str:
    if made.op == "detach":
        return "Leave out `.detach()` and `.requires_grad_()`."
    if made.grad_enabled:  # it was no mode that cut it
        given = _given(history, made)
        return (
            f"Leave out `requires_grad_()`, and compute the loss from {given}, without "
            f"{history.quoted(made.site)}."
        )
    return f"Compute {name} with grad mode on, and drop `requires_grad_()`."


def _why(made: Call) -> str:
    """Say why a result has no graph."""
    if not made.grad_enabled:
        return "with gradients switched off"
    if made.op == "detach":
        return "and detaches that"
    return "by an operation that has no derivative"


def _named(history: History, kept_from: dict[int, Value]) -> str:
    """Return the parameters of models, or the name of a leaf of no model."""
    if len(kept_from) == 1:
        return name_of(history, next(iter(kept_from.values())))
    return learning.listed(history, kept_from)


def _given(history: History, made: Call) -> str:
    """Return what has a graph, of which an operation without derivatives was made."""
    call: Call | None = made
    while call is not None and call.inputs:
        value = call.inputs[0]
        if value.requires_grad:
            return name_of(history, value, "what that is computed from")
        call = history.producer(value, before=call.index)
    return "what that is computed from"


def _lost(history: History, made: Call, spared: set[int]) -> Iterator[Value]:
    """Yield leaves behind a call that were to get a gradient and got none."""
    managed = learning.managed(history)
    behind = history.behind(made.inputs, before=made.index)
    for call in history.calls:
        if call.index > made.index:
            return
        for value in call.inputs:
            leaf = value.is_leaf and value.requires_grad
            if leaf and value.tensor in behind and value.tensor not in spared:
                asked = any(
                    use.op == "grad.get" and use.index > made.index
                    for use in history.uses(value.tensor)
                )
                if asked or value.tensor in managed:
                    yield value
