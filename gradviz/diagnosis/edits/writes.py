"""Edits of writes in place: out of place, to a copy, or unrecorded."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError, only
from gradviz.diagnosis.edits.remedy import remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Place,
    Source,
    called,
    calls_in,
    is_module_name,
    keyword,
    names_in,
    place,
)
from gradviz.program import History, RawSite

_CONTAINERS = frozenset(("dict", "list", "set", "tuple"))

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def rewritten(source: Source, statement: ast.stmt) -> str | None:
    """Return a statement without its write: ``y = y + 1`` for ``y += 1``, or None."""
    if isinstance(statement, ast.AugAssign):
        operator = _OPERATORS.get(type(statement.op))
        if operator is None or not isinstance(statement.target, ast.Name):
            return None
        name, value = statement.target.id, source.of(statement.value)
        if isinstance(statement.value, ast.BinOp | ast.IfExp | ast.Lambda):
            value = f"({value})"
        return f"{name} = {name} {operator} {value}"
    if not isinstance(statement, ast.Expr | ast.Assign | ast.Return):
        return None
    call = statement.value
    made = _out_of_place(source, call) if isinstance(call, ast.Call) else None
    if made is None:
        return None
    receiver, new = made
    if isinstance(statement, ast.Return):
        return f"return {new}"
    if isinstance(statement, ast.Assign):
        return f"{source.of(statement.targets[0])} = {new}"
    if not isinstance(receiver, ast.Name | ast.Attribute):
        return None  # of h[0].mul_(2), nothing would keep the result
    return f"{source.of(receiver)} = {new}"


def _out_of_place(source: Source, call: ast.Call) -> tuple[ast.expr, str] | None:
    """Return who is written by ``x.mul_(2)``, and the expression without the write."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not _writes(function.attr):
        return None
    if is_module_name(function.value):
        return None
    receiver = source.of(function.value)
    given = [*call.args, *call.keywords]
    arguments = ", ".join(source.of(each) for each in given)
    plain = function.attr.removesuffix("_")
    if plain in ("zero", "fill"):
        filled = "zeros" if plain == "zero" else "full"
        after = f", {arguments}" if arguments else ""
        return function.value, f"torch.{filled}_like({receiver}{after})"
    if plain == "copy":
        return function.value, arguments
    return function.value, f"{receiver}.{plain}({arguments})"


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name != "requires_grad_"


@remedy_at
def out_of_place(found: Place, *, together: bool = False) -> Edit:
    """Make a new tensor: ``y = y + 1`` for ``y += 1``, without ``inplace=True``.

    ``together``: also for the names that were bound at once, ``x, y = z.unbind()``.
    """
    source, node, statement = found
    if (call := _with_flag(node)) is not None:
        return _without_flag(found, call)
    is_inner = _writes(called(node)) and node is not getattr(statement, "value", None)
    if isinstance(statement, ast.AugAssign):  # else a layer is made in what is added
        is_inner = node is not statement
    new = None if is_inner or _is_chain(node) else rewritten(source, statement)
    if new is None:
        return _inside(found)
    target = _target(statement)
    if target is not None:
        _refuse_loss(source, statement, target)
    draft = Draft(source).put(source.range(statement), new)
    for other in _bound_with(source, statement, target) if together else ():
        draft.put(source.range(other), rewritten(source, other) or "")
    return draft.edit(safe=target is None or not _is_shared(source, statement, target))


def _bound_with(
    source: Source, statement: ast.stmt, name: str | None
) -> Iterator[ast.stmt]:
    """Yield the writes behind one to the names that one statement bound together."""
    names: set[str] = set()
    for each in ast.walk(source.scope(statement)):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Tuple):
            bound = names_in(each.targets[0])
            names |= {*bound} if name in bound else set()
    block = source.block(statement)
    for each in block[block.index(statement) + 1 :]:
        if _target(each) in names and rewritten(source, each) is not None:
            yield each


def _is_chain(node: ast.AST) -> bool:
    """Tell whether a write goes to what another one gave: ``f(x).mul_(2).add_(1)``."""
    match node:
        case ast.Call(ast.Attribute(inner, name)):
            return _writes(name) and _writes(called(inner))
        case _:
            return False


def _with_flag(node: ast.AST) -> ast.Call | None:
    """Return the call around or in a node that is given ``inplace=True``."""
    return next((e for e in calls_in(node) if keyword(e, "inplace")), None)


def _without_flag(found: Place, call: ast.Call) -> Edit:
    flag = keyword(call, "inplace")
    assert flag is not None
    parent = found.source.parent(call)
    if isinstance(parent, ast.Expr) and call.args and "." in found.source.of(call.func):
        first = call.args[0]
        if called(call)[:1].islower():  # F.relu(x, inplace=True): keep what it gives
            if not isinstance(first, ast.Name):
                raise NoEditError("nothing would keep the result")
            _refuse_loss(found.source, found.statement, first.id)
            draft = Draft(found.source).drop_argument(call, flag)
            return draft.wrap(call, f"{first.id} = ", "").edit(safe=True)
    return Draft(found.source).drop_argument(call, flag).edit(safe=True)


def _inside(found: Place) -> Edit:
    """Rewrite a call inside of a longer expression: ``f(x.mul_(2))``."""
    function = found.node.func if isinstance(found.node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not _writes(function.attr):
        raise NoEditError("the statement shows no write that has another form")
    if is_module_name(function.value) or function.attr in ("copy_", "zero_", "fill_"):
        raise NoEditError("it has no form that gives a new tensor")
    if isinstance(found.source.parent(found.node), ast.Expr):
        raise NoEditError("nothing would keep the result")
    draft = Draft(found.source)
    while isinstance(function, ast.Attribute) and _writes(function.attr):
        draft.rename(function, function.attr.removesuffix("_"))
        inner = function.value
        function = inner.func if isinstance(inner, ast.Call) else None
    return draft.edit(safe=False)


def _target(statement: ast.stmt) -> str | None:
    """Return the name that a rewritten statement binds instead of writing to it."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return function.value.id
    return None


def _refuse_loss(source: Source, statement: ast.stmt, name: str) -> None:
    """Refuse to bind a name that nobody reads again: the write is for another name."""
    for each in source.around(statement):
        if isinstance(each, ast.For) and name in names_in(each.target):
            raise NoEditError(f"the loop gives {name} to this turn only")
    loops = set(source.loops(statement))
    read = any(
        isinstance(each, ast.Name)
        and each.id == name
        and isinstance(each.ctx, ast.Load)
        and (
            each.lineno > (statement.end_lineno or 0)
            or not loops.isdisjoint(source.around(each))
        )
        for each in ast.walk(source.scope(statement))
    )
    if not read:
        raise NoEditError(f"nobody reads {name} afterwards")


def _is_shared(source: Source, statement: ast.stmt, name: str) -> bool:
    """Tell whether the caller of a function knows the tensor too."""
    scope = source.scope(statement)
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    given = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
    return any(each.arg == name for each in given)


@remedy_at
def item_bound_anew(found: Place) -> Edit:
    """Let an item stand for a new result: ``w[k] = w[k] - g``, not ``w[k].data -=``."""
    match found.statement:
        case ast.AugAssign(ast.Attribute(ast.Subscript() as item, "data"), op, value):
            anew = ast.unparse(ast.BinOp(item, op, value))
        case _:
            raise NoEditError("it is no item that is written through `.data`")
    source, text = found.source, f"{found.source.of(item)} = {anew}"
    return Draft(source).put(source.range(found.statement), text).edit(safe=False)


@remedy_at
def copied_first(found: Place) -> Edit:
    """Write to a copy: ``h = h.clone()`` before ``h[0] = 1``."""
    source, _, statement = found
    written = next(written_by(statement), None)
    while isinstance(written, ast.Subscript):
        written = written.value
    if not isinstance(written, ast.Name | ast.Attribute):
        raise NoEditError("what is written has no name")
    name = source.of(written)
    if isinstance(written, ast.Name):
        _refuse_loss(source, statement, name)
    return Draft(source).before(statement, f"{name} = {name}.clone()").edit(safe=False)


@remedy_at
def reads_copies(found: Place, *, first: bool = False) -> Edit:
    """Compute with copies of what a statement reads of the buffer that it writes.

    With ``first``, the buffer itself has to be a copy, too.
    """
    source, _, statement = found
    written = next(written_by(statement), None)
    if not isinstance(written, ast.Subscript) or not isinstance(statement, ast.Assign):
        raise NoEditError("it writes no part of a buffer")
    name, draft = source.of(written.value), Draft(source)
    loop = next(source.loops(statement), None)
    reads = [
        each
        for part in (loop.body if loop is not None else [statement])
        for each in ast.walk(part)
        if isinstance(each, ast.Subscript)
        and isinstance(each.ctx, ast.Load)
        and source.of(each.value) == name
    ]
    if not reads:
        raise NoEditError("it reads no part of the buffer")
    for each in reads:
        draft.append(each, ".clone()")
    if first:
        draft.before(statement, f"{name} = {name}.clone()")
    return draft.edit(safe=True)


def written_by(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a statement writes to, in whichever form."""
    if isinstance(statement, ast.AugAssign):
        yield statement.target
    elif isinstance(statement, ast.Assign):
        yield from (t for t in statement.targets if isinstance(t, ast.Subscript))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and _writes(function.attr):
            yield function.value


def receiver(history: History, site: RawSite | None) -> str:
    """Return how a statement spells what it writes to: "acc" of ``acc.add_(g)``."""
    statement = history.places.statement(site)
    found = None if statement is None else next(written_by(statement), None)
    while isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        found = found.func.value  # ``x.sub_(1).div_(2)`` writes to x
    return "" if found is None else ast.unparse(found)


@remedy_at
def unrecorded(found: Place) -> Edit:
    """Put a statement that writes to a leaf under ``torch.no_grad()``."""
    source, _, statement = found
    call = statement.value if isinstance(statement, ast.Expr) else None
    if next(written_by(statement), None) is None or (
        call and not _writes(called(call))
    ):
        raise NoEditError("the statement itself writes nothing")
    draft = Draft(source).wrap_block([statement], "with torch.no_grad():")
    return draft.edit(safe=True)


@remedy_at
def updated_in_place(found: Place) -> Edit:
    """Update the leaf itself: ``w -= step`` under no_grad for ``w = w - step``.

    So are its neighbours that are updated in the same way, and what binds its name
    again behind it.
    """
    source, _, statement = found
    updated = _update(source, statement)
    if updated is None:
        raise NoEditError("it is no update of one name")
    block = source.block(statement)
    names = {updated[0]}
    rows = [statement]
    for each in block[block.index(statement) + 1 :]:
        also = _update(source, each)
        if also is not None and (also[0] in names or f"{also[0]}.grad" in also[1]):
            names.add(also[0])
            rows.append(each)
    draft, last = Draft(source), {}
    for each in rows:
        name, new = _update(source, each) or updated
        last[name] = each
        if not source.is_alone(each):
            raise NoEditError("statements share a line")
        space = source.indent(each)
        text = f"with torch.no_grad():\n{space}{source.deeper()}{new}"
        draft.put(source.range(each), text)
    for name, each in last.items():
        behind = map(source.of, block[block.index(each) + 1 :])
        if not any(f"{name}.grad" in text for text in behind):  # or that clears it
            draft.after(each, f"{name}.grad = None")
    return draft.edit(safe=False)


def _update(source: Source, statement: ast.stmt) -> tuple[str, str] | None:
    """Return the name that ``w = w - step`` binds anew, and ``w -= step``."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name | ast.Attribute):
        return None
    name = source.of(target)
    if (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Sub | ast.Add)
        and source.of(value.left) == name
    ):
        sign = "-" if isinstance(value.op, ast.Sub) else "+"
        return name, f"{name} {sign}= {source.of(value.right)}"
    if isinstance(value, ast.List | ast.Tuple | ast.ListComp | ast.Dict):
        return None
    inside = (each for each in ast.walk(value) if isinstance(each, type(target)))
    if not any(source.of(each) == name for each in inside):
        return None  # it makes something else
    return name, f"{name}.copy_({source.of(value)})"


@remedy_at
def copies(found: Place, *after: str, suffix: str = ".clone()") -> Edit:
    """Let what an expression makes be a copy: ``.clone()`` behind one of these calls.

    Without names it follows the expression at the site.
    """
    source, node, statement = found
    if after:
        inside = calls_in(statement, after)
        node = only(inside, "there is not exactly one such call")
    if isinstance(node, ast.Return | ast.Assign) and node.value is not None:
        node = node.value
    if not isinstance(node, ast.expr):
        raise NoEditError("there is no expression to copy")
    return Draft(source).append(node, suffix).edit(safe=True)


EXPANDING = ("expand", "expand_as", "broadcast_to", "as_strided", "unfold")


@remedy_at
def reads_copy(found: Place, at: int | None) -> Edit:
    """Read from a copy what a statement writes at once: ``x[1:] += x[:-1].clone()``.

    ``at``: which argument is read; the object of a method is its first.
    """
    source, _, statement = found
    if isinstance(statement, ast.AugAssign | ast.Assign):
        return Draft(source).append(statement.value, ".clone()").edit(safe=True)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and at is not None:
        given = call.args
        if isinstance(call.func, ast.Attribute) and not is_module_name(call.func.value):
            given = [call.func.value, *given]
        if at < len(given):
            return Draft(source).append(given[at], ".clone()").edit(safe=True)
    raise NoEditError("what is read is not written here")


@remedy_at
def rows_added(found: Place) -> Edit:
    """Add to rows that an index may name twice: ``h = h.index_add(0, i, values)``."""
    source, _, statement = found
    match statement:
        case ast.AugAssign(target=ast.Subscript() as rows, op=ast.Add(), value=value):
            pass
        case ast.Assign(
            targets=[ast.Subscript() as rows],
            value=ast.BinOp(left=ast.Subscript() as old, op=ast.Add(), right=value),
        ) if source.of(old) == source.of(rows):
            pass
        case _:
            raise NoEditError("it is no addition to rows")
    if not isinstance(rows.value, ast.Name | ast.Attribute) or not isinstance(
        rows.slice, ast.Name | ast.Attribute
    ):
        raise NoEditError("the rows are not named by one index")
    name, index = source.of(rows.value), source.of(rows.slice)
    new = f"{name} = {name}.index_add(0, {index}, {source.of(value)})"
    return Draft(source).put(source.range(statement), new).edit(safe=False)


@remedy_at
def added_without_graph(found: Place) -> Edit:
    """Add a number's worth without its graph: ``total += loss.detach()``."""
    source, _, statement = found
    value = None
    if isinstance(statement, ast.AugAssign):
        value = statement.value
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        value = statement.value
        if isinstance(value.op, ast.Add):
            names = {source.of(each) for each in statement.targets}
            value = value.right if source.of(value.left) in names else value
    if value is None:
        raise NoEditError("nothing is added here")
    return Draft(source).append(value, ".detach()").edit(safe=True)


@remedy
def kept_without_graph(
    history: History,
    site: RawSite | None,
    names: Collection[str],
    line: int | None = None,
) -> Edit:
    """Keep what a statement stores without its graph: ``losses.append(loss.detach())``.

    Of a tuple or dict of things, or ``zip(keys, values)``, what has one of these names.
    """
    source, _, statement = place(history, site, line or None)
    match statement:
        case ast.Expr(value=ast.Call(args=[*_, kept])):
            pass
        case ast.Assign(value=ast.Tuple(elts=[_, _, *_])):
            raise NoEditError("each of several tensors is to be kept so")
        case ast.Assign(value=kept):
            pass
        case ast.AugAssign(value=ast.List(elts=[kept]) | ast.Tuple(elts=[kept])):
            pass
        case _:
            raise NoEditError("nothing is stored here")
    parts = [kept]
    spelt_out = isinstance(kept, ast.Dict | ast.DictComp | ast.Tuple | ast.List)
    if spelt_out or called(kept) == "zip":
        parts = [
            each
            for each in ast.walk(kept)
            if isinstance(each, ast.Name | ast.Attribute) and source.of(each) in names
            if isinstance(each.ctx, ast.Load)
        ]
    if len(parts) != 1 or isinstance(parts[0], ast.ListComp | ast.Constant):
        raise NoEditError("what is kept has no name here")
    if called(parts[0]) in _CONTAINERS:
        raise NoEditError("a table of several is kept")
    return Draft(source).append(parts[0], ".detach()").edit(safe=True)
