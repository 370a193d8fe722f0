"""Writing an op's functions as source, with the signature its kernel has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._common.type_name import type_name
from .._graph.op import Op
from .deprecated_signatures import OLDER, call_older
from .out import write_out

ABSENT: Any = object()
"""The default of an argument that has none, or whose second name was used."""


def compile_function(
    record: Op, name: str, execute: Callable[..., Any], out: bool = False
) -> Callable[..., Any]:
    """Write a function with the op's real signature that calls ``execute``.

    A wrapper over ``*args, **kwargs`` would bind arguments by hand, which costs more
    than the op itself; NamedTuple and dataclasses are made the same way.
    """
    scope: dict[str, Any] = {
        "_execute": execute,
        "_op": record,
        "_absent": ABSENT,
        "_missing": _missing,
        "_not_bool": _not_bool,
    }
    heads: list[str] = []
    guards: list[str] = []
    names = {n: n for n in (*record.tensors, *record.options)}
    if record.tensors[:1] == ("self",):
        names["self"] = "input"  # PyTorch's name; as a method it is never written
    for p in record.parameters:
        if p.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in heads:
            heads.append("*")
        default = ""
        if p.default is not inspect.Parameter.empty:
            scope[f"_default_{p.name}"] = p.default
            default = f"=_default_{p.name}"
        elif p.name in _SECOND_NAMES or "=" in "".join(heads):
            default = "=_absent"
            if p.name not in _SECOND_NAMES:
                guard = f"if {p.name} is _absent: raise _missing({name!r}, {p.name!r})"
                guards.append(guard)
        heads.append(names[p.name] + default)
    second = [n for n in record.options if n in _SECOND_NAMES]
    if (second or out) and "*" not in heads:
        heads.append("*")
    for n in second:
        heads.append(f"{_SECOND_NAMES[n]}=_absent")
        guards.append(f"if {_SECOND_NAMES[n]} is not _absent: {n} = {_SECOND_NAMES[n]}")
        guards.append(f"if {n} is _absent: raise _missing({name!r}, {n!r})")
    for p in record.parameters:
        if p.annotation == "bool":
            odd = f"{p.name} is not False and {p.name} is not True"
            shown = record.name.removeprefix("_")
            refusal = f"_not_bool({shown!r}, {p.name!r}, {p.name})"
            guards.append(f"if {odd}: raise {refusal}")
    if record.name in OLDER:
        heads[heads.index("*")] = "*older"
        scope["_call_older"] = call_older
        firsts = ", ".join(names[n] for n in record.tensors)
        again = f"_call_older({name!r}, {name}, ({firsts}, *older){', out=out' * out})"
        guards.insert(0, f"if older: return {again}")
    tensors = "".join(f"{names[n]}, " for n in record.tensors)
    options = "".join(f"{n}, " for n in record.options)
    call = f"(_op, ({tensors}), ({options})"
    if out:
        scope["_write_out"] = write_out
        heads.append("out=None")
        guards.append(f"if out is not None: return _write_out{call}, out)")
    lines = "".join(f"    {guard}\n" for guard in guards)
    source = f"def {name}({', '.join(heads)}):\n{lines}    return _execute{call})\n"
    # Made inside a factory, the function's globals are those of the kernel's module:
    # doctest and inspect find it there.
    inner = "".join(f"    {line}\n" for line in source.splitlines())
    factory = f"def make({', '.join(scope)}):\n{inner}    return {name}\n"
    made: dict[str, Any] = {}
    code = compile(factory, f"<gradtape op {name}>", "exec")
    exec(code, record.kernel.__globals__, made)
    function = made["make"](**scope)
    function.__qualname__ = name  # what Python calls it when arguments are missing
    return function


_SECOND_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's names, which PyTorch takes too."""


def _missing(function: str, name: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{name}"')


def _not_bool(function: str, name: str, given: Any) -> TypeError:
    return TypeError(
        f"{function}(): argument '{name}' must be bool, not {type_name(given)}"
    )


def compile_invoke(record: Op) -> Callable[..., Any]:
    """Write ``invoke(xp, tensors, options)``, which calls the kernel in its order."""
    passes: list[str] = []
    for p in record.parameters:
        kind, names = (
            ("t", record.tensors) if p.name in record.tensors else ("p", record.options)
        )
        key = f"{p.name}=" if p.kind is inspect.Parameter.KEYWORD_ONLY else ""
        passes.append(f"{key}{kind}[{names.index(p.name)}]")
    source = f"def invoke(xp, t, p):\n    return _kernel(xp, {', '.join(passes)})\n"
    scope: dict[str, Any] = {"_kernel": record.kernel}
    exec(compile(source, f"<gradtape op {record.name}>", "exec"), scope)
    return scope["invoke"]
