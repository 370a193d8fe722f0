"""``out=`` under autograd: who refuses it, who copies the history, who may go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .._engines import OURS, Engine, needs_torch, theirs
from ..oracle import assert_same

pytestmark = needs_torch

Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "argmax": lambda t, x, out: t.argmax(x, out=out.long()),
    "airy_ai": lambda t, x, out: t.special.airy_ai(x, out=out),
    "ceil": lambda t, x, out: t.ceil(x, out=out),
    "cond": lambda t, x, out: t.linalg.cond(x, out=out),
    "diff": lambda t, x, out: t.diff(x, out=out),
    "eq": lambda t, x, out: t.eq(x, x, out=out),
    "float_power": lambda t, x, out: t.float_power(x, 2, out=out),
    "hermite": lambda t, x, out: t.special.hermite_polynomial_h(x, x, out=out),
    "inner": lambda t, x, out: t.inner(x, x, out=out),
    "inverse power": lambda t, x, out: t.linalg.matrix_power(x, -1, out=out),
    "irfft": lambda t, x, out: t.fft.irfft(x, out=out),
    "kron": lambda t, x, out: t.kron(x, x, out=out),
    "linalg.norm": lambda t, x, out: t.linalg.norm(x, 2, out=out),
    "lstsq": lambda t, x, out: t.linalg.lstsq(
        x, x, out=(out, out.clone(), t.tensor(0), out.clone())
    ),
    "matrix_norm": lambda t, x, out: t.linalg.matrix_norm(x, out=out),
    "multi_dot": lambda t, x, out: t.linalg.multi_dot([x, x], out=out),
    "msort": lambda t, x, out: t.msort(x, out=out),
    "nanmean": lambda t, x, out: t.nanmean(x, out=out),
    "nanquantile": lambda t, x, out: t.nanquantile(x, 0.5, out=out),
    "ndtr": lambda t, x, out: t.special.ndtr(x, out=out),
    "outer": lambda t, x, out: t.outer(x[0], x[0], out=out),
    "pinv": lambda t, x, out: t.linalg.pinv(x, out=out),
    "power": lambda t, x, out: t.linalg.matrix_power(x, 3, out=out),
    "power of one": lambda t, x, out: t.linalg.matrix_power(x, 1, out=out),
    "quantile": lambda t, x, out: t.quantile(x, 0.5, out=out),
    "solve": lambda t, x, out: t.linalg.solve(x, x, out=out),
    "split": lambda t, x, out: t.split_with_sizes_copy(
        x, [1, 1], out=[out, out.clone()]
    ),
    "svd": lambda t, x, out: t.svd(x, out=(out, out.clone(), out.clone())),
    "tensordot": lambda t, x, out: t.tensordot(x, x, dims=1, out=out),
    "tensorinv": lambda t, x, out: t.linalg.tensorinv(x, ind=1, out=out),
    "tensorsolve": lambda t, x, out: t.linalg.tensorsolve(x, x[0], out=out),
    "vecdot": lambda t, x, out: t.linalg.vecdot(x[0], x[0], out=out),
    "vecdot of rows": lambda t, x, out: t.linalg.vecdot(x, x, out=out),
}

ONLY_LEAVES: dict[str, Call] = {
    "alias_copy": lambda t, x, out: t.alias_copy(x, out=out),
    "floor_divide": lambda t, x, out: t.floor_divide(x, x, out=out),
    "heaviside": lambda t, x, out: t.heaviside(x, x, out=out),
    "histogram": lambda t, x, out: t.histogram(x, 3, out=(out, out.clone())),
    "log_softmax": lambda t, x, out: t.log_softmax(x, 0, out=out),
    "slice_scatter": lambda t, x, out: t.slice_scatter(x, x, out=out),
    "softmax": lambda t, x, out: t.softmax(x, 0, out=out),
}


def outcome(e: Engine, call: Call, which: str, shape: tuple[int, ...]) -> Any:
    t = e.module
    x = t.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=t.float64)
    out = t.zeros(shape, dtype=t.float64)
    if which == "input":
        x.requires_grad_()
    else:
        out.requires_grad_()
    if which == "written":
        out = out.clone()
    try:
        call(t, x, out)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    if which == "input" and out.requires_grad:
        out.sum().backward()
    grad = None if x.grad is None else x.grad.tolist()
    return out.tolist(), out.requires_grad, type(out.grad_fn).__name__, grad


def shape_of(call: Call) -> tuple[int, ...]:
    t = theirs().module
    out = t.empty(0, dtype=t.float64)
    x = t.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=t.float64)
    call(t, x, out)
    return tuple(out.shape)


@pytest.mark.parametrize("which", ["input", "leaf", "written"])
@pytest.mark.parametrize("name", CALLS)
def test_out_is_refused_or_written_as_in_pytorch(name: str, which: str):
    shape = shape_of(CALLS[name])
    found, wanted = (outcome(e, CALLS[name], which, shape) for e in _both())
    if isinstance(wanted, str):
        assert found == wanted
        return
    assert found[1:3] == wanted[1:3]
    for mine, yours in ((found[0], wanted[0]), (found[3], wanted[3])):
        assert yours is None if mine is None else np.allclose(mine, yours)


@pytest.mark.parametrize("name", ONLY_LEAVES)
def test_out_without_a_derivative_is_refused_under_its_own_name(name: str):
    shape = shape_of(ONLY_LEAVES[name])
    found, wanted = (outcome(e, ONLY_LEAVES[name], "leaf", shape) for e in _both())
    assert isinstance(wanted, str)
    assert found == wanted


def _both() -> tuple[Engine, Engine]:
    return OURS, theirs()


@pytest.mark.parametrize("name", ["max", "sort", "cummin", "median", "slogdet", "svd"])
def test_results_that_lie_in_out_have_a_type_of_their_own(name: str):
    def program(t: Any) -> Any:
        found = {"sort": (-1,), "max": (0,), "cummin": (0,), "median": (0,)}
        args = (t.eye(2), *found.get(name, ()))
        results = getattr(t, name)(*args)
        out = tuple(each.new_empty(0) for each in results)
        written = getattr(t, name)(*args, out=out)
        assert all(mine is given for mine, given in zip(written, out, strict=True))
        return str(results), str(written), type(written).__qualname__

    assert_same(program)
