"""Result dtypes of mixed operands, for every pair of dtypes, against PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradtape._dtypes import DTYPES

from ._engines import OURS, Engine, needs_torch, theirs
from .ops.test_ops_inplace import attempt, errors_differ
from .oracle import assert_same

DTYPE_NAMES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
BINARY = ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "atan2")
COMPARING = ("eq", "lt", "logical_and", "maximum", "fmin", "bitwise_or", "xlogy")
UNARY = ("exp", "neg", "abs", "floor", "sign", "sigmoid", "sqrt", "round", "isnan")
UNARY += ("reciprocal", "square", "logical_not", "bitwise_not", "erf", "relu", "frac")
REDUCING = ("sum", "mean", "prod", "amax", "any", "std", "median", "norm", "argmax")
REDUCING += ("count_nonzero", "nansum", "max", "sort", "logsumexp")
NUMBERS: tuple[Any, ...] = (True, 2, 2.5, 1j)
SHAPES: tuple[tuple[int, ...], ...] = ((), (2,))

pytestmark = needs_torch


def tensor(engine: Engine, name: str, shape: tuple[int, ...]) -> Any:
    return engine.tensor(np.ones(shape, DTYPES[name].numpy))


def dtypes_of(engine: Engine, result: Any) -> Any:
    """Return the dtypes of a result by name, or the error a call gave."""
    if isinstance(result, Exception):
        return result
    return [str(t.dtype) for t in engine.tensors(result)]


def differences(function: str, *operands: Any, **named: Any) -> list[str]:
    """Compare a call; an operand is a number or a pair of dtype name and shape."""
    found: list[Any] = []
    for engine in (OURS, theirs()):
        args = [tensor(engine, *o) if isinstance(o, tuple) else o for o in operands]
        call = engine.function(function)
        found.append(
            dtypes_of(engine, attempt(lambda c=call, a=args: c(*a, **named))[0])
        )
    mine, yours = found
    where = f"{function}{operands}"
    if isinstance(mine, Exception) and isinstance(yours, Exception):
        return (
            [] if type(mine) is type(yours) else [f"{where}: {mine!r}, not {yours!r}"]
        )
    if isinstance(yours, Exception) or isinstance(mine, Exception):
        return [f"{where}: {e}" for e in errors_differ(mine, yours)]
    return [] if mine == yours else [f"{where}: {mine}, should be {yours}"]


def half_complex(*names: str) -> bool:
    """Tell whether PyTorch's complex32 may result, which NumPy does not have."""
    return "float16" in names and any(n.startswith("complex") for n in names)


def report(found: list[str]) -> None:
    assert not found, f"{len(found)} differences\n  " + "\n  ".join(found[:30])


@pytest.mark.parametrize("function", [*BINARY, *COMPARING])
def test_two_tensors_meet_in_the_dtype_of_pytorch(function: str):
    found: list[str] = []
    for a, b in itertools.product(DTYPE_NAMES, repeat=2):
        for s, t in itertools.product(SHAPES, repeat=2):
            if not half_complex(a, b):
                found += differences(function, (a, s), (b, t))
    report(found)


@pytest.mark.parametrize("function", [*BINARY, *COMPARING[:2]])
def test_a_tensor_and_a_number_meet_in_the_dtype_of_pytorch(function: str):
    found: list[str] = []
    for name, number, shape in itertools.product(DTYPE_NAMES, NUMBERS, SHAPES):
        if not half_complex(name, type(number).__name__):
            found += differences(function, (name, shape), number)
    report(found)


@pytest.mark.parametrize("function", ["where", "clamp", "addcmul"])
def test_three_operands_meet_in_the_dtype_of_pytorch(function: str):
    found: list[str] = []
    for a, b in itertools.product(DTYPE_NAMES[:-2], repeat=2):
        first = ("bool", (2,)) if function == "where" else (a, (2,))
        found += differences(function, first, (a, (2,)), (b, ()))
        found += differences(function, first, (b, ()), (a, (2,)))
    report(found)


@pytest.mark.parametrize("function", [*UNARY, *REDUCING])
def test_one_tensor_gives_the_dtype_of_pytorch(function: str):
    options = {"dim": 0} if function == "logsumexp" else {}
    found: list[str] = []
    for name in DTYPE_NAMES:
        found += differences(function, (name, (2,)), **options)
    report(found)


@pytest.mark.parametrize("function", ["sum", "mean", "prod", "cumsum"])
@pytest.mark.parametrize("wanted", ["float32", "float64", "int64"])
def test_a_dtype_argument_decides(function: str, wanted: str):
    for name in DTYPE_NAMES[:-2]:
        results: list[Any] = []
        for engine in (OURS, theirs()):
            x = tensor(engine, name, (2,))
            args = (0,) if function == "cumsum" else ()
            kind = getattr(engine.module, wanted)
            call = engine.function(function)
            results.append(
                dtypes_of(
                    engine,
                    attempt(lambda c=call, x=x, a=args, k=kind: c(x, *a, dtype=k))[0],
                )
            )
        mine, yours = results
        if isinstance(yours, Exception):
            assert list(errors_differ(mine, yours)) == []
        else:
            assert mine == yours


@pytest.mark.parametrize("function", ["add", "sub", "mul", "div", "floor_divide"])
def test_two_numbers_make_the_tensor_of_pytorch(function: str):
    pairs = ((7, 2), (2.5, 2), (True, 2), (-4.5, 2.5))

    def program(t):
        operate = getattr(t, function)
        return [operate(a, b) for a, b in pairs]

    assert_same(program)


def test_other_functions_refuse_two_numbers():
    def program(t):
        t.atan2(1, 2)

    assert_same(program)


@pytest.mark.parametrize("mode", ["trunc", "floor", None])
def test_a_rounding_mode_that_is_given_has_a_node_of_its_own(mode: str | None):
    def program(t):
        x = t.tensor([7.0, -3.0], requires_grad=True)
        found = t.div(x, 2.0, rounding_mode=mode)
        return found, found.grad_fn._saved_rounding_mode, t.div(x, 2.0)

    assert_same(program)
