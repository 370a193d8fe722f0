"""Weights that were put aside are restored from, or averaged with, themselves.

What it does
    Finds ``load_state_dict()`` of a dictionary whose tensors are the parameters'
    own memory, taken before steps that changed it, moving averages that are kept in
    that memory, differences with it that show how far the weights moved, and a copy of
    a model that is only another name of it, or that ``copy.copy()`` made, which copies
    no parameters.

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
    Where nothing changed the weights in between, where they come from a copy, a file,
    or another model, and where two models share only some of their weights.

References
    https://pytorch.org/tutorials/beginner/saving_loading_models.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from gradviz.dependence import learning
from gradviz.dependence.flow import words
from gradviz.dependence.learning import last_seen, once
from gradviz.dependence.op_families import DIFFERENCES, plain
from gradviz.diagnosis._memory import is_same
from gradviz.diagnosis.decisions.frames import Function, argument, spot
from gradviz.diagnosis.decisions.sites import same_line
from gradviz.diagnosis.edits.leaves import copied_model
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._shallow import Shallow, is_shallow, shallow_copies
from gradviz.program import Call, History, RawSite

_MIXING = ("copy_", "add_", "lerp_", "iadd")

_GIVE_THEMSELVES = words(
    "to cuda cpu float double half bfloat16 type train eval requires_grad_ apply"
)
"""Methods of a module that return the module itself."""

_COPIES = "copies its weights onto themselves", "copied onto itself here"
_MIXES = "averages its weights with themselves", "averaged with itself here"


@rule("GV663", "state-restored-from-itself", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that put references aside, or named one model twice."""
    told: set[RawSite | None] = set()
    shared = set[int]()
    for each in shallow_copies(history):
        shared.update(each.tensors)
        yield _shallow_hit(history, each)
    yield from _averages(history, shared)
    for call in history.calls:
        taken = _taken(history, call)
        if taken is None or _weights(history)[call.inputs[0].storage] in shared:
            continue
        if same_line(taken.site, call.site) and call.site not in told:
            told.add(call.site)
            yield from _one_model(history, call, _loaded(history, call), _COPIES)
        changed = history.writes(call.inputs[0].storage, taken.index, call.index)
        others = {value.tensor for value in taken.outputs}
        if taken.site in told or all(w.value.tensor in others for _, w in changed):
            continue
        told.add(taken.site)
        yield _taken_hit(history, taken, call)


def _taken_hit(history: History, taken: Call, used: Call) -> Hit:
    kept = _kept_as(history, taken.site)
    name = f"`{kept}`" if kept else "the state"
    model, asks, _ = history.text(taken.site).partition(".state_dict(")
    fix = "Keep copies of the tensors: "
    fix += f"`copy.deepcopy({model if asks else 'model'}.state_dict())`."
    if not asks and taken.op == "detach":
        fix = "Keep copies: `.detach().clone()`."
    return Hit(
        f"{_effect(history, used, taken)}: {name} holds the weights themselves, not "
        f"copies, so every step after {history.line(taken.site)} changes {name} too.",
        taken.site,
        fix,
        symptom=used.site,
        related=(Related(_ROLES.get(plain(used.op), _MIXED), used.site),),
        edit=copied_model(taken.site),
        tensors=(used.inputs[0].tensor,),
    )


_ROLES = {"copy": "restored here", **dict.fromkeys(DIFFERENCES, "compared here")}
_MIXED = "mixed here"


def _kept_as(history: History, site: RawSite | None) -> str:
    """Return the name that a statement gives to the expression at a site."""
    targets, text = history.places.targets(site), history.text(site)
    match history.places.statement(site):
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
            with suppress(SyntaxError):
                same = ast.unparse(ast.parse(text, mode="eval"))
                for name, value in zip(names, values, strict=False):
                    if ast.unparse(value) == same:
                        return ast.unparse(name)
            return ""
        case _:
            return targets[0] if targets else ""


def _effect(history: History, call: Call, taken: Call) -> str:
    where = history.line(call.site)
    if call.op == "copy_":
        return (
            f"{where} restores the last weights, not the weights of "
            f"{history.line(taken.site)}"
        )
    if plain(call.op) in DIFFERENCES:
        return f"The difference {history.quoted(call.site)} is 0, whatever is learned"
    return f"{history.quoted(call.site)} mixes the weights with themselves"


def _taken(history: History, call: Call) -> Call | None:
    """Return the call that put the memory aside which a call writes with itself.

    Or which it compares with itself, where that is no loss.
    """
    compares = plain(call.op) in DIFFERENCES and not call.nodes
    if not (compares or call.op in _MIXING) or len(call.inputs) != 2:
        return None
    one, other = call.inputs
    again = one.tensor != other.tensor and is_same(one, other)
    if not again or one.storage not in _weights(history):
        return None
    aliases = (value for value in call.inputs if not value.is_parameter)
    taken = (history.producer(value, before=call.index) for value in aliases)
    return min(filter(None, taken), key=lambda each: each.index, default=None)


def _shallow_hit(history: History, found: Shallow) -> Hit:
    copy, model = found.copy.name or "the copy", found.model.name or "the model"
    names = learning.listed(history, found.tensors)
    return Hit(
        f"Every step of `{model}` also changes `{copy}`, because a shallow copy shares "
        f"the parameters: {names}. {history.line(found.used.site)} uses `{copy}` as "
        "another model.",
        found.site or found.used.site,
        f"Copy the parameters too: `copy.deepcopy({found.model.name or '…'})`.",
        symptom=found.used.site,
        related=(Related("copy used as another model here", found.used.site),),
        tensors=found.tensors,
        edit=None if found.site is None else copied_model(found.site),
    )


def _averages(history: History, shared: set[int]) -> Iterator[Hit]:
    """Yield a hit per line that averages a model with itself, all of its weights.

    Those that are known to be shared have a hit already.
    """
    lines: dict[RawSite | None, list[Call]] = {}
    for call in history.calls:
        if call.op in _MIXING and len(call.inputs) == len(call.outputs) + 1:
            lines.setdefault(call.site, []).append(call)
    for calls in lines.values():
        mixed = (_mixed(history, call) for call in calls)
        weights = {k: t for k, t in _weights(history).items() if t not in shared}
        if all(len(each) == 1 and each <= weights.keys() for each in mixed):
            yield from _one_model(history, calls[0], _zipped(history, calls[0]), _MIXES)


def _mixed(history: History, call: Call) -> set[int]:
    """Return the memory that a call averages, of a copied sum that of its terms.

    A term may be there in part: ``t.mul_(1 - tau).add_(tau * p)``.
    """
    values = list(call.inputs)
    products = [history.producer(each, call.index) for each in values[1:]]
    if call.op != "copy_" and all(
        each is not None and plain(each.op) in ("mul", "rmul") for each in products
    ):
        values[1:] = [value for each in products if each for value in each.inputs]
    for op in ("add", "mul") if call.op == "copy_" else ():
        makers = [history.producer(each, call.index) for each in values[1:]]
        if any(each is None or plain(each.op) not in (op, f"r{op}") for each in makers):
            return set()
        values[1:] = [value for each in makers if each for value in each.inputs]
    return {value.storage for value in values}


def _loaded(history: History, call: Call) -> tuple[str, str] | None:
    """Return the names of a model that loads the state of another."""
    match history.places.statement(call.site):
        case ast.Expr(
            ast.Call(
                ast.Attribute(to, "load_state_dict"),
                [ast.Call(ast.Attribute(of, "state_dict")), *_],
            )
        ):
            return ast.unparse(to), ast.unparse(of)
        case _:
            return None


def _zipped(history: History, call: Call) -> tuple[str, str] | None:
    """Return the names of two models whose parameters a loop takes in pairs."""
    found = None
    for each in history.places.around(call.site):
        match each:
            case ast.For(
                iter=ast.Call(
                    ast.Name("zip"),
                    [
                        ast.Call(ast.Attribute(one, "parameters")),
                        ast.Call(ast.Attribute(other, "parameters")),
                        *_,
                    ],
                ),
                target=ast.Tuple([ast.Name(first), ast.Name()]),
            ):
                to, of = ast.unparse(one), ast.unparse(other)
                written = history.text(call.site).startswith(first)
                found = (to, of) if written else (of, to)
            case _:
                pass
    return found


def _one_model(
    history: History, call: Call, names: tuple[str, str] | None, does: tuple[str, str]
) -> Iterator[Hit]:
    """Yield a hit where two names of one model are used as if they were two models."""
    if names is None or call.site is None:
        return
    (copy, model), (words, role) = names, does
    if copy == model:
        yield Hit(
            f"{history.quoted(call.site)} {words}: `{copy}` is on both sides, and "
            "nothing changes.",
            call.site,
            f"Load the state of the model that `{copy}` is to follow.",
            symptom=call.site,
            tensors=(call.inputs[0].tensor,),
        )
        return
    named = _named(history, call.site, copy)
    if not named and call.stack:
        copy, model = (_given(history, call, each) for each in (copy, model))
        named = _named(history, call.stack[0], copy)
    yield Hit(
        f"`{copy}` and `{model}` are one model, not two: {history.line(call.site)} "
        f"{words}, and every step changes both.",
        call.site,
        f"Make it a model of its own: `{copy} = copy.deepcopy({model})`.",
        line=named[0] if named else None,
        edit=copied_model(call.site, named[0]) if named else None,
        symptom=call.site,
        related=(Related(role, call.site),),
        tensors=(call.inputs[0].tensor,),
    )


def _named(history: History, site: RawSite, copy: str) -> list[int]:
    """Return the lines that make a name one more name of something."""
    return [
        each.lineno
        for each in history.places.in_file(site)
        if isinstance(each, ast.Assign)
        and (_is_itself(each.value) or is_shallow(each.value))
        and copy in map(ast.unparse, each.targets)
    ]


def _is_itself(value: ast.expr) -> bool:
    """Tell whether an expression gives a module that has a name already."""
    match value:
        case ast.Call(ast.Attribute(of, name)):
            return name in _GIVE_THEMSELVES and _is_itself(of)
        case _:
            return isinstance(value, ast.Name | ast.Attribute)


def _given(history: History, call: Call, name: str) -> str:
    """Return what the caller of a function calls one of its parameters."""
    where = spot(history, call.site, call.stack)
    function = None if where is None else where.scope
    if where is None or not isinstance(function, Function):
        return name
    given = argument(where, function, name)
    return name if given is None else ast.unparse(given.node)


@once
def _weights(history: History) -> dict[int, int]:
    """Return the parameters by their memory."""
    last = last_seen(history).values()
    return {each.storage: each.tensor for each in last if each.is_parameter}
