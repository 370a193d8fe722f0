"""The forward of a custom Function takes a derivative of what it computes itself.

What it does
    Finds ``autograd.grad`` and ``backward()`` that fail within the ``forward`` of a
    ``torch.autograd.Function``, from a result that was computed there.

Why is this bad
    A Function runs its ``forward`` with grad mode off: nothing that is computed there
    has a graph, whatever requires grad. The same code works outside of a Function, so
    the message, "does not require grad", seems to be about the input.

Example
    ::

        def forward(self, y):  # called in the forward of a Function
            h = self.energy(y).sum()
            return torch.autograd.grad(h, y)[0]

Use instead
    ::

        def forward(self, y):
            with torch.enable_grad():
                h = self.energy(y).sum()
            return torch.autograd.grad(h, y)[0]

When it stays quiet
    Where the result was computed outside of the Function, or grad mode is on there.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.cuts import is_dead
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import is_failed
from gradviz.program import Backward, Call, History


@rule("GV847", "custom-fn-derivative-in-forward", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pass that fails so."""
    names = {each.name for each in history.program.functions}
    for backward in history.backwards if names else ():
        if not is_failed(backward) or not is_dead(backward):
            continue
        made = history.producer(backward.roots[0], backward.index)
        apply = None if made is None else history.call_at(made.within)
        if made is None or apply is None or apply.op not in names or made.grad_enabled:
            continue
        yield _hit(history, backward, _first(history, backward, made), apply)


def _first(history: History, backward: Backward, made: Call) -> Call:
    """Return the first call that computes with what the derivative is taken of."""
    uses = (use for value in backward.inputs for use in history.uses(value.tensor))
    computing = (e for e in uses if e.within == made.within and not e.writes)
    first = next((each for each in computing if each.outputs), made)
    return first if first.op != "requires_grad_" else made


def _hit(history: History, backward: Backward, first: Call, apply: Call) -> Hit:
    return Hit(
        f"{history.quoted(first.site)} runs in the forward of `{apply.op}`, "
        "where grad mode is off: what it computes has no graph, and "
        f"{history.line(backward.site)} cannot take a derivative of it.",
        first.site,
        "Compute it `with torch.enable_grad():`.",
        symptom=backward.site,
        related=(Related("the Function runs here", apply.site),),
        explains=history.ended_by(backward),
        certainty=0.95,
    )
