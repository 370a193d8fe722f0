"""Weights that were put aside are restored from, or averaged with, themselves.

What it does
    Finds ``load_state_dict()`` of a dictionary whose tensors are the parameters'
    own memory, taken before steps that changed it, moving averages that are kept in
    that memory, and a copy of a model that is only another name of it.

Why is this bad
    ``state_dict()`` and ``detach()`` give references, not copies. Every step changes
    what was put aside as well, so the best weights are the last ones, and restoring
    them does nothing. An average shrinks the very weights it is to follow.

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

import ast
from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules._leaves import last_seen, once
from gradviz.diagnosis.rules._lifetime import same_line
from gradviz.program.events import Call
from gradviz.program.history import History
from gradviz.program.values import RawSite

_MIXING = ("copy_", "add_", "lerp_", "iadd")


def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that put references aside, or named one model twice."""
    told: set[RawSite | None] = set()
    for call in history.calls:
        taken = _taken(history, call)
        if taken is None:
            continue
        if same_line(taken.site, call.site) and call.site not in told:
            told.add(call.site)
            yield from _one_model(history, call)
        changed = history.writes(call.inputs[0].storage, taken.index, call.index)
        others = {value.tensor for value in taken.outputs}
        if taken.site in told or all(w.value.tensor in others for _, w in changed):
            continue
        told.add(taken.site)
        targets = history.places.targets(taken.site)
        name = f"`{targets[0]}`" if targets else "What is restored"
        copied = call.op == "copy_"
        weight = history.name(_weights(history)[call.inputs[0].storage])
        yield Hit(
            f"{name} holds the weights themselves, not copies: what changed {weight} "
            f"after {history.line(taken.site)} changed it there, too. "
            + (
                f"Restoring it in {history.line(call.site)} copies the weights onto "
                "themselves."
                if copied
                else f"`{history.text(call.site)}` ({history.line(call.site)}) mixes "
                "the weights with themselves, and changes the model."
            ),
            taken.site,
            "Keep copies: `copy.deepcopy(model.state_dict())`, or "
            "`{k: v.clone() for k, v in model.state_dict().items()}`.",
            symptom=call.site,
            related=(Related("restored here" if copied else "mixed here", call.site),),
            tensors=(call.inputs[0].tensor,),
        )


def _taken(history: History, call: Call) -> Call | None:
    """Return the call that put the memory aside which a call writes with itself."""
    if call.op not in _MIXING or len(call.inputs) != 2:
        return None
    one, other = call.inputs
    same = (one.storage, one.offset, one.shape, one.strides) == (
        other.storage, other.offset, other.shape, other.strides,
    )  # fmt: skip
    if not same or one.tensor == other.tensor or one.storage not in _weights(history):
        return None
    aliases = (value for value in call.inputs if not value.is_parameter)
    taken = (history.producer(value, before=call.index) for value in aliases)
    return min(filter(None, taken), key=lambda each: each.index, default=None)


def _one_model(history: History, call: Call) -> Iterator[Hit]:
    """Yield a hit where two names of one model are used as if they were two models."""
    match history.places.statement(call.site):
        case ast.Expr(
            ast.Call(
                ast.Attribute(to, "load_state_dict"),
                [ast.Call(ast.Attribute(of, "state_dict")), *_],
            )
        ) if ast.unparse(to) != ast.unparse(of):
            copy, model = ast.unparse(to), ast.unparse(of)
        case _:
            return
    assert call.site is not None
    tree = history.places.tree(call.site[0].co_filename)
    named = [
        each.lineno
        for each in ([] if tree is None else ast.walk(tree))
        if isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Name | ast.Attribute)
        and copy in map(ast.unparse, each.targets)
    ]
    yield Hit(
        f"`{copy}` and `{model}` are one model, not two: {history.line(call.site)} "
        "copies its weights onto themselves, and every step changes both.",
        call.site,
        f"Make it a model of its own: `{copy} = copy.deepcopy({model})`.",
        line=named[0] if named else None,
        symptom=call.site,
        related=(Related("copied onto itself here", call.site),),
        tensors=(call.inputs[0].tensor,),
    )


@once
def _weights(history: History) -> dict[int, int]:
    """Return the parameters by their memory."""
    last = last_seen(history).values()
    return {each.storage: each.tensor for each in last if each.is_parameter}


RULE = Rule("GV663", "state-restored-from-itself", "error", check)
