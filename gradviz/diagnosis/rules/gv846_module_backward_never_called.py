"""A layer defines how its gradient is to be computed, and nobody calls that.

What it does
    Finds modules of the user that ran in a forward pass, whose class has a method
    ``backward`` which takes a gradient and returns one, and which never ran though a
    backward pass went through the module.

Why is this bad
    Autograd differentiates what ``forward`` computed, and calls ``backward`` of an
    ``autograd.Function`` only. A reversed gradient that is written as a method of a
    module is not reversed, a straight-through estimator lets nothing through, and no
    error says so.

Example
    ::

        class GradReverse(nn.Module):
            def forward(self, x):
                return x.view_as(x)

            def backward(self, grad):
                return -grad

Use instead
    ::

        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad):
                return -grad

        class GradReverse(nn.Module):
            def forward(self, x):
                return Reverse.apply(x)

When it stays quiet
    Where the program calls the method, or hands it to a hook; where it runs a pass
    (``loss.backward()``) or returns nothing; where it takes no gradient, as the inverse
    of a flow; where ``forward`` applies a Function of its own.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradviz.dependence.learning import joined, once
from gradviz.dependence.op_families import plain
from gradviz.diagnosis._words import shortened
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.frames import parameters
from gradviz.diagnosis.decisions.sites import codes, line_of, sources_of
from gradviz.diagnosis.edits.syntax import Source, called
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import passes_through
from gradviz.diagnosis.rules._module_backwards import (
    Layer,
    attributes_of_first,
    layers_with_backward,
)
from gradviz.program import Backward, History, RawSite, following
from gradviz.program.places import first_line

_IDENTITIES = frozenset(("view_as", "view", "clone", "alias", "contiguous", "identity"))


@rule("GV846", "module-backward-never-called", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per class."""
    for layer in layers_with_backward(history):
        walked = _walked(history, layer)
        if walked is not None and not _may_run(history, layer):
            yield _hit(history, layer, walked)


# ---- who walked through it, and who may have called it -------------------------------


def _walked(history: History, layer: Layer) -> Backward | None:
    """Return a pass that went through such a module, as autograd does it.

    None also where its forward has another gradient than its ops': of a Function.
    """
    nodes = [key for call in layer.inside for key in call.nodes]
    known = [each for key in nodes if (each := history.node(key)) is not None]
    if any(each.custom is not None or each.is_function for each in known):
        return None
    for key in nodes:
        for each in passes_through(history, key):
            return each
    takes = any(value.requires_grad for call in layer.inside for value in call.inputs)
    if nodes or (layer.inside and not takes):
        return None
    after = following(history.backwards, layer.ran[0].index)
    return next((each for each in after if each.error is None), None)


def _may_run(history: History, layer: Layer) -> bool:
    """Tell whether the method ran, is handed to others, or called by the program."""
    seen = history.once(_entered)
    place = layer.source.file, first_line(layer.backward)
    if place in seen or _has_hooks(layer):
        return True
    passes = {line_of(each.site) for each in history.backwards if each.site}
    return any(
        _is_handed_on(source, each) or _is_given(source, each, passes)
        for source in sources_of(history)
        for each in ast.walk(source.tree)
        if isinstance(each, ast.Attribute) and each.attr == "backward"
    )


@once
def _entered(history: History) -> set[tuple[str, int]]:
    """Return where the functions begin that events ran in."""
    events = (site for each in history.events for site in each.frames)
    return {(code.co_filename, code.co_firstlineno) for code, _ in events}


def _has_hooks(layer: Layer) -> bool:
    """Tell whether a class changes gradients by hooks, or by a Function."""
    forward = layer.forward
    applied = () if forward is None else own_nodes(forward)
    return any("hook" in called(each) for each in ast.walk(layer.owner)) or any(
        called(each) == "apply" for each in applied
    )


def _is_handed_on(source: Source, each: ast.Attribute) -> bool:
    """Tell whether a method is given away: ``x.register_hook(self.backward)``."""
    around = source.parent(each)
    return not (isinstance(around, ast.Call) and around.func is each)


def _is_given(
    source: Source, each: ast.Attribute, passes: Collection[tuple[str, int]]
) -> bool:
    """Tell whether a call gives something to a ``backward`` that is not a tensor's."""
    call = source.parent(each)
    if not isinstance(call, ast.Call) or not call.args:
        return False
    lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
    return not any((source.file, line) in passes for line in lines)


# ---- words ---------------------------------------------------------------------------


def _hit(history: History, layer: Layer, walked: Backward) -> Hit:
    name, line = layer.owner.name, layer.backward.lineno
    same = all(plain(call.op) in _IDENTITIES for call in layer.inside)
    effect = (
        "so the gradient passes through it unchanged"
        if same
        else f"so the gradient is that of what `forward` returns{_computed(layer)}"
    )
    nodes = [key for call in layer.inside for key in call.nodes]
    reached = [key for key in nodes if key in walked.nodes] or nodes
    return Hit(
        f"`backward` of {name} (line {line}) never runs, {effect}. Autograd calls the "
        f"`backward` of a `torch.autograd.Function`, but {name} is an `nn.Module`.",
        _site(history, layer),
        _fix(layer),
        line=line,
        symptom=walked.site,
        related=(
            Related("module called here", layer.ran[0].site),
            Related(
                "forward computed here", layer.inside[0].site if layer.inside else None
            ),
            Related("backward pass", walked.site),
        ),
        nodes=tuple(reached[:1]),
    )


def _site(history: History, layer: Layer) -> RawSite | None:
    """Return a site in the method, which never ran."""
    first = first_line(layer.backward)
    for code in codes(history, layer.source.file):
        if code.co_name == "backward" and code.co_firstlineno == first:
            return code, 0
    return layer.ran[0].site


def _computed(layer: Layer) -> str:
    """Return ": `x.view_as(x)` (line 55)", what a forward returns."""
    nodes = () if layer.forward is None else own_nodes(layer.forward)
    given = [e.value for e in nodes if isinstance(e, ast.Return) and e.value]
    if len(given) != 1:
        return ""
    return f": `{shortened(layer.source.of(given[0]))}` (line {given[0].lineno})"


def _fix(layer: Layer) -> str:
    """Return how the same is written as a Function."""
    given = parameters(layer.forward)[1:] if layer.forward is not None else ["…"]
    own, made = _own(layer)
    sets = [f"`ctx.{each} = {each}`" for each in own]
    sets += [f"`ctx.{each}` in place of `self.{each}`" for each in made]
    keeps = f" (set {joined(sets)})" if sets else ""
    reads = joined(f"`ctx.{each}`" for each in [*own, *made]) if own or made else ""
    nones = f"; return also None for {joined(f'`{e}`' for e in own)}" if own else ""
    nones = f" (read {reads}{nones})" if reads else ""
    takes = parameters(layer.backward)[1:] or ["…"]
    applied = ", ".join([*given, *(f"self.{each}" for each in own)])
    name = f"{layer.owner.name}Function"
    return (
        f"Move both methods to a `class {name}(torch.autograd.Function)`, as static "
        f"methods: `forward(ctx, {', '.join([*given, *own])})`{keeps} and "
        f"`backward(ctx, {', '.join(takes)})`{nones}. In `forward` of "
        f"{layer.owner.name}, return `{name}.apply({applied})`."
    )


def _own(layer: Layer) -> tuple[list[str], list[str]]:
    """Return the attributes of the module that its ``backward`` reads, in order.

    Those that the module has, and those that each ``forward`` sets.
    """
    if layer.backward.decorator_list:
        return [], []
    forward = layer.forward
    stored = [] if forward is None else attributes_of_first(forward, ast.Store)
    made = {each.attr for each in stored}
    found = attributes_of_first(layer.backward, ast.Load)
    read = list(dict.fromkeys(each.attr for each in found))
    return [e for e in read if e not in made], [e for e in read if e in made]
