"""A custom Function reads from its ctx what nobody has put there.

What it does
    Finds runs that ended because the backward of a Function of the user read an
    attribute of ``ctx`` that forward has not set, or unpacked other saved tensors than
    forward saved. Where ``__init__`` sets the attribute, names the line that calls
    ``apply`` of an instance.

Why is this bad
    ``forward`` and ``backward`` are static: each call of ``apply`` makes a ctx, which
    is the same for its forward and its backward and for nothing else. ``apply`` belongs
    to the class: ``GradReverse(0.5).apply(x)`` makes an instance, and forgets it.

Example
    ::

        class GradReverse(torch.autograd.Function):
            def __init__(self, weight):
                self.weight = weight

            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad

        y = GradReverse(0.5).apply(x)

Use instead
    ::

        class GradReverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                ctx.weight = weight
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad, None

        y = GradReverse.apply(x, 0.5)

When it stays quiet
    Where nothing was raised: where forward sets the attribute, an ``__init__`` or an
    instance does no harm.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from gradviz.diagnosis._words import shortened
from gradviz.diagnosis.custom_functions import place, returns
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.frames import Spot, parameters, spot
from gradviz.diagnosis.edits.syntax import called
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._module_backwards import attributes_of_first
from gradviz.program import Call, CustomFunction, History, Raised, RawSite

_CERTAINTY = 0.9


@dataclass(frozen=True, slots=True)
class _Read:
    """A line of a Function that reads ``ctx.name``, with the class around it."""

    custom: CustomFunction
    site: RawSite
    where: Spot
    name: str
    owner: ast.ClassDef
    applied: Call | None

    def method(self, *names: str) -> list[ast.FunctionDef]:
        """Return those methods of the class that have one of these names."""
        found = [each for each in self.owner.body if isinstance(each, ast.FunctionDef)]
        return [each for each in found if each.name in names]

    @property
    def applied_here(self) -> Related:
        """The line that applied the Function."""
        return Related("applied here", self.applied.site if self.applied else None)

    def set_on_ctx(self) -> list[ast.Attribute]:
        """Return where forward, or ``setup_context``, sets attributes of its ctx."""
        methods = self.method("forward", "setup_context")
        return [each for one in methods for each in attributes_of_first(one, ast.Store)]


@rule("GV844", "custom-fn-not-on-ctx", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the read that ended the run."""
    raised = history.raised
    read = None if raised is None else _read(history, raised)
    if raised is None or read is None:
        return
    if read.name == "saved_tensors":
        yield from _unpacked(history, raised, read)
    elif raised.kind == "AttributeError" and f"'{read.name}'" in raised.text:
        made = [attributes_of_first(e, ast.Store) for e in read.method("__init__")]
        own = [each for some in made for each in some if each.attr == read.name]
        if own and read.applied is not None:
            yield _of_instance(history, read, read.applied, own[0])
        else:
            yield _not_kept(history, read)


def _read(history: History, raised: Raised) -> _Read | None:
    """Return what the line that raised reads of the ctx of its function."""
    site = raised.site
    where = spot(history, site)
    if site is None or where is None:
        return None
    owner, scope = where.source.owner(where.node), where.scope
    for custom in history.program.functions:
        if site[0] not in (custom.backward, custom.forward) or owner is None:
            continue
        names = parameters(scope) if isinstance(scope, ast.FunctionDef) else []
        statement = where.source.statement(where.node)
        for each in (*ast.walk(where.node), *ast.walk(statement)):
            if (
                isinstance(each, ast.Attribute)
                and isinstance(each.value, ast.Name)
                and each.value.id in names[:1]
                and (each.attr == "saved_tensors" or f"'{each.attr}'" in raised.text)
            ):
                calls = [call for call in history.calls if call.op == custom.name]
                last = calls[-1] if calls else None
                return _Read(custom, site, where.at(each), each.attr, owner, last)
    return None


# ---- an instance's apply ------------------------------------------------------------


def _of_instance(history: History, read: _Read, applied: Call, own: ast.AST) -> Hit:
    text = history.text(applied.site)
    made, new = _with_argument(history, read, applied)
    name = read.where.source.of(read.where.node)
    return Hit(
        f"`apply` is a method of the class: in `{shortened(text)}` the "
        f"{read.owner.name} object is thrown away, and with it "
        f"`{read.where.source.of(own)}` (line {own.lineno}). "  # type: ignore[attr-defined]
        f"forward and backward are given a ctx of their own, which has no "
        f"`{read.name}`: `{name}` raised.",
        applied.site,
        f"Write `{new}`; in forward take it as the last parameter and keep it, "
        f"`ctx.{read.name} = {read.name}`; end backward with {_one_more(read)}."
        f"{' Then `__init__` can go.' if made else ''}",
        symptom=read.site,
        related=(Related("is not on the ctx here", read.site),),
        nodes=applied.nodes,
        explains=True,
        certainty=_CERTAINTY,
    )


def _one_more(read: _Read) -> str:
    """Return what backward is to return: its gradients, and None for the argument."""
    found = [
        each
        for method in read.method("backward")
        for each in own_nodes(method)
        if isinstance(each, ast.Return) and each.value is not None
    ]
    text = read.where.source.of(found[0].value) if len(found) == 1 else ""  # type: ignore[arg-type]
    return f"`return {text or '…'}, None`"


def _with_argument(history: History, read: _Read, applied: Call) -> tuple[bool, str]:
    """Return whether the call makes the instance, and how to call ``apply``."""
    where = spot(history, applied.site)
    call = None if where is None else where.node
    kind, name = read.owner.name, read.name
    if (
        where is None
        or not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
    ):
        return False, f"{kind}.apply(…, {name})"
    instance = call.func.value
    given = [where.source.of(each) for each in call.args]
    if isinstance(instance, ast.Call):
        values = [*instance.args, *(each.value for each in instance.keywords)]
        more = [where.source.of(each) for each in values]
        return True, f"{called(instance) or kind}.apply({', '.join([*given, *more])})"
    more = [f"{where.source.of(instance)}.{name}"]
    return False, f"{kind}.apply({', '.join([*given, *more])})"


# ---- what forward keeps -------------------------------------------------------------


def _not_kept(history: History, read: _Read) -> Hit:
    """Return the hit of an attribute that forward has not set on its ctx."""
    kept, name = read.set_on_ctx(), read.name
    known = list(dict.fromkeys(each.attr for each in kept))
    ctx = read.where.source.of(read.where.node).rpartition(".")[0]
    message = f"`{ctx}.{name}` is not there: forward of {read.custom.name}"
    here = [each for each in kept if each.attr == name]
    alike = get_close_matches(name, known, 1, 0.7)
    code = read.custom.forward
    site, line, fix = read.site, None, ""
    if here and code is not None:
        site, line = place(history, code, here[0].lineno)
        message += f" sets it in line {here[0].lineno} only on some of its ways."
        fix = "Set it on every way through forward, before it returns."
    elif alike:
        message += f" sets `{alike[0]}`, and no `{name}`."
        fix = f"Write `{ctx}.{alike[0]}`."
    else:
        listed = ", ".join(f"`{each}`" for each in known) or "nothing"
        message += f" keeps {listed} on it."
        fix = f"Write `ctx.{name} = …` in forward, before it returns; a tensor that is "
        fix += "an input or an output belongs into `ctx.save_for_backward(…)`."
        takes = [parameters(each) for each in read.method("forward")]
        if takes and name in takes[0] and code is not None:
            site, line = place(history, code, _ending(history, read))
            fix = f"Write `ctx.{name} = {name}` before this line."
    return Hit(
        message,
        site,
        fix,
        line=line,
        symptom=read.site,
        related=(
            Related("read here", None if site is read.site else read.site),
            read.applied_here,
        ),
        explains=True,
        certainty=_CERTAINTY,
    )


def _ending(history: History, read: _Read) -> int:
    """Return the line of the last return of forward, or that of its name."""
    found = returns(history, read.custom.forward)
    return (found[-1] if found else read.method("forward")[0]).lineno


def _unpacked(history: History, raised: Raised, read: _Read) -> Iterator[Hit]:
    """Yield the hit of a backward that wants other saved tensors than there are."""
    if raised.kind not in ("ValueError", "IndexError"):
        return
    calls = [
        each
        for method in read.method("forward", "setup_context")
        for each in own_nodes(method)
        if isinstance(each, ast.Call) and called(each) == "save_for_backward"
    ]
    saves = f"saves with `{read.where.source.of(calls[-1])}`" if calls else "saves none"
    line = f" (line {calls[-1].lineno})" if calls else ""
    yield Hit(
        f"{read.custom.name}.backward takes apart `ctx.saved_tensors`, and forward "
        f"{saves}{line}: {raised.text.strip().splitlines()[0]}.",
        read.site,
        "Call `ctx.save_for_backward(…)` once in forward, with the tensors that are "
        "taken here, in this order.",
        symptom=read.site,
        related=(read.applied_here,),
        explains=True,
        certainty=_CERTAINTY,
    )
