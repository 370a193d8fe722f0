"""Edits of what learns: leaves, parameters, containers, and copies of models."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from gradviz.dependence.flow import words
from gradviz.diagnosis.edits.calls import call_at
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError, only
from gradviz.diagnosis.edits.remedy import remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Place,
    Source,
    called,
    calls_in,
    dotted,
    keyword,
    names_in,
    place,
)
from gradviz.program import History, RawSite


def value_at(found: Place) -> ast.expr:
    """Return what the statement at a place assigns or returns."""
    statement = found.statement
    gives = isinstance(statement, ast.Assign | ast.Return | ast.AnnAssign)
    value = statement.value if gives else None
    if value is not None and not isinstance(value, ast.Tuple):
        return value
    raise NoEditError("the statement gives no single value")


def assigned_at(found: Place) -> tuple[ast.expr, ast.expr]:
    """Return the one target of the assignment at a place, and its value."""
    match found.statement:
        case ast.Assign([target], value):
            return target, value
        case _:
            raise NoEditError("it is no plain assignment")


def attribute_at(found: Place) -> tuple[ast.Attribute, ast.expr]:
    """Return the attribute that the statement at a place sets, and to what."""
    target, value = assigned_at(found)
    if not isinstance(target, ast.Attribute):
        raise NoEditError("it sets no attribute")
    return target, value


@remedy
def gradients_last(
    history: History, site: RawSite | None, asked: RawSite | None = None
) -> Edit:
    """Compute first and ask for gradients last: ``(…).requires_grad_()``.

    ``asked`` is the line that asked for them too early, where that is another one.
    """
    found = place(history, site)
    value, draft = value_at(found), Draft(found.source)
    early = found if asked is None else place(history, asked)
    if early.source is not found.source:
        raise NoEditError("the leaf is made in another file")
    calls = calls_in(early.statement)
    asking = [each for each in calls if _asks(each) and each is not value]
    if len(asking) != 1:
        return draft.append(value, ".detach().requires_grad_()").edit(safe=False)
    draft = _without(draft, asking[0])
    return draft.append(value, ".requires_grad_()").edit(safe=True)


@remedy_at
def without_gradients(found: Place) -> Edit:
    """Make a constant of what a line lets require grad."""
    draft, statement = Draft(found.source), found.statement
    asking = [each for each in calls_in(statement) if _asks(each)]
    if len(asking) != 1 or not isinstance(statement, ast.Assign):
        raise NoEditError("it is asked for in a statement of its own")
    return _without(draft, asking[0]).edit(safe=False)


def _without(draft: Draft, asking: ast.Call) -> Draft:
    flag = keyword(asking, "requires_grad")
    if flag is None:
        return draft.drop_method(asking)
    return draft.drop_argument(asking, flag)


def _asks(call: ast.Call) -> bool:
    method = isinstance(call.func, ast.Attribute) and called(call) == "requires_grad_"
    return method or keyword(call, "requires_grad") is not None


@remedy_at
def asks_for_gradients(found: Place) -> Edit:
    """Let the tensor that a line makes require grad."""
    value, draft = value_at(found), Draft(found.source)
    made = isinstance(value, ast.Call) and called(value) in _FACTORIES
    if made and isinstance(value, ast.Call) and dotted(value.func):
        draft.set_keyword(value, "requires_grad", "True")
    else:
        draft.append(value, ".requires_grad_()")
    return draft.edit(safe=False)


_FACTORIES = words(
    "zeros ones full empty rand randn randint linspace tensor arange eye"
)


@remedy
def in_floats(history: History, site: RawSite | None, line: int | None = None) -> Edit:
    """Make floats where integers are to require grad: of a setting, there."""
    found = place(history, site, line)
    draft = Draft(found.source)
    if isinstance(found.node, ast.Constant):
        return draft.replace(found.node, f"{found.node.value}.0").edit(safe=False)
    value = value_at(found)
    if called(value) == "Parameter" and isinstance(value, ast.Call) and value.args:
        return draft.append(value.args[0], ".float()").edit(safe=True)
    asking = [each for each in calls_in(value) if keyword(each, "requires_grad")]
    if asking:
        draft.set_keyword(asking[0], "dtype", "torch.float32")
    else:
        draft.append(value, ".float()")
    return draft.edit(safe=True)


@remedy_at
def switched_off(found: Place) -> Edit:
    """Cut a result off its graph, whose switch is refused: ``x = x.detach()``."""
    match found.statement:
        case ast.Assign([ast.Attribute(target), *_]):
            pass
        case ast.Expr(ast.Call(ast.Attribute(target, "requires_grad_"))):
            pass
        case _:
            target = None
    if not isinstance(target, ast.Name | ast.Attribute):
        raise NoEditError("the tensor has no name")
    name = found.source.of(target)
    draft = Draft(found.source).replace(found.statement, f"{name} = {name}.detach()")
    return draft.edit(safe=False)


@remedy
def attribute_named(
    history: History, site: RawSite | None, name: str, line: int | None = None
) -> Edit:
    """Spell the attribute that a statement sets in another way."""
    found = place(history, site, line)
    target, _ = attribute_at(found)
    return Draft(found.source).rename(target, name).edit(safe=False)


@remedy_at
def switched_by_call(found: Place) -> Edit:
    """Freeze a module by its method: ``net.requires_grad_(False)``."""
    source, (target, value) = found.source, attribute_at(found)
    new = f"{source.of(target.value)}.requires_grad_({source.of(value)})"
    return Draft(source).put(source.range(found.statement), new).edit(safe=False)


@remedy
def registered(
    history: History, site: RawSite | None, container: str, line: int | None
) -> Edit:
    """Put what an attribute is given into ``nn.ModuleList`` or another container."""
    found = place(history, site, line)
    value, draft = value_at(found), Draft(found.source)
    name = container if imports(found.source, "nn") else f"torch.{container}"
    is_empty = isinstance(value, ast.List) and not value.elts
    is_empty |= isinstance(value, ast.Dict) and not value.keys
    if is_empty:
        return draft.replace(value, f"{name}()").edit(safe=True)
    name_only = isinstance(value, ast.Name | ast.Attribute)
    if name_only and "Parameter" not in container and _is_read_behind(found, value):
        raise NoEditError("the list is made elsewhere, and goes on")
    return draft.wrap(value, f"{name}(", ")").edit(safe=True)


def _is_read_behind(found: Place, value: ast.expr) -> bool:
    """Tell whether a list that an attribute is given may grow afterwards."""
    return not isinstance(value, ast.Name) or any(
        isinstance(each, ast.Name)
        and each.id == value.id
        and each.lineno > found.statement.lineno
        for each in ast.walk(found.source.scope(found.statement))
    )


def imports(source: Source, name: str) -> bool:
    """Tell whether a file imports something under a name, on its top level."""
    return any(
        (alias.asname or alias.name.split(".")[0]) == name
        for each in source.tree.body
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    )


def importing(draft: Draft, name: str) -> Draft:
    """Add an import to a draft where the file lacks it."""
    source = draft.source
    if imports(source, name):
        return draft
    for each in source.tree.body:
        is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        future = isinstance(each, ast.ImportFrom) and each.module == "__future__"
        if not is_text and not future:
            return draft.before(each, f"import {name}")
    raise NoEditError("the file is empty")


@remedy
def copied_model(
    history: History, site: RawSite | None, line: int | None = None
) -> Edit:
    """Make a model, or its state, one of its own: ``copy.deepcopy(…)``."""
    found = place(history, site, line)
    value, draft = value_at(found), Draft(found.source)
    if isinstance(value, ast.DictComp):
        inner = value.value
        return draft.append(inner, ".clone()").edit(safe=True)
    if isinstance(value, ast.ListComp):
        return draft.append(value.elt, ".clone()").edit(safe=True)
    if called(value) in ("dict", "list", "OrderedDict", "items", "values"):
        raise NoEditError("it copies the container already")
    importing(draft, "copy")
    if isinstance(value, ast.Call) and called(value) == "copy" and value.args:
        return draft.replace(value.func, "copy.deepcopy").edit(safe=True)
    return draft.wrap(value, "copy.deepcopy(", ")").edit(safe=True)


@remedy_at
def values_copied(found: Place) -> Edit:
    """Copy the values of a tensor instead of its memory: ``a.data.copy_(b.data)``."""
    source, (target, value) = found.source, attribute_at(found)
    if target.attr != "data":
        raise NoEditError("it sets no data")
    new = f"{source.of(target)}.copy_({source.of(value)})"
    return Draft(source).put(source.range(found.statement), new).edit(safe=True)


@remedy_at
def shared_parameter(found: Place) -> Edit:
    """Share the parameter itself: ``b.weight = a.weight``."""
    target, value = assigned_at(found)
    source, draft = found.source, Draft(found.source)
    if called(value) == "Parameter" and isinstance(value, ast.Call) and value.args:
        draft.replace(value, _undotted(source, value.args[0]))
    else:
        draft.put(source.range(target), _undotted(source, target))
        draft.put(source.range(value), _undotted(source, value))
    return draft.edit(safe=False)


def _undotted(source: Source, node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return source.of(node.value)
    raise NoEditError("it is not the data of a parameter")


@remedy_at
def random_start(found: Place) -> Edit:
    """Begin with random values where a line makes one number all over."""
    draft = Draft(found.source)
    call = call_at(found, ("zeros", "zeros_", "ones", "ones_", "constant_"))
    if not isinstance(call.func, ast.Attribute):
        raise NoEditError("the other name may not be imported")
    if called(call) in ("zeros", "ones"):
        return draft.rename(call.func, "randn").edit(safe=False)
    if called(call) == "constant_":
        number = keyword(call, "val")
        node = number.value if number is not None else call.args[1]
        draft.rename(call.func, "kaiming_uniform_")
        return draft.replace(node, "5**0.5").edit(safe=False)
    draft.rename(call.func, "normal_")
    return draft.add_argument(call, "std=0.02").edit(safe=False)


@remedy_at
def started_at_zero(found: Place) -> Edit:
    """Begin with 0 where a line writes one number far below it."""
    low = [
        each
        for each in ast.walk(found.statement)
        if isinstance(each, ast.UnaryOp)
        and isinstance(each.op, ast.USub)
        and isinstance(each.operand, ast.Constant)
    ]
    number = only(low, "there is not one such number")
    return Draft(found.source).replace(number, "0.0").edit(safe=False)


@remedy
def retained(history: History, site: RawSite | None, line: int | None) -> Edit:
    """Keep the gradient of a result: ``h.retain_grad()`` behind its line."""
    found = place(history, site, line)
    target, _ = assigned_at(found)
    if not isinstance(target, ast.Name | ast.Attribute):
        raise NoEditError("it has no name of its own")
    text = f"{found.source.of(target)}.retain_grad()"
    return Draft(found.source).after(found.statement, text).edit(safe=True)


@remedy_at
def value_followed_by(found: Place, suffix: str) -> Edit:
    """Let a method follow all that a statement assigns or returns.

    Of a table of several things, the one that a site marks.
    """
    value = value_at(found)
    if isinstance(value, ast.Dict | ast.List) or called(value) in ("dict", "list"):
        value = found.node
        if not isinstance(value, ast.Call):
            raise NoEditError("the value has no place of its own")
    return Draft(found.source).append(value, suffix).edit(safe=False)


_COPYING = ("tensor", "as_tensor", "asarray", "Tensor", "FloatTensor", "new_tensor")


@remedy_at
def tensor_itself(found: Place, *, several: bool) -> Edit:
    """Use a tensor itself instead of a copy of its numbers; stack several."""
    call = call_at(found, _COPYING)
    given = only(call.args, "its operand is not written here")
    text = found.source.of(given)
    new = f"torch.stack({text})" if several else text
    return Draft(found.source).replace(call, new).edit(safe=False)


def given_to_constructor(history: History, site: RawSite | None) -> str | None:
    """Return what a constructor of tensors is given at a site: ``torch.Tensor(l)``."""
    with suppress(LookupError):
        found = place(history, site)
        node = found.node
        if isinstance(node, ast.Call) and called(node) in _COPYING and node.args:
            return found.source.of(node.args[0])
    return None


_OUT = ("cpu", "detach", "data", "numpy")


@remedy_at
def with_its_graph(found: Place) -> Edit:
    """Compute without ``nn.Parameter(…)``, ``.data`` and ``.detach()``."""
    whole = found.source.range(found.statement)
    text = found.source.of(found.statement)
    tree = ast.parse(text)
    kept = ast.unparse(_WithGraph().visit(tree))
    if "\n" in text or kept == ast.unparse(ast.parse(text)):
        raise NoEditError("nothing here drops the graph")
    return Draft(found.source).put(whole, kept).edit(safe=False)


class _WithGraph(ast.NodeTransformer):
    """Takes away what drops the graph of a tensor."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "detach":
            return function.value
        if called(node) == "Parameter" and len(node.args) == 1:
            return node.args[0]
        return node


@remedy_at
def picked_from_tensor(found: Place) -> Edit:
    """Index a tensor itself: ``x[rows]`` for ``torch.from_numpy(x.numpy()[rows])``."""
    nodes = (e for e in found.source.around(found.node) if isinstance(e, ast.Call))
    around = next((e for e in nodes if called(e) in (*_COPYING, "from_numpy")), None)
    if around is None:
        raise NoEditError("it does not come back in this expression")
    picked = only(around.args, "more than picking is done to it")
    if not isinstance(picked, ast.Subscript):
        raise NoEditError("more than picking is done to it")
    base = picked.value
    while isinstance(base, ast.Call | ast.Attribute):
        method = base.func if isinstance(base, ast.Call) else base
        if not isinstance(method, ast.Attribute) or method.attr not in _OUT:
            break
        base = method.value
    source = found.source
    new = f"{source.of(base)}[{source.of(picked.slice)}]"
    return Draft(source).replace(around, new).edit(safe=False)


@remedy
def kept_as_tensors(
    history: History, export: RawSite | None, entry: RawSite | None
) -> Edit:
    """Keep tensors where numbers were taken out and put in again."""
    out, back = place(history, export), place(history, entry)
    if out.source is not back.source:
        raise NoEditError("the numbers cross files")
    exports = call_at(out, ("item", "tolist"))
    call = call_at(back, _COPYING)
    given = only(call.args, "its operand is not written here")
    draft = Draft(out.source)
    text = out.source.of(given)
    if exports in out.source.around(call) or exports in ast.walk(call):
        if exports is not given:
            raise NoEditError("numbers and tensors are mixed in one expression")
        assert isinstance(exports.func, ast.Attribute)
        return draft.replace(call, out.source.of(exports.func.value)).edit(safe=False)
    bound = out.statement.targets[0] if isinstance(out.statement, ast.Assign) else None
    is_same = bound is not None and dotted(bound) == text
    if called(exports) == "tolist" and not is_same:
        raise NoEditError("what is done to the numbers in between may want numbers")
    draft.drop_method(exports)
    is_list = called(exports) == "item" and not is_same
    new = f"torch.stack({text})" if is_list else text
    return draft.replace(call, new).edit(safe=False)


def method_in(fix: str) -> str:
    """Return the method that a sentence about dtypes proposes: ``.float()``.

    >>> method_in("Make it a float where it is created: `1.0` for `1`, or `.float()`.")
    '.float()'
    """
    found = re.search(r"`(\.(?:float|long)\(\)|\.to\([\w.]+\))`", fix)
    return found[1] if found else ""


@remedy_at
def in_double(found: Place) -> Edit:
    """Make a tensor in float64."""
    makers = calls_in(found.statement, _FACTORIES)
    maker = only(makers, "there is not one call that makes it")
    draft = Draft(found.source).set_keyword(maker, "dtype", "torch.float64")
    return draft.edit(safe=True)


@remedy
def returns_none(
    history: History, site: RawSite | None, line: int | None, more: int
) -> Edit:
    """Return None for the inputs behind those that a backward has gradients for."""
    found = place(history, site, line)
    statement = found.statement
    if more < 1 or not isinstance(statement, ast.Return) or statement.value is None:
        raise NoEditError("which gradient is one too many is not known")
    source, value = found.source, statement.value
    text = source.of(value)
    if isinstance(value, ast.Tuple) and text.startswith("("):
        raise NoEditError("it stands in brackets")
    new = text + ", None" * more
    return Draft(source).put(source.range(value), new).edit(safe=False)


@remedy_at
def marked_dirty(found: Place) -> Edit:
    """Say in forward which input it changes: ``ctx.mark_dirty(x)``."""
    source, function = found.source, found.source.scope(found.node)
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) < 2:
        raise NoEditError("it is not written in forward itself")
    ctx, *inputs = (each.arg for each in function.args.args)
    read = [each for each in names_in(found.statement) if each in inputs]
    if not read:
        raise NoEditError("the input has another name there")
    returned = [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    if any(dotted(each.value) != read[0] for each in returned):
        raise NoEditError("the input is not what it returns")
    text = f"{ctx}.mark_dirty({read[0]})"
    return Draft(source).after(found.statement, text).edit(safe=False)
