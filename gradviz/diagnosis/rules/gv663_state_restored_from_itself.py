"""Weights that were put aside are restored from themselves.

What it does
    Finds ``load_state_dict()`` of a dictionary whose tensors are the parameters'
    own memory, taken before steps that changed it.

Why is this bad
    ``state_dict()`` gives references, not copies. Every step changes what was put
    aside as well, so the best weights are the last ones, and restoring them does
    nothing.

Example
    ::

        best = model.state_dict()
        train(model)
        model.load_state_dict(best)

Use instead
    ::

        best = copy.deepcopy(model.state_dict())
        train(model)
        model.load_state_dict(best)

When it stays quiet
    Where nothing changed the weights in between, and where they come from a copy, a
    file, or another model.

References
    https://pytorch.org/tutorials/beginner/saving_loading_models.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import RawSite


def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that put references aside."""
    told: set[RawSite | None] = set()
    for call in history.calls:
        taken = _taken(history, call)
        if taken is None or taken.site in told:
            continue
        told.add(taken.site)
        targets = history.places.targets(taken.site)
        name = f"`{targets[0]}`" if targets else "What is restored"
        weight = history.name(call.inputs[0], "the parameter")
        yield Hit(
            f"{name} holds the weights themselves, not copies: what changed {weight} "
            f"after {history.line(taken.site)} changed it there, too. Restoring it in "
            f"{history.line(call.site)} copies the weights onto themselves.",
            taken.site,
            "Keep copies: `copy.deepcopy(model.state_dict())`, or "
            "`{k: v.clone() for k, v in model.state_dict().items()}`.",
            symptom=call.site,
            related=(Related("restored here", call.site),),
            tensors=(call.inputs[0].tensor,),
        )


def _taken(history: History, call: Call) -> Call | None:
    """Return the call that gave the memory which a call copies onto itself."""
    if call.op != "copy_" or len(call.inputs) != 2:
        return None
    one, other = call.inputs
    same = (one.storage, one.offset) == (other.storage, other.offset)
    if not same or not one.is_parameter or one.tensor == other.tensor:
        return None
    taken = history.producer(other, before=call.index)
    if taken is None or not history.writes(one.storage, taken.index, call.index):
        return None
    return taken


RULE = Rule("GV663", "state-restored-from-itself", "error", check)
