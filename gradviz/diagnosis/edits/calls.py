"""Edits of one call: its name, its arguments, what follows it, or without it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError
from gradviz.diagnosis.edits.remedy import remedy
from gradviz.diagnosis.edits.syntax import Place, called, dotted, keyword, place
from gradviz.program import History, RawSite


def call_at(found: Place, names: Collection[str] = ()) -> ast.Call:
    """Return the call that a site marks; by name, the only one of its statement."""
    node = found.node
    if isinstance(node, ast.Call) and (not names or called(node) in names):
        return node
    inside = [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and (not names or called(each) in names)
    ]
    if not inside and node is not found.statement:
        inside = [
            each
            for each in ast.walk(found.statement)
            if isinstance(each, ast.Call) and called(each) in names
        ]
    if names and len(inside) == 1:
        return inside[0]
    value = getattr(node, "value", None) if isinstance(node, ast.stmt) else None
    if isinstance(value, ast.Call) and not names:
        return value
    raise NoEditError("there is not exactly one such call")


@remedy
def with_keyword(
    history: History,
    site: RawSite | None,
    name: str,
    value: str,
    *,
    of: Collection[str] = (),
    instead_of: Collection[str] = (),
    safe: bool = False,
) -> Edit:
    """Give a call a keyword argument, in the place of others: ``create_graph=True``."""
    found = place(history, site)
    call, draft = call_at(found, of), Draft(found.source)
    known = keyword(call, name)
    others = [each for each in call.keywords if each.arg in instead_of]
    if any(each.arg is None for each in call.keywords):
        raise NoEditError("it takes keywords from elsewhere")
    if known is not None:
        draft.replace(known.value, value)
    elif others:
        draft.put(found.source.range(others[0]), f"{name}={value}")
    else:
        draft.add_argument(call, f"{name}={value}")
    return draft.edit(safe=safe)


@remedy
def without_keyword(
    history: History, site: RawSite | None, name: str, *, safe: bool = True
) -> Edit:
    """Leave a keyword argument out."""
    found = place(history, site)
    calls = [each for each in ast.walk(found.node) if isinstance(each, ast.Call)]
    for call in calls:
        if (gone := keyword(call, name)) is not None:
            return Draft(found.source).drop_argument(call, gone).edit(safe=safe)
    raise NoEditError(f"no call is given {name}")


@remedy
def renamed(
    history: History,
    site: RawSite | None,
    names: Mapping[str, str],
    *,
    line: int | None = None,
    safe: bool = False,
) -> Edit:
    """Call another function with the same arguments: ``reshape`` for ``view``."""
    found = place(history, site, line)
    call = call_at(found, names)
    function = call.func
    assert isinstance(function, ast.Name | ast.Attribute)
    new = names[called(call)]
    if isinstance(function, ast.Name):
        raise NoEditError("the other name may not be imported")
    return Draft(found.source).rename(function, new).edit(safe=safe)


@remedy
def followed_by(
    history: History,
    site: RawSite | None,
    suffix: str,
    *,
    of: Collection[str] = (),
    safe: bool = False,
) -> Edit:
    """Let a method follow the expression at a site: ``.mean()``.

    Of a statement that is what it assigns or returns; with names, that call.
    """
    found = place(history, site)
    node: ast.AST | None = call_at(found, of) if of else found.node
    if isinstance(node, ast.Assign | ast.Return | ast.AnnAssign):
        node = node.value
    if not isinstance(node, ast.expr) or isinstance(node, ast.Tuple):
        raise NoEditError("there is no expression that it could follow")
    return Draft(found.source).append(node, suffix).edit(safe=safe)


@remedy
def without_method(
    history: History,
    site: RawSite | None,
    names: Collection[str],
    *,
    safe: bool = False,
) -> Edit:
    """Leave out ``.detach()``, ``.data``, ``.item()`` where a site marks it."""
    found = place(history, site)
    method = _method(found, names)
    parent = found.source.parent(method)
    if isinstance(parent, ast.Attribute) and parent.attr in ("numpy", "requires_grad_"):
        raise NoEditError("what follows needs a tensor without a graph")
    draft = Draft(found.source)
    if _gives_itself(found.statement, method) and found.source.is_alone(
        found.statement
    ):
        return draft.remove(found.statement).edit(safe=safe)
    return draft.drop_method(method).edit(safe=safe)


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
    inside = [each for each in ast.walk(found.statement) if is_one(each)]
    if len(inside) != 1 or not isinstance(inside[0], ast.expr):
        raise NoEditError("there is not exactly one of them")
    return inside[0]


@remedy
def unwrapped(
    history: History,
    site: RawSite | None,
    names: Collection[str],
    *,
    safe: bool = False,
) -> Edit:
    """Put a call's operand in its place: ``scores`` for ``F.softmax(scores, dim=1)``.

    Of a method that is what it is called on; of a layer in a list, the list without it.
    """
    found = place(history, site)
    call, draft = call_at(found, names), Draft(found.source)
    function, parent = call.func, found.source.parent(call)
    if called(call)[:1].isupper() and "Parameter" not in called(call):
        if not (isinstance(parent, ast.Call) and len(parent.args) > 1):
            if isinstance(parent, ast.Assign):
                return draft.replace(call, "torch.nn.Identity()").edit(safe=safe)
            raise NoEditError("the layer is no part of a list")
        return draft.drop_argument(parent, call).edit(safe=safe)
    if isinstance(function, ast.Attribute) and not _is_namespace(function.value):
        return draft.drop_method(call).edit(safe=safe)
    if not call.args:
        raise NoEditError("it has no operand")
    return draft.replace(call, found.source.of(call.args[0])).edit(safe=safe)


def _is_namespace(node: ast.expr) -> bool:
    name = dotted(node)
    return name.split(".")[0] in ("torch", "nn", "F", "functional")


def operand_of(found: Place, names: Collection[str] = ()) -> ast.expr:
    """Return what a call computes from: ``x`` of ``x.sqrt()`` and ``torch.sqrt(x)``."""
    node = found.node
    if isinstance(node, ast.BinOp) and not names:
        return node.left
    call = call_at(found, names)
    function = call.func
    if isinstance(function, ast.Attribute) and not _is_namespace(function.value):
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


@remedy
def straight_through(history: History, site: RawSite | None) -> Edit:
    """Let the gradient pass a step: ``x + (torch.round(x) - x).detach()``."""
    found = place(history, site)
    names = ("round", "floor", "ceil", "trunc", "sign", "frac", "fix")
    call = call_at(found, names)
    node = operand_of(Place(found.source, call, found.statement), names)
    if any(isinstance(each, ast.Call) for each in ast.walk(node)):
        raise NoEditError("the operand would be computed twice")
    draft = Draft(found.source)
    x = draft.operand(node)
    new = f"{x} + ({found.source.of(call)} - {x}).detach()"
    return draft.replace(call, new).edit(safe=False)


@remedy
def detached_first(history: History, site: RawSite | None) -> Edit:
    """Detach what is handed to NumPy: ``h.detach().numpy()``."""
    found = place(history, site)
    call = call_at(found, ("numpy", "asarray", "array"))
    node = operand_of(Place(found.source, call, found.statement), (called(call),))
    return Draft(found.source).append(node, ".detach()").edit(safe=True)


_SAME = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "sqrt",
        "tanh",
        "sinh",
        "cosh",
        "atan",
        "asin",
        "acos",
        "floor",
        "ceil",
        "erf",
    ]
)


@remedy
def of_tensors(history: History, site: RawSite | None) -> Edit:
    """Use the function of tensors: ``torch.sin(x)`` for ``math.sin(x)``."""
    found = place(history, site)
    call = call_at(found, _SAME)
    function = call.func
    if not isinstance(function, ast.Attribute) or dotted(function.value) not in (
        "math",
        "np",
        "numpy",
    ):
        raise NoEditError("it is no function of Python's")
    return Draft(found.source).replace(function.value, "torch").edit(safe=False)


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


@remedy
def listed_anew(history: History, site: RawSite | None) -> Edit:
    """Make each entry of a list anew: ``[f() for _ in range(3)]`` for ``[f()] * 3``."""
    found = place(history, site)
    for each in ast.walk(found.statement):
        match each:
            case ast.BinOp(ast.List([entry]), ast.Mult(), count) if entry is found.node:
                source = found.source
                made, number = source.of(entry), source.of(count)
                text = f"[{made} for _ in range({number})]"
                return Draft(source).replace(each, text).edit(safe=False)
            case _:
                pass
    raise NoEditError("no list is multiplied here")


@remedy
def bound_now(history: History, site: RawSite | None, name: str) -> Edit:
    """Give the function that a statement defines a default: ``name=name``."""
    found = place(history, site)
    made = [
        each.args
        for each in ast.walk(found.statement)
        if isinstance(each, ast.Lambda | ast.FunctionDef) and _reads(each, name)
    ]
    if len(made) != 1:
        raise NoEditError("there is not exactly one such function")
    args, draft = made[0], Draft(found.source)
    if args.vararg or args.kwonlyargs or args.kwarg or not args.args:
        raise NoEditError("its parameters are not a plain list")
    where = found.source.range((args.defaults or args.args)[-1])
    end = where._replace(line=where.end_line, column=where.end_column)
    return draft.put(end, f", {name}={name}").edit(safe=True)


def _reads(function: ast.AST, name: str) -> bool:
    return any(isinstance(e, ast.Name) and e.id == name for e in ast.walk(function))
