"""Classes of modules that have a ``backward`` for gradients, and where they ran."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from gradviz.dependence.learning import once
from gradviz.diagnosis.decisions.bindings import own_nodes
from gradviz.diagnosis.decisions.frames import last_name, parameters
from gradviz.diagnosis.decisions.sites import sources_of
from gradviz.diagnosis.edits.syntax import Source, called
from gradviz.program import Call, History, ModuleCall


@dataclass(frozen=True, slots=True)
class Layer:
    """A class of modules with a ``backward`` for gradients, and where it ran."""

    source: Source
    owner: ast.ClassDef
    backward: ast.FunctionDef
    ran: list[ModuleCall] = field(default_factory=list[ModuleCall])
    inside: list[Call] = field(default_factory=list[Call])

    @property
    def forward(self) -> ast.FunctionDef | None:
        """Return its forward, if it has one of its own."""
        return _method(self.owner, "forward")


def layers_with_backward(history: History) -> list[Layer]:
    """Return the classes of modules that have such a method, with their calls."""
    modules, known = history.program.modules, history.once(_classes)
    found: dict[str, Layer] = {}
    for kind in dict.fromkeys(each.kind for each in modules.values()):
        classes = known.get(kind, [])
        method = _method(classes[0][1], "backward") if len(classes) == 1 else None
        if method is not None and _is_of_gradients(method):
            found[kind] = Layer(*classes[0], method)
    around: dict[int, Layer] = {}  # by the index of a module call
    for event in history.of(ModuleCall) if found else ():
        module = modules.get(event.module)
        layer = found.get(module.kind) if module is not None else None
        if layer is not None and event.grad_enabled:
            layer.ran.append(event)
        layer = layer or around.get(event.parent or -1)
        if layer is not None:
            around[event.index] = layer
    for call in history.calls if around else ():
        layer = around.get(call.module or -1)
        if layer is not None and call.grad_enabled:
            layer.inside.append(call)
    return [each for each in found.values() if each.ran]


@once
def _classes(history: History) -> dict[str, list[tuple[Source, ast.ClassDef]]]:
    """Return the classes that the files of the program define, by name."""
    found: dict[str, list[tuple[Source, ast.ClassDef]]] = {}
    for source in sources_of(history):
        for each in ast.walk(source.tree):
            if isinstance(each, ast.ClassDef):
                found.setdefault(each.name, []).append((source, each))
    return found


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    methods = (each for each in owner.body if isinstance(each, ast.FunctionDef))
    return next((each for each in methods if each.name == name), None)


def attributes_of_first(
    method: ast.FunctionDef, context: type[ast.expr_context]
) -> list[ast.Attribute]:
    """Return the attributes of its first argument that a method reads, or sets."""
    first = parameters(method)[:1]
    return [
        each
        for each in own_nodes(method)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, context)
        and isinstance(each.value, ast.Name)
        and each.value.id in first
    ]


def _is_of_gradients(method: ast.FunctionDef) -> bool:
    """Tell whether a method takes gradients and returns some, and runs no pass."""
    is_static = "staticmethod" in map(last_name, method.decorator_list)
    if method.decorator_list and not is_static:
        return False
    given = parameters(method)[1:]
    if method.args.vararg is not None:
        given.append(method.args.vararg.arg)
    nodes = list(own_nodes(method))
    gives = any(isinstance(each, ast.Return) and each.value for each in nodes)
    passes = any(called(each) in ("backward", "grad") for each in nodes)
    return any("grad" in each.lower() for each in given[:1]) and gives and not passes
