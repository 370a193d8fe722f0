"""From an expression back to the line where its value was chosen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextvars import ContextVar

from gradviz.diagnosis.decisions.bindings import (
    definition,
    field,
    item_set,
    of_name,
    returned,
    set_attributes,
)
from gradviz.diagnosis.decisions.frames import (
    UNKNOWN,
    Frame,
    Function,
    Spot,
    last_name,
)
from gradviz.diagnosis.decisions.turns import loop_of, table_of, variable
from gradviz.diagnosis.edits.syntax import Source, dotted

_LONGEST = 24  # steps back that are taken
_MOST = 2_000  # expressions that one way is looked for in


class _Search:
    """What one question has looked at: code may lead in circles, and fan out."""

    def __init__(self) -> None:
        self.open: set[int] = set()  # expressions whose way is being looked for
        self.left = _MOST

    def enters(self, node: ast.AST) -> bool:
        """Tell whether to look further; then ``open`` has it until it is taken out."""
        self.left -= 1
        if self.left < 0 or id(node) in self.open or len(self.open) >= _LONGEST:
            return False
        self.open.add(id(node))
        return True


_SEARCH: ContextVar[_Search | None] = ContextVar("_SEARCH", default=None)


def choice(where: Spot) -> Spot:
    """Return the expression that decided the value of another.

    Follows names, parameters, attributes, entries of tables and what functions return,
    as far as it is clear where they come from: to a literal, a name of a library, or a
    call into one. Where a branch chose between literals, to what the branch asked for.
    """
    return path(where)[-1]


def function_at(where: Spot) -> Spot | None:
    """Return the definition of the function that an expression names or is."""
    last = choice(where)
    if isinstance(last.node, ast.Lambda):
        return last
    name = last.node.id if isinstance(last.node, ast.Name) else ""
    found = definition(last.source, name)
    return Spot(last.source, found) if isinstance(found, Function) else None


def path(where: Spot) -> list[Spot]:
    """Return the expressions on the way back to a choice, the first one included."""
    search = _SEARCH.get()
    if search is None:
        token = _SEARCH.set(_Search())
        try:
            return path(where)
        finally:
            _SEARCH.reset(token)
    if not search.enters(where.node):
        return [where]
    try:
        return _way(where)
    finally:
        search.open.discard(id(where.node))


def _way(where: Spot) -> list[Spot]:
    found = [where]
    while len(found) < _LONGEST:
        earlier = _behind(found[-1])
        if earlier is None or any(each.node is earlier.node for each in found):
            break
        found.append(earlier)
    asked = None if _decides(found[-1].node) else _asked_for(found[-1])
    return [*found, asked] if asked is not None else found


def _decides(node: ast.AST | None) -> bool:
    """Tell a setting, or a table of them, from what is chosen by a name elsewhere."""
    if isinstance(node, ast.UnaryOp):
        return _decides(node.operand)
    setting = isinstance(node, ast.Constant) and not isinstance(node.value, str)
    return setting or isinstance(node, ast.Dict | ast.List | ast.Tuple)


def _behind(where: Spot) -> Spot | None:
    """Return the expression that gave another its value; None where it chose itself."""
    match where.node:
        case ast.Name(name):
            return _of_turn(where, name) or of_name(where)
        case ast.Attribute():
            return _of_attribute(where, where.node)
        case ast.Subscript(container, key):
            return _of_item(where, container, key, None)
        case ast.Call():
            return _of_call(where, where.node)
        case ast.NamedExpr(_, value):
            return where.at(value)
        case _:
            return None


def _of_turn(where: Spot, name: str) -> Spot | None:
    """Return what a loop's variable is in the turn that its frame is in."""
    turn = where.frame.turn
    loop = None if turn is None else loop_of(where, name)
    if turn is None or loop is None:
        return None
    table = choice(where.at(table_of(loop)))
    found = variable(loop, table.node, turn, name)
    return None if found is None else table.at(found)


def _of_item(
    where: Spot, container: ast.expr, key: ast.expr, default: ast.expr | None
) -> Spot | None:
    """Return what chose an item: the entry of a table, or who asked for that one.

    Settings and tables of them decide themselves; of other things, such as layers, who
    gave the key has decided.
    """
    table = choice(where.at(container))
    if not isinstance(key, ast.Constant):
        asked = choice(where.at(key))
        if not isinstance(asked.node, ast.Constant):
            return None
        found = entry(table.node, asked.node.value)
        return table.at(found) if found is not None and _decides(found) else asked
    found = entry(table.node, key.value)
    if found is not None:
        return table.at(found)
    given = item_set(where, container, key.value)
    if given is None and isinstance(table.node, ast.Dict):
        given = default
    return None if given is None else where.at(given)


def entry_at(where: Spot) -> Spot | None:
    """Return the entry that a key picks from a table, both wherever they come from."""
    if not isinstance(where.node, ast.Subscript):
        return None
    table, key = choice(where.at(where.node.value)), choice(where.at(where.node.slice))
    if not isinstance(key.node, ast.Constant):
        return None
    found = entry(table.node, key.node.value)
    return None if found is None else table.at(found)


def entry_of(where: Spot, name: str) -> Spot | None:
    """Return what a table has under a name, wherever the table was written.

    Of a table that an object's attributes make, what that attribute was set to.
    """
    table = choice(where)
    owner = _whole(table.node)
    if owner is not None:
        node = ast.copy_location(ast.Attribute(owner, name, ast.Load()), owner)
        return _of_attribute(table, node)
    found = entry(table.node, name)
    return None if found is None else table.at(found)


def _whole(table: ast.AST) -> ast.expr | None:
    """Return the object whose attributes a table holds: of ``asdict(settings)``."""
    match table:
        case ast.Call(func, [owner]) if last_name(func) in ("asdict", "vars"):
            return owner
        case ast.Call(ast.Attribute(owner, "_asdict"), []):
            return owner
        case ast.Attribute(owner, "__dict__"):
            return owner
        case _:
            return None


def entry(table: ast.AST, key: object) -> ast.expr | None:
    """Return the value that a table has for a key, where both are spelt out."""
    match table:
        case ast.Dict(keys, values):
            for one, value in zip(keys, values, strict=True):
                if isinstance(one, ast.Constant) and one.value == key:
                    return value
        case ast.Tuple(elements) | ast.List(elements) if isinstance(key, int):
            return elements[key] if -len(elements) <= key < len(elements) else None
        case ast.Call(ast.Name("dict"), [], keywords):
            return next((each.value for each in keywords if each.arg == key), None)
        case _:
            pass
    return None


def _of_call(where: Spot, call: ast.Call) -> Spot | None:
    """Return what a call of the program's own returned, or what it looked up."""
    match call:
        case ast.Call(ast.Attribute(table, "get"), [key, *rest]):
            found = _of_item(where, table, key, rest[0] if rest else None)
            if found is not None:
                return found
        case ast.Call(ast.Name("getattr"), [_, name, *_]):
            return where.at(name) if not isinstance(name, ast.Constant) else None
        case ast.Call(ast.Name("str" | "int" | "float" | "bool"), [given]):
            return where.at(given)
        case _:
            pass
    found = definition(where.source, last_name(call.func))
    function = found or method_called(where, call)
    if isinstance(function, Function):
        values = returned(function)
        if len(values) == 1:
            frame = Frame(call, where.source, where.frame)
            return Spot(where.source, values[0], frame)
    return None


def method_called(where: Spot, call: ast.Call) -> ast.FunctionDef | None:
    """Return what a call of an object of the program's own class runs.

    Of a module, its forward.
    """
    made = choice(where.at(call.func))
    name = last_name(made.node.func) if isinstance(made.node, ast.Call) else ""
    of = definition(made.source, name)
    for each in of.body if isinstance(of, ast.ClassDef) else ():
        if isinstance(each, ast.FunctionDef) and each.name in ("forward", "__call__"):
            return each
    return None


# ---- attributes ----------------------------------------------------------------------


def _of_attribute(where: Spot, node: ast.Attribute) -> Spot | None:
    """Return what an attribute was set to; None of one of a module, which is a name."""
    owner = _owner(where, node)
    if isinstance(owner, Spot) and isinstance(owner.node, ast.Call):
        found = _of_object(owner, owner.node, node.attr)
        if found is not None:
            return found
    elif dotted(node) and owner is None and not _is_self(where, node.value):
        return None  # of an import, or of something unknown
    return _set_once(where, node.attr)


def _owner(where: Spot, node: ast.Attribute) -> Spot | None:
    """Return the expression that made the object which an attribute is read of."""
    if _is_self(where, node.value):
        scope = where.scope
        call, source = where.frame.call, where.frame.source
        if isinstance(scope, ast.FunctionDef) and scope.name == "__init__" and call:
            return None if source is None else Spot(source, call)
        return None
    owner = choice(where.at(node.value))
    made_here = isinstance(owner.node, ast.Call)
    return owner if made_here or owner.node is not node.value else None


def _is_self(where: Spot, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _of_object(owner: Spot, made: ast.Call, name: str) -> Spot | None:
    """Return what the constructor of an object was given for an attribute."""
    for each in made.keywords:
        if each.arg == name:
            return owner.at(each.value)
    if last_name(made.func) in ("parse_args", "parse_known_args"):
        default = _option(owner, name)
        return None if default is None else owner.at(default)
    of = definition(owner.source, last_name(made.func))
    if not isinstance(of, ast.ClassDef):
        return None
    frame = Frame(made, owner.source, owner.frame)
    for each in of.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            for statement, value in set_attributes(owner.source, name):
                if any(statement is one for one in ast.walk(each)):
                    return Spot(owner.source, value, frame)
            return None
    fields = [
        each.target.id
        for each in of.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    if name in fields and fields.index(name) < len(made.args):
        return owner.at(made.args[fields.index(name)])
    default = field(owner.source, of, name)
    return None if default is None else Spot(owner.source, default)


def _option(owner: Spot, name: str) -> ast.expr | None:
    """Return the default of an option of a command line."""
    for each in ast.walk(owner.source.tree):
        if isinstance(each, ast.Call) and last_name(each.func) == "add_argument":
            flags = [a.value for a in each.args if isinstance(a, ast.Constant)]
            spelt = [str(flag).lstrip("-").replace("-", "_") for flag in flags]
            if name in spelt:
                given = (one.value for one in each.keywords if one.arg == "default")
                return next(given, None)
    return None


def _set_once(where: Spot, name: str) -> Spot | None:
    """Return what an attribute of this name is set to, where one line alone does it.

    The class around counts first: others may have an attribute of that name too.
    """
    found = set_attributes(where.source, name)
    around = [e for e in where.source.around(where.node) if isinstance(e, ast.ClassDef)]
    inside = {id(node) for each in around for node in ast.walk(each)}
    own = [row for row in found if id(row[0]) in inside] or found
    if not own:
        return _of_property(where, name) or _field_once(where, name)
    if len(own) != 1:
        return None
    statement, value = own[0]
    same = where.source.scope(statement) is where.scope
    return Spot(where.source, value, where.frame if same else UNKNOWN)


def _of_property(where: Spot, name: str) -> Spot | None:
    """Return what a property of this name gives, where one class alone has it."""
    found = definition(where.source, name)
    decorators = getattr(found, "decorator_list", ())
    if not isinstance(found, ast.FunctionDef) or not any(
        last_name(each) in ("property", "cached_property") for each in decorators
    ):
        return None
    values = returned(found)
    return Spot(where.source, values[0]) if len(values) == 1 else None


def _field_once(where: Spot, name: str) -> Spot | None:
    """Return what the body of a class sets a name to, where one class alone does it."""
    tree = where.source.tree
    classes = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
    found = [field(where.source, each, name) for each in classes]
    values = [each for each in found if each is not None]
    return Spot(where.source, values[0]) if len(values) == 1 else None


# ---- branches ------------------------------------------------------------------------


def _asked_for(where: Spot) -> Spot | None:
    """Return the literal elsewhere for which a branch around an expression was taken.

    ``if kind == "nll": return nn.NLLLoss()`` is a table; who says "nll" has chosen.
    """
    for each in where.source.around(where.node):
        if isinstance(each, Function):
            return _looked_up(where, each)
        if isinstance(each, ast.ClassDef):
            return None
        if isinstance(each, ast.Dict):
            asked = _asked_of_table(where, each)
            if asked is not None:
                return asked
        for subject, wanted in subjects(each):
            asked = _literal(where.at(subject), wanted)
            if asked is not None and asked.node in defaults(where.scope):
                return asked
            if asked is not None and asked.scope is not where.scope:
                return asked
    return None


def _looked_up(where: Spot, function: Function) -> Spot | None:
    """Return the key by which the function around an expression was looked up.

    Of one that does nothing else than to give that: an entry of a table of makers.
    """
    caller, call = where.frame.caller, where.frame.call
    if caller is None or call is None or not _gives_at_once(function):
        return None
    way = path(caller.at(call.func))
    key = way[-1].node
    named = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return way[-1] if named and len(way) > 1 else None


def _asked_of_table(where: Spot, table: ast.Dict) -> Spot | None:
    """Return the key that an entry was asked by, where one line alone asks for it.

    Of a table of things that were made when the table was: its entries are looked up by
    keys that come from elsewhere.
    """
    inside = set(where.source.around(where.node))
    keys = [
        key.value
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and value in inside
    ]
    statement = where.source.statement(table)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    found = [
        asked
        for key in _keys_of(where.source, {last_name(each) for each in targets} - {""})
        if isinstance((asked := choice(Spot(where.source, key))).node, ast.Constant)
        and asked.node.value in keys
    ]
    return found[0] if len({each.node for each in found}) == 1 else None


def _keys_of(source: Source, tables: set[str]) -> Iterator[ast.expr]:
    """Yield the keys, spelt out nowhere, by which a file looks tables up."""
    for each in ast.walk(source.tree) if tables else ():
        match each:
            case ast.Subscript(table, key) | ast.Call(
                ast.Attribute(table, "get"), [key, *_]
            ):
                if last_name(table) in tables and not isinstance(key, ast.Constant):
                    yield key
            case _:
                pass


def _gives_at_once(function: Function) -> bool:
    if isinstance(function, ast.Lambda):
        return True
    body = [e for e in function.body if not isinstance(e, ast.Expr)]
    return len(body) == 1 and isinstance(body[0], ast.Return)


def _literal(where: Spot, wanted: ast.expr | None) -> Spot | None:
    """Return the literal that a subject is, the wanted one of several it may be."""
    asked = choice(where)
    if isinstance(asked.node, ast.IfExp) and isinstance(wanted, ast.Constant):
        for branch in (asked.node.body, asked.node.orelse):
            found = choice(asked.at(branch))
            literal = found.node
            if isinstance(literal, ast.Constant) and literal.value == wanted.value:
                return found
    return asked if isinstance(asked.node, ast.Constant) else None


def defaults(function: ast.AST) -> list[ast.expr]:
    """Return the values that a function has for what it is not given."""
    if not isinstance(function, Function):
        return []
    args = function.args
    return [*args.defaults, *(each for each in args.kw_defaults if each is not None)]


def subjects(branch: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield what the test of a branch compares with a literal, or asks for as it is."""
    test = branch.test if isinstance(branch, ast.If | ast.IfExp) else None
    if isinstance(branch, ast.Match):
        yield branch.subject, None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    match test:
        case ast.Compare(left, [ast.Eq() | ast.In()], [right]):
            if not any(isinstance(e, ast.Name | ast.Call) for e in ast.walk(right)):
                yield left, right
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield test, None
        case _:
            pass
