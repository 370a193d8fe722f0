"""Edits of one call: its name, its arguments, what follows it, or without it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from gradviz.dependence.flow import words
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError, only
from gradviz.diagnosis.edits.remedy import remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Place,
    called,
    calls_in,
    dotted,
    is_module_name,
    keyword,
    names_in,
    place,
)
from gradviz.program import History, RawSite

_CALLABLE = ast.Name | ast.Attribute | ast.Call | ast.Subscript


def call_at(found: Place, names: Collection[str] = ()) -> ast.Call:
    """Return the call that a site marks; by name, the only one of its statement."""
    node = found.node
    if isinstance(node, ast.Call) and (not names or called(node) in names):
        return node
    if names:
        inside = calls_in(node, names) or calls_in(found.statement, names)
        return only(inside, "there is not exactly one such call")
    value = getattr(node, "value", None) if isinstance(node, ast.stmt) else None
    if isinstance(value, ast.Call):
        return value
    raise NoEditError("no call is written here")


@remedy_at
def with_keyword(
    found: Place,
    name: str,
    value: str,
    *,
    of: Collection[str] = (),
    instead_of: Collection[str] = (),
    number: int | None = None,
    safe: bool = False,
) -> Edit:
    """Give a call a keyword argument, in the place of others: ``create_graph=True``.

    Where it has one at its place, which ``number`` tells, in that place.
    """
    call, draft = call_at(found, of), Draft(found.source)
    if number is not None and len(call.args) > number:
        return draft.replace(call.args[number], value).edit(safe=safe)
    others = [each for each in call.keywords if each.arg in instead_of]
    if any(each.arg is None for each in call.keywords):
        raise NoEditError("it takes keywords from elsewhere")
    if others and keyword(call, name) is None:
        draft.put(found.source.range(others[0]), f"{name}={value}")
    else:
        draft.set_keyword(call, name, value)
    return draft.edit(safe=safe)


@remedy_at
def without_keyword(found: Place, name: str) -> Edit:
    """Leave a keyword argument out."""
    for call in calls_in(found.node):
        if (gone := keyword(call, name)) is not None:
            return Draft(found.source).drop_argument(call, gone).edit(safe=True)
    raise NoEditError(f"no call is given {name}")


@remedy_at
def with_keys_renamed(found: Place, key: str, *, strict: bool) -> Edit:
    """Give ``load_state_dict`` its state with keys that an expression of ``k`` makes.

    Where every key fits then, ``strict=False`` is left out.
    """
    call, draft = call_at(found, ("load_state_dict",)), Draft(found.source)
    if not call.args or isinstance(call.args[0], ast.Starred):
        raise NoEditError("the state is not written here")
    state = found.source.of(call.args[0])
    text = state if isinstance(call.args[0], _CALLABLE) else f"({state})"
    where, flag = found.source.range(call.args[0]), keyword(call, "strict")
    if strict and call.keywords == [flag] and len(call.args) == 1:
        where = where.upto(found.source.range(call.keywords[0]))
    new = f"{{{key}: v for k, v in {text}.items()}}"
    return draft.put(where, new).edit(safe=False)


@remedy_at
def renamed(found: Place, names: Mapping[str, str], *, safe: bool = False) -> Edit:
    """Call another function with the same arguments: ``reshape`` for ``view``."""
    call = call_at(found, names)
    if not isinstance(call.func, ast.Attribute):
        raise NoEditError("the other name may not be imported")
    return Draft(found.source).rename(call.func, names[called(call)]).edit(safe=safe)


@remedy_at
def followed_by(
    found: Place, suffix: str, *, of: Collection[str] = (), safe: bool = False
) -> Edit:
    """Let a method follow the expression at a site: ``.mean()``.

    Of a statement that is what it assigns or returns; with names, that call.
    """
    node: ast.AST | None = call_at(found, of) if of else found.node
    if isinstance(node, ast.Assign | ast.Return | ast.AnnAssign):
        node = node.value
    if not isinstance(node, ast.expr) or isinstance(node, ast.Tuple):
        raise NoEditError("there is no expression that it could follow")
    return Draft(found.source).append(node, suffix).edit(safe=safe)


@remedy_at
def without_method(found: Place, names: Collection[str]) -> Edit:
    """Leave out ``.detach()``, ``.data``, ``.item()`` where a site marks it."""
    method = _method(found, names)
    parent = found.source.parent(method)
    if isinstance(parent, ast.Attribute) and parent.attr in ("numpy", "requires_grad_"):
        raise NoEditError("what follows needs a tensor without a graph")
    draft = Draft(found.source)
    whole = found.statement
    if _gives_itself(whole, method) and found.source.is_alone(whole):
        return draft.remove(whole).edit(safe=False)
    return draft.drop_method(method).edit(safe=False)


def _gives_itself(statement: ast.AST, method: ast.expr) -> bool:
    """Tell whether a statement is ``h = h.detach()``, of which ``h = h`` would stay."""
    if not isinstance(statement, ast.Assign) or statement.value is not method:
        return False
    function = method.func if isinstance(method, ast.Call) else method
    assert isinstance(function, ast.Attribute)
    return [ast.unparse(each) for each in statement.targets] == [
        ast.unparse(function.value)
    ]


def _method(found: Place, names: Collection[str]) -> ast.expr:
    def is_one(node: ast.AST) -> bool:
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Attribute) or function.attr not in names:
            return False
        called_too = isinstance(found.source.parent(function), ast.Call)
        is_property = function.attr in ("data", "T")
        return isinstance(node, ast.Call) or (is_property and not called_too)

    if is_one(found.node):
        assert isinstance(found.node, ast.expr)
        return found.node
    inside = [e for e in ast.walk(found.statement) if is_one(e)]
    one = only(inside, "there is not exactly one of them")
    assert isinstance(one, ast.expr)
    return one


@remedy_at
def unwrapped(found: Place, names: Collection[str]) -> Edit:
    """Put a call's operand in its place: ``scores`` for ``F.softmax(scores, dim=1)``.

    Of a method that is what it is called on; of a layer in a list, the list without it.
    """
    call, draft = call_at(found, names), Draft(found.source)
    function, parent = call.func, found.source.parent(call)
    if called(call)[:1].isupper() and "Parameter" not in called(call):
        if isinstance(parent, ast.Call) and len(parent.args) > 1:
            draft.drop_argument(parent, call)
        elif isinstance(parent, ast.Assign):
            draft.replace(call, "torch.nn.Identity()")
        else:
            raise NoEditError("the layer is no part of a list")
    elif isinstance(function, ast.Attribute) and not is_module_name(function.value):
        draft.drop_method(call)
    elif call.args:
        draft.replace(call, found.source.of(call.args[0]))
    else:
        raise NoEditError("it has no operand")
    return draft.edit(safe=False)


def operand_of(found: Place, names: Collection[str] = ()) -> ast.expr:
    """Return what a call computes from: ``x`` of ``x.sqrt()`` and ``torch.sqrt(x)``."""
    node = found.node
    if isinstance(node, ast.BinOp) and not names:
        return node.left
    call = call_at(found, names)
    function = call.func
    if isinstance(function, ast.Attribute) and not is_module_name(function.value):
        return function.value
    if not call.args or isinstance(call.args[0], ast.Starred):
        raise NoEditError("its operand is not written here")
    return call.args[0]


def operand_text(
    history: History, site: RawSite | None, names: Collection[str] = ()
) -> str:
    """Return what a call computes from, as it is written; "" where it is not."""
    with suppress(LookupError):
        found = place(history, site)
        return found.source.of(operand_of(found, names))
    return ""


@remedy_at
def straight_through(found: Place) -> Edit:
    """Let the gradient pass a step: ``x + (torch.round(x) - x).detach()``."""
    names = ("round", "floor", "ceil", "trunc", "sign", "frac", "fix")
    call = call_at(found, names)
    node = operand_of(found.at(call), names)
    if calls_in(node):
        raise NoEditError("the operand would be computed twice")
    draft = Draft(found.source)
    x = draft.operand(node)
    new = f"{x} + ({found.source.of(call)} - {x}).detach()"
    return draft.replace(call, new).edit(safe=False)


@remedy_at
def detached_first(found: Place) -> Edit:
    """Detach what is handed to NumPy: ``h.detach().numpy()``."""
    call = call_at(found, ("numpy", "asarray", "array"))
    node = operand_of(found.at(call), (called(call),))
    return Draft(found.source).append(node, ".detach()").edit(safe=True)


_SAME = words(
    "sin cos tan exp log log2 log10 log1p expm1 sqrt tanh sinh cosh atan asin acos "
    "floor ceil erf"
)


@remedy_at
def of_tensors(found: Place) -> Edit:
    """Use the function of tensors: ``torch.sin(x)`` for ``math.sin(x)``."""
    call = call_at(found, _SAME)
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    if of is None or dotted(of) not in ("math", "np", "numpy"):
        raise NoEditError("it is no function of Python's")
    return Draft(found.source).replace(of, "torch").edit(safe=False)


@remedy
def renamed_all(
    history: History, sites: Iterable[RawSite | None], names: Mapping[str, str]
) -> Edit:
    """Give several calls of one file their other names."""
    draft: Draft | None = None
    for site in sites:
        found = place(history, site)
        draft = draft or Draft(found.source)
        call = call_at(found, names)
        if found.source is not draft.source or not isinstance(call.func, ast.Attribute):
            raise NoEditError("the other name may not be imported")
        if called(call).islower() and dotted(call.func.value) == "torch":
            raise NoEditError("torch has no such function")
        draft.rename(call.func, names[called(call)])
    if draft is None:
        raise NoEditError("there is no place")
    return draft.edit(safe=False)


@remedy_at
def listed_anew(found: Place) -> Edit:
    """Make each entry of a list anew: ``[f() for _ in range(3)]`` for ``[f()] * 3``."""
    source, node, statement = found
    for each in ast.walk(statement):
        entries, count = multiplied(each) or (None, None)
        if not (entries and count) or node not in (*entries.elts, statement):
            continue
        made, *more = (source.of(entry) for entry in entries.elts)
        again = f"for _ in range({source.of(count)})"
        if more:
            made, again = "each", f"{again} for each in ({', '.join([made, *more])})"
        return Draft(source).replace(each, f"[{made} {again}]").edit(safe=False)
    raise NoEditError("no list is multiplied here")


def multiplied(node: ast.AST) -> tuple[ast.List, ast.expr] | None:
    """Return a list with entries that is multiplied, and by what."""
    match node:
        case ast.BinOp(ast.List([_, *_]) as entries, ast.Mult(), count):
            return entries, count
        case ast.BinOp(count, ast.Mult(), ast.List([_, *_]) as entries):
            return entries, count
        case _:
            return None


def repeated(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the one entry of a list that is multiplied, and by what."""
    entries, count = multiplied(node) or (None, None)
    if entries is None or count is None or len(entries.elts) > 1:
        return None
    return entries.elts[0], count


@remedy_at
def bound_now(found: Place, name: str) -> Edit:
    """Give the function that a statement defines a default: ``name=name``."""
    made = [
        each.args
        for each in ast.walk(found.statement)
        if isinstance(each, ast.Lambda | ast.FunctionDef) and name in names_in(each)
    ]
    args = only(made, "there is not exactly one such function")
    if args.vararg or args.kwonlyargs or args.kwarg or not args.args:
        raise NoEditError("its parameters are not a plain list")
    end = found.source.range((args.defaults or args.args)[-1]).end
    return Draft(found.source).put(end, f", {name}={name}").edit(safe=True)
