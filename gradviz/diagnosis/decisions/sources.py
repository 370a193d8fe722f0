"""All expressions that a value may come from, where several are known to be meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.bindings import (
    all_parameters,
    definition,
    of_name,
    returned,
)
from gradviz.diagnosis.decisions.frames import (
    Function,
    Spot,
    calls_of,
    is_method,
    last_name,
    parameters,
)
from gradviz.diagnosis.edits.syntax import is_module_name

_MOST = 200  # expressions that are looked at
_HANDING_ON = ("items", "values", "copy", "get", "pop")  # methods of containers
_WALKING = ("dict", "list", "tuple", "zip", "enumerate", "sorted", "reversed", "iter")


def sources(where: Spot) -> Iterator[Spot]:
    """Yield an expression and what may have given it its value, nearest first.

    Unlike a choice, this goes through all calls of a function, with ``*`` and ``**``
    parameters, and through all that a container holds. Other calls end it.
    """
    waiting, seen = [where], {where.node}
    while waiting and len(seen) < _MOST:
        each = waiting.pop(0)
        yield each
        for one in _behind(each):
            if one.node not in seen:
                seen.add(one.node)
                waiting.append(one)


def _behind(where: Spot) -> Iterator[Spot]:
    match where.node:
        case ast.Name(name):
            function = where.scope
            bound = of_name(where)
            if bound is not None:
                yield bound
            elif isinstance(function, Function):
                yield from _given(where, function, name)
        case ast.Dict(_, values):
            yield from map(where.at, values)
        case ast.Tuple(values) | ast.List(values) | ast.Set(values):
            yield from map(where.at, values)
        case ast.Subscript(container):
            yield where.at(container)
        case ast.IfExp(_, body, other):
            yield from map(where.at, (body, other))
        case ast.Call(ast.Attribute(container, method)) if method in _HANDING_ON:
            yield where.at(container)
        case ast.Call(ast.Name(name), values, keywords) if name in _WALKING:
            yield from map(where.at, [*values, *(each.value for each in keywords)])
        case ast.Call(function):
            found = definition(where.source, last_name(function))
            for each in returned(found) if isinstance(found, Function) else ():
                yield Spot(where.source, each)
        case _:
            return


def _given(where: Spot, function: Function, name: str) -> Iterator[Spot]:
    """Yield what the calls of a function in its file give to a parameter."""
    source, args = where.source, function.args
    method = is_method(source, function)
    names = parameters(function)[1:] if method else parameters(function)
    for call in calls_of(source, function):
        if isinstance(call.func, ast.Attribute) and is_module_name(call.func.value):
            continue
        rest = [
            each for each in call.keywords if each.arg not in all_parameters(function)
        ]
        if args.kwarg is not None and args.kwarg.arg == name:
            yield from (Spot(source, each.value) for each in rest)
        elif args.vararg is not None and args.vararg.arg == name:
            yield from (Spot(source, each) for each in call.args[len(names) :])
        else:
            named = [each.value for each in call.keywords if each.arg == name]
            place = names.index(name) if name in names else len(call.args)
            given = named or call.args[place : place + 1]
            yield from (Spot(source, each) for each in given)
