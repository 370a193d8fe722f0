"""Edits of training loops: passes, optimizers, schedulers, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from gradviz.dependence import learning
from gradviz.diagnosis.edits.calls import call_at
from gradviz.diagnosis.edits.draft import Draft, Edit, NoEditError
from gradviz.diagnosis.edits.remedy import Remedy, remedy, remedy_at
from gradviz.diagnosis.edits.syntax import (
    Loop,
    Place,
    Source,
    called,
    dotted,
    keyword,
    place,
)
from gradviz.program import Backward, Call, History, RawSite


def known(source: Source, node: ast.AST, name: str) -> str:
    """Return a name if the code around a node can read it; NoEditError if not.

    In its own function, that is a name which was bound before; in a method, ``self``
    for an object of its class.
    """
    root = name.split(".")[0].split("[")[0]
    if _is_own(source, node, root):
        name, root = f"self{name.removeprefix(root)}", "self"
    if root == "self" and not _has(source, node, name.split("[")[0]):
        raise NoEditError(f"{name} is another object's")
    scopes = [source.scope(node), source.tree]
    line = source.range(node).line
    for scope in scopes:
        for each in ast.walk(scope):
            match each:
                case ast.Name(id=bound, ctx=ast.Store()) if bound == root:
                    before = scope is not scopes[0] or each.lineno < line
                    if source.scope(each) is scope and before:
                        return name
                case ast.arg(arg=bound) if bound == root and scope is not source.tree:
                    return name
                case _:
                    pass
    raise NoEditError(f"{name} is not known there")


def _is_own(source: Source, node: ast.AST, root: str) -> bool:
    """Tell whether a name is bound to an object of the class around a node alone."""
    owner = source.owner(node)
    made_by = [
        called(each.value)
        for each in ast.walk(source.tree)
        if isinstance(each, ast.Assign)
        and any(dotted(target) == root for target in each.targets)
    ]
    return owner is not None and made_by == [owner.name]


def _has(source: Source, node: ast.AST, name: str) -> bool:
    """Tell whether the class around a node speaks of an attribute of its own."""
    spoken = ast.walk(source.owner(node) or source.tree)
    return any(dotted(each) == name for each in spoken)


@remedy
def beside_pass(
    history: History,
    site: RawSite | None,
    optimizer: str | None,
    method: str,
    *,
    after: bool = False,
    step: RawSite | None = None,
    safe: bool = False,
) -> Edit:
    """Call a method of an optimizer before, or behind, the line of a pass.

    Behind its step, where only some turns of a loop come to that.
    """
    if not optimizer:
        raise NoEditError("the optimizer has no name")
    source, _, statement = place(history, site)
    text = f"{known(source, statement, optimizer)}.{method}()"
    draft = Draft(source)
    if step is not None:
        other = place(history, step)
        block = source.block(statement)
        inside = other.source is source and other.statement not in block
        if inside and source.statement_in(other.statement, block) is not None:
            return draft.after(other.statement, text).edit(safe=safe)
    put = draft.after if after else draft.before
    return put(statement, text).edit(safe=safe)


@remedy_at
def of_another(found: Place, optimizer: str | None) -> Edit:
    """Call the method of another optimizer: ``opt_g.step()`` for ``opt_d.step()``."""
    call = call_at(found, ("step",))
    if not optimizer or not isinstance(call.func, ast.Attribute):
        raise NoEditError("the optimizer has no name")
    name = known(found.source, found.statement, optimizer)
    return Draft(found.source).replace(call.func.value, name).edit(safe=False)


def loop_around(source: Source, node: ast.AST) -> Loop:
    """Return the innermost loop around a node, in its function."""
    loop = next((each for each in source.loops(node) if each is not node), None)
    if loop is None:
        raise NoEditError("there is no loop around it")
    return loop


@remedy
def hoisted(
    history: History,
    site: RawSite | None,
    *others: RawSite | None,
    unless: RawSite | None = None,
) -> Edit:
    """Move statements before the loop around them, or behind another one in it."""
    found = [place(history, each) for each in (site, *others)]
    source, statements = found[0].source, [each.statement for each in found]
    if any(isinstance(each, ast.AugAssign | ast.Return) for each in statements):
        raise NoEditError("the statement does more than make it")
    loop = loop_around(source, statements[0])
    if any(
        e.source is not source or loop not in source.around(e.statement) for e in found
    ):
        raise NoEditError("they stand in different loops")
    after = None
    if unless is not None:
        other = place(history, unless)
        if other.source is source and loop in source.around(other.statement):
            after = other.statement
    draft = Draft(source)
    for each in statements:
        draft.move(each, before=None if after else loop, after=after)
    return draft.edit(safe=False)


@remedy
def into_loop(history: History, site: RawSite | None, of: RawSite | None) -> Edit:
    """Move a statement to the begin of the loop around another one."""
    source, _, statement = place(history, site)
    other = place(history, of)
    if other.source is not source:
        raise NoEditError("they stand in two files")
    loop = loop_around(source, other.statement)
    if source.scope(loop) is not source.scope(statement) or loop in source.around(
        statement
    ):
        raise NoEditError("the loop is another function's")
    return Draft(source).move(statement, before=loop.body[0]).edit(safe=False)


@remedy
def detached_after(
    history: History,
    made: RawSite | None,
    backward: RawSite | None,
    names: Sequence[str],
    *,
    several: bool = False,
    retained: RawSite | None = None,
) -> Edit:
    """Cut the graph of a state behind the pass of its turn: ``h = h.detach()``.

    ``several`` tells that the last name stands for a tuple.
    """
    source, _, statement = place(history, backward)
    other = place(history, made)
    if not all(map(str.isidentifier, names)) or other.source is not source:
        raise NoEditError("the state has no name of its own")
    if source.scope(statement) is not source.scope(other.statement):
        raise NoEditError("the pass is in another function")
    new = [f"{name}.detach()" for name in names]
    if several:
        new[-1] = f"tuple(each.detach() for each in {names[-1]})"
    draft = Draft(source)
    if retained is not None:
        found = place(history, retained)
        call = call_at(found, ("backward", "grad"))
        flag = keyword(call, "retain_graph")
        if found.source is not source or flag is None:
            raise NoEditError("the graph is not retained here")
        draft.drop_argument(call, flag)
    draft.after(statement, f"{', '.join(names)} = {', '.join(new)}")
    return draft.edit(safe=False)


@remedy_at
def given(found: Place, modules: Sequence[str], *, beside: bool = False) -> Edit:
    """Give an optimizer the parameters of these modules, or theirs too."""
    call, source = call_at(found), found.source
    if not modules or not call.args or isinstance(call.args[0], ast.Starred):
        raise NoEditError("what it is given is not written here")
    names = [known(source, call, each) for each in modules]
    texts = [f"{each}.parameters()" for each in names]
    if beside:
        texts.insert(0, source.of(call.args[0]))
    new = (
        texts[0] if len(texts) == 1 else f"[{', '.join(f'*{each}' for each in texts)}]"
    )
    if beside and isinstance(call.args[0], ast.List):
        raise NoEditError("it is given groups, perhaps")
    return Draft(source).replace(call.args[0], new).edit(safe=False)


@remedy
def trained_again(
    history: History, switch: RawSite | None, forward: RawSite | None
) -> Edit:
    """Call ``.train()`` before the forward pass, or where the evaluation ends."""
    found = place(history, switch)
    call = call_at(found, ("eval", "train"))
    assert isinstance(call.func, ast.Attribute)
    source, model = found.source, found.source.of(call.func.value)
    target = place(history, forward)
    draft = Draft(source)
    scope = source.scope(call)
    together = target.source is source and source.scope(target.statement) is scope
    called_model = dotted(target.node.func) if isinstance(target.node, ast.Call) else ""
    name = model if together else called_model
    if name and target.source is source:
        return draft.before(target.statement, f"{name}.train()").edit(safe=True)
    if not isinstance(scope, ast.FunctionDef):
        raise NoEditError("the evaluation has no end")
    last = scope.body[-1]
    ends = [each for each in ast.walk(scope) if isinstance(each, ast.Return)]
    if ends not in ([], [last]):
        raise NoEditError("the evaluation ends in several places")
    put = draft.before if isinstance(last, ast.Return) else draft.after
    return put(last, f"{model}.train()").edit(safe=True)


@remedy
def unscaled(
    history: History,
    site: RawSite | None,
    scale: RawSite | None,
    optimizer: str,
    *,
    step: bool,
) -> Edit:
    """Let the loss scaler step, or unscale before the gradients are clipped."""
    source, _, statement = place(history, site)
    scaling = place(history, scale)
    call = call_at(scaling, ("scale",))
    if not isinstance(call.func, ast.Attribute) or scaling.source is not source:
        raise NoEditError("the scaler has no name here")
    scaler = known(source, statement, source.of(call.func.value))
    name = known(source, statement, optimizer)
    draft = Draft(source)
    if step:
        stepping = call_at(place(history, site), ("step",))
        draft.replace(stepping, f"{scaler}.step({name})")
        return draft.after(statement, f"{scaler}.update()").edit(safe=False)
    return draft.before(statement, f"{scaler}.unscale_({name})").edit(safe=False)


@remedy_at
def compared_with_zero(found: Place) -> Edit:
    """Ask whether the remainder at a site is 0."""
    if isinstance(found.source.parent(found.node), ast.Compare):
        raise NoEditError("it is compared already")
    if not isinstance(found.node, ast.BinOp) or not isinstance(found.node.op, ast.Mod):
        raise NoEditError("no remainder is asked for")
    return Draft(found.source).wrap(found.node, "", " == 0").edit(safe=False)


@remedy_at
def walked_again(found: Place, *, safe: bool = False) -> Edit:
    """Keep what the iterator at a site gives as a list, which can be walked again."""
    if not isinstance(found.node, ast.Call | ast.GeneratorExp):
        raise NoEditError("no expression makes the iterator there")
    return Draft(found.source).wrap(found.node, "list(", ")").edit(safe=safe)


def carried_cut(
    history: History,
    made: RawSite | None,
    second: Backward,
    use: Call | None,
    *,
    retained: bool = False,
) -> Remedy | None:
    """Return what cuts the graph of a state that a loop carries along by its name."""
    targets, names = history.places.targets(made), carried_names(history, made, use)
    calls = [call for call in history.calls if call.site == made and call.outputs]
    if not names or (not calls and len(names) < 2):  # one may stand for a tuple
        return None
    several = (
        len(targets) > 1
        and names == targets[-1:]
        and len(calls[-1].outputs) > len(targets)
    )
    flag = second.site if retained else None
    return detached_after(made, second.site, names, several=several, retained=flag)


def owners(history: History, tensors: Collection[int]) -> list[str]:
    """Return the names of the outermost modules that parameters belong to, in order.

    Paths within the only model of a program do not begin with its name.
    """
    wanted = set(tensors)
    return [
        model.name
        for model in learning.outermost(history)
        if model.name and not wanted.isdisjoint(learning.all_parameters(history, model))
    ]


def only_optimizer(history: History) -> str:
    """Return the name of the program's optimizer, "" where there are several."""
    found = list(history.program.optimizers.values())
    return (found[0].name or "") if len(found) == 1 else ""


def carried_names(
    history: History, made: RawSite | None, use: Call | None
) -> list[str]:
    """Return what a statement binds that the call of a later turn reads, in order."""
    read: set[str] = set()
    if made is None or use is None:
        return []
    for site in use.frames:
        statement = history.places.statement(site) if site[0] is made[0] else None
        for each in () if statement is None else ast.walk(statement):
            if isinstance(getattr(each, "ctx", None), ast.Load):
                read.add(dotted(each))
    return [each for each in history.places.targets(made) if each in read]


@remedy_at
def scheduled_of(found: Place, name: str | None) -> Edit:
    """Make a scheduler of another optimizer."""
    call = call_at(found)
    if not name or not call.args:
        raise NoEditError("the optimizer has no name")
    new = known(found.source, call, name)
    return Draft(found.source).replace(call.args[0], new).edit(safe=False)


@remedy_at
def called_with(
    found: Place, loop: ast.For, call: ast.Call, model: str, values: str
) -> Edit:
    """Call a module with parameters from elsewhere, in the place of a loop over its.

    ``torch.func.functional_call(net, dict(zip(…)), (x,))`` for ``net(x)``.
    """
    source = found.source
    if call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
        raise NoEditError("its inputs are more than a tuple")
    given = "".join(f"{source.of(each)}, " for each in call.args)
    named = f"dict(zip(dict({model}.named_parameters()), {values}))"
    new = f"torch.func.functional_call({model}, {named}, ({given.rstrip()}))"
    return Draft(source).remove(loop).replace(call, new).edit(safe=False)
