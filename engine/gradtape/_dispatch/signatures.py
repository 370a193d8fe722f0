"""Functions with an op's own parameters, which call what runs it.

A wrapper over ``*args, **kwargs`` would bind arguments by hand, which costs more than
the op itself. So source is written, once for all ops whose tensors and options come in
one order; the names, and which of them are keywords, are then put into its code.
"""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable
from inspect import Parameter
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .._common.type_name import type_name
from .._graph.op import Kernel, Op
from .deprecated_signatures import OLDER, call_older
from .out import write_out
from .templates import cells

ABSENT: Any = object()
"""The default of an argument that has none, or whose second name was used."""

_SECOND_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's names, which PyTorch takes too."""

_BY_KEYWORD = Parameter.KEYWORD_ONLY
Execute = Callable[[Op, tuple[Any, ...], tuple[Any, ...]], Any]


def compile_function(
    record: Op, name: str, execute: Execute, out: bool = False
) -> Callable[..., Any]:
    """Return a function with the op's real signature that calls ``execute``."""
    seconds = tuple(
        [
            (at, p.name)
            for at, p in enumerate(record.parameters)
            if p.name in _SECOND_NAMES and p.name not in record.tensors
        ]
    )
    required, defaults = _defaults(record)
    store = write_out
    bools = [
        (at, n)
        for at, n in enumerate(record.options)
        if n != "keepdim" and _parameter(record, n).annotation == "bool"
    ]
    if bools:
        execute, store = _refusing(execute, bools), _refusing(write_out, bools)
    older = record.name in OLDER
    roles = "".join("o" if p.name in record.options else "t" for p in record.parameters)
    code = _code_of(_Shape(roles, required, seconds, out, older))
    code = _renamed(code, record, name, [_SECOND_NAMES[n] for _, n in seconds])
    names = [p.name for p in record.parameters]
    values = {
        "_absent": ABSENT,
        "_call_older": call_older,
        "_execute": execute,
        "_function": None,
        "_missing": functools.partial(_missing, name, names),
        "_name": name,
        "_not_bool": functools.partial(_not_bool, record),
        "_op": record,
        "_write_out": store,
    }
    closure = cells(values, code.co_freevars)
    # Its globals are those of the kernel's module: doctest and inspect find it there.
    function = FunctionType(code, record.kernel.__globals__, name, None, closure)
    function.__qualname__ = name  # what Python calls it when arguments are missing
    if older:
        closure[code.co_freevars.index("_function")].cell_contents = function
    keywords = dict.fromkeys([_SECOND_NAMES[n] for _, n in seconds], ABSENT)
    keywords |= {"out": None} if out else {}
    positional = [p.name for p in record.parameters if p.kind is not _BY_KEYWORD]
    given = tuple([defaults[n] for n in positional if n in defaults])
    function.__defaults__ = given or None
    keywords |= {n: v for n, v in defaults.items() if n not in positional}
    function.__kwdefaults__ = keywords or None
    return function


def _parameter(record: Op, name: str) -> Parameter:
    return next(p for p in record.parameters if p.name == name)


def _defaults(record: Op) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return the defaults by name, and which parameters have none but must seem to.

    Those come after one that has, or have a second name.
    """
    defaults: dict[str, Any] = {}
    required: list[int] = []
    for at, p in enumerate(record.parameters):
        if p.default is not Parameter.empty:
            defaults[p.name] = p.default
        elif p.name in _SECOND_NAMES or defaults:
            defaults[p.name] = ABSENT
            if p.name not in _SECOND_NAMES:
                required.append(at)
    return tuple(required), defaults


# ---- the code ----------------------------------------------------------------------


class _Shape(NamedTuple):
    """What the code of a function depends on, apart from names."""

    roles: str  # "t" for a tensor, "o" for an option, in order
    required: tuple[int, ...]  # which must be given, though they have a default
    seconds: tuple[tuple[int, str], ...]  # which have another name
    out: bool
    older: bool  # takes PyTorch's deprecated signatures


_numbers = itertools.count()


@functools.cache
def _code_of(shape: _Shape) -> CodeType:
    """Write and compile the function of a shape; its parameters are ``a0``, ``a1``…"""
    names = [f"a{at}" for at in range(len(shape.roles))]
    tensors = [n for n, role in zip(names, shape.roles, strict=True) if role == "t"]
    options = [n for n in names if n not in tensors]
    call = f"(_op, {_tuple(tensors)}, {_tuple(options)}"
    lines = [f"if a{at} is _absent: raise _missing({at})" for at in shape.required]
    heads = [*names, "*older" if shape.older else "*"]
    for at, name in shape.seconds:
        heads.append(f"s{at}")
        lines.append(f"if s{at} is not _absent: a{at} = s{at}")
        lines.append(f"if a{at} is _absent: raise _missing({at})")
        if name == "keepdim":
            refusal = f"raise _not_bool({name!r}, a{at})"
            lines.append(f"if a{at} is not False and a{at} is not True: {refusal}")
    if shape.out:
        heads.append("out")
        lines.append(f"if out is not None: return _write_out{call}, out)")
    if shape.older:
        given = f"(_name, _function, {_tuple([*tensors, '*older'])}"
        lines.insert(
            0, f"if older: return _call_older{given}{', out=out' * shape.out})"
        )
    if heads[-1] == "*":
        heads.pop()
    lines = [
        f"def make({', '.join(_FREE)}):",
        f"    def function({', '.join(heads)}):",
        *[f"        {line}" for line in (*lines, f"return _execute{call})")],
    ]
    file = f"<gradtape signature {next(_numbers)}, {shape.roles}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    module = compile(text, file, "exec", dont_inherit=True)
    (make,) = [each for each in module.co_consts if isinstance(each, CodeType)]
    (code,) = [each for each in make.co_consts if isinstance(each, CodeType)]
    return code


_FREE = (
    *("_absent", "_call_older", "_execute", "_function", "_missing"),
    *("_name", "_not_bool", "_op", "_write_out"),
)


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _renamed(code: CodeType, record: Op, name: str, seconds: list[str]) -> CodeType:
    """Return the code of a shape with an op's parameters."""
    names = [p.name for p in record.parameters]
    if record.tensors[:1] == ("self",):  # PyTorch's name; of methods never written
        names[names.index("self")] = "input"
    names += seconds
    keywords = sum(p.kind is _BY_KEYWORD for p in record.parameters)
    return code.replace(
        co_argcount=code.co_argcount - keywords,
        co_kwonlyargcount=code.co_kwonlyargcount + keywords,
        co_name=name,
        co_qualname=name,
        co_varnames=(*names, *code.co_varnames[len(names) :]),
    )


# ---- refusals ----------------------------------------------------------------------


def _missing(function: str, names: list[str], at: int) -> TypeError:
    return TypeError(
        f'{function}() missing 1 required positional arguments: "{names[at]}"'
    )


def _not_bool(record: Op, name: str, given: Any) -> TypeError:
    return TypeError(
        f"{record.name.removeprefix('_')}(): argument '{name}' must be bool, not "
        f"{type_name(given)}"
    )


def _refusing(
    run: Callable[..., Any], bools: list[tuple[int, str]]
) -> Callable[..., Any]:
    """Let options that must be bools be nothing else."""

    def checked(op: Op, args: Any, options: tuple[Any, ...], *out: Any) -> Any:
        for at, name in bools:
            given = options[at]
            if given is not False and given is not True:
                raise _not_bool(op, name, given)
        return run(op, args, options, *out)

    return checked


# ---- kernels -----------------------------------------------------------------------


def ordered_kernel(record: Op) -> Kernel:
    """Return the kernel as a function of xp, the tensors and then the options."""
    kernel, parameters = record.kernel, record.parameters
    order = [*record.tensors, *record.options]
    if [p.name for p in parameters] != order:
        return _reordered(kernel, parameters, order)
    by_name = sum(p.kind is _BY_KEYWORD for p in parameters)
    if not by_name:
        return kernel
    # In its code, what is passed by name comes right after what is passed by position.
    assert isinstance(kernel, FunctionType)
    code = kernel.__code__.replace(
        co_argcount=kernel.__code__.co_argcount + by_name, co_kwonlyargcount=0
    )
    scope, closure = kernel.__globals__, kernel.__closure__
    return FunctionType(code, scope, kernel.__name__, None, closure)


def _reordered(
    kernel: Kernel, parameters: tuple[Parameter, ...], order: list[str]
) -> Kernel:
    firsts = [p.name for p in parameters if p.kind is not _BY_KEYWORD]
    pick = itemgetter(*[order.index(name) for name in firsts])
    rest = [p.name for p in parameters if p.kind is _BY_KEYWORD]
    others = [(name, order.index(name)) for name in rest]
    if not others:
        return lambda xp, *values: kernel(xp, *pick(values))

    def ordered(xp: Any, *values: Any) -> Any:
        return kernel(xp, *pick(values), **{name: values[at] for name, at in others})

    return ordered
