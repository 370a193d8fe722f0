"""An average is made of zeros again each time before it is updated.

What it does
    Finds averages that are scaled by a number below 1 and added to, as a momentum is,
    and that are new zeros each time that this happens.

Why is this bad
    What was gathered is thrown away before it counts: the decay scales zeros, and what
    is added is all there is. A momentum has no effect, a smoothed loss is the last one.

Example
    ::

        def step(self):
            for p in self.parameters:
                self.momentum[p] = torch.zeros_like(p)
                self.momentum[p].mul_(0.9).add_(p.grad)

Use instead
    ::

                if p not in self.momentum:
                    self.momentum[p] = torch.zeros_like(p)

When it stays quiet
    Where one update in any turn found something else than new zeros, as in a loop that
    begins with them, and where there are fewer than 3 turns.

References
    https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.dependence.nesting import turn
from gradviz.dependence.op_families import ADDITIONS, MULTIPLICATIONS, plain
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite

_ZEROS = words("zeros zeros_like new_zeros zero")
_TURNS = 3


@rule("GV639", "average-begins-anew", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes the zeros of such an average."""
    made: dict[RawSite | None, dict[int, Call] | None] = {}  # by line: the zeros
    updates: dict[RawSite | None, Call] = {}
    for call in history.calls:
        if call.site is None or not _scales(call):
            continue
        zeros = _new_zeros(history, call)
        known = made.setdefault(call.site, {})
        if zeros is None or not _is_added_to(history, call):
            made[call.site] = None
        elif known is not None:
            known.setdefault(turn(history, call.index), zeros)
            updates.setdefault(call.site, call)
    for site, zeros in made.items():
        anew = {each.index for each in zeros.values()} if zeros else ()
        if zeros and len(anew) >= _TURNS:
            yield _hit(history, updates[site], zeros)


def _scales(call: Call) -> bool:
    """Tell whether a call takes a part of a tensor: by a number between 0 and 1."""
    numbers = [each for each in call.arguments if isinstance(each, float)]
    name = plain(call.op)
    return (
        (name in MULTIPLICATIONS and len(call.inputs) == 1)
        or (name == "lerp" and len(call.inputs) == 2)
    ) and any(0 < each < 1 for each in numbers)


def _new_zeros(history: History, call: Call) -> Call | None:
    """Return the call that made the zeros which are scaled, if they are still zeros."""
    value = call.inputs[0]
    made = history.producer(value, call.index)
    if made is None or plain(made.op) not in _ZEROS:
        return None
    written = history.writes(value.storage, made.index, call.index)
    return None if written else made


def _is_added_to(history: History, call: Call) -> bool:
    if plain(call.op) == "lerp":
        return True
    after = [
        use for each in call.outputs for use in history.uses(each.tensor, call.index)
    ]
    return bool(after) and plain(after[0].op) in ADDITIONS


def _hit(history: History, update: Call, zeros: dict[int, Call]) -> Hit:
    first = next(iter(zeros.values()))
    return Hit(
        f"{history.quoted(first.site)} makes zeros again each time before "
        f"{history.quoted(update.site)} scales and adds to them: in {len(zeros)} "
        "turns, nothing of the turn before was left. What is added last is all there "
        "is.",
        first.site,
        "Make the zeros once, before the loop, or only where there are none yet.",
        symptom=update.site,
        related=(Related("updated here", update.site),),
        tensors=tuple(each.tensor for each in first.outputs),
        certainty=0.8,
    )
