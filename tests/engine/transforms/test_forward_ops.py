"""The forward derivative of every op against PyTorch's, from its entry alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradtape.autograd import forward_ad as our_forward

from .._compare import values_differ
from .._engines import OURS, Engine, needs_torch, theirs
from ..graph._gradcheck import gradient_errors
from ..ops.samples._discover import all_ops, samples_of
from ..ops.samples._record import OpSample, Sample
from ..ops.test_ops import Findings, call, calls

every_op = pytest.mark.parametrize("entry", all_ops(), ids=lambda e: e.label)


def forward_of(engine: Engine) -> Any:
    return our_forward if engine is OURS else engine.module.autograd.forward_ad


def tangent_for(array: Any) -> Any:
    """Return a direction of an array's shape, the same for both engines."""
    random = np.random.default_rng(array.size)
    values = random.uniform(0.5, 1.5, array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.uniform(0.5, 1.5, array.shape)
    return np.asarray(values, array.dtype)


def with_duals(engine: Engine, value: Any, directions: list[Any]) -> Any:
    """Replace leaves by duals of them, with the next direction or one of our own."""
    if isinstance(value, engine.tensor_type):
        if not value.requires_grad:
            return value
        tangent = (
            directions.pop(0)
            if directions
            else engine.tensor(tangent_for(engine.array(value)))
        )
        return forward_of(engine).make_dual(value, tangent)
    if type(value) in (list, tuple):
        return type(value)(with_duals(engine, v, directions) for v in value)
    if isinstance(value, dict):
        return {k: with_duals(engine, v, directions) for k, v in value.items()}
    return value


def tangents_of(
    engine: Engine, entry: OpSample, args: Any, kwargs: Any, in_place: bool = False
) -> list[Any]:
    """Return the outputs of a call, with the tangent of each or None."""
    if in_place:
        target = args[0].clone()
        getattr(target, f"{entry.name}_")(*args[1:], **kwargs)
        outputs = [target]
    else:
        outputs = engine.tensors(call(engine, entry, args, kwargs))
    unpack = forward_of(engine).unpack_dual
    return [(output, unpack(output).tangent) for output in outputs]


def pushed(
    engine: Engine, entry: OpSample, sample: Sample, in_place: bool
) -> list[Any]:
    """Return the tangents of a call's inexact outputs; zeros where there is none."""
    args, kwargs = engine.arguments(sample, entry.frozen)
    with forward_of(engine).dual_level():
        args, kwargs = with_duals(engine, (args, kwargs), [])
        found = tangents_of(engine, entry, args, kwargs, in_place)
    return [
        np.zeros_like(engine.array(o)) if t is None else engine.array(t)
        for o, t in found
        if engine.array(o).dtype.kind in "fc"
    ]


def differences(
    entry: OpSample, sample: Sample, in_place: bool = False
) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.jit is deprecated, it says
            wanted = pushed(theirs(), entry, sample, in_place)
    except NotImplementedError:  # PyTorch has no forward derivative
        return
    except RuntimeError:
        if in_place:  # the result does not fit in the first operand
            return
        raise
    mine = pushed(OURS, entry, sample, in_place)
    assert len(mine) == len(wanted)
    for number, (m, w) in enumerate(zip(mine, wanted, strict=True)):
        if found := values_differ(m, w, entry.rtol):
            yield f"tangent {number}: {found}"


def repeats(value: Any) -> bool:
    """Tell whether an array shows a cell twice, so that no tangent can lie like it."""
    if isinstance(value, np.ndarray):
        return any(n > 1 and not s for n, s in zip(value.shape, value.strides))  # noqa: B905
    if isinstance(value, dict):
        return repeats(list(value.values()))
    return isinstance(value, list | tuple) and any(repeats(v) for v in value)


def differentiable(entry: OpSample) -> list[str]:
    return [d for d in entry.dtypes if np.dtype(d).kind in "fc" and d != "float32"]


_HALF = "PyTorch takes an asymmetric tangent as it is, not the symmetric part of it"
UNLIKE = {
    "cholesky_inverse": _HALF,
    "linalg.cholesky": _HALF,
    "linalg.cholesky_ex": _HALF,
    "pow.complex": "PyTorch drops the imaginary part of a real exponent's tangent",
    "rsub.complex": "PyTorch drops the imaginary part for a complex number",
    "scatter_reduce.prod_True": "PyTorch's tangent is of zeros",
    "scatter_reduce.prod_False": "PyTorch's tangent is of zeros",
}
"""Entries whose tangents in PyTorch are not the slopes, which ours are."""


@needs_torch
@every_op
def test_tangents_are_those_of_pytorch(entry: OpSample):
    if not entry.derived or entry.label in UNLIKE:
        pytest.skip("PyTorch has no right derivative to compare with")
    findings = Findings()
    for dtype in differentiable(entry):
        for sample in calls(entry, dtype):
            if sample.smooth and not repeats((sample.args, sample.kwargs)):
                findings.note(sample, differences(entry, sample))
    findings.check(entry)


@needs_torch
@pytest.mark.parametrize(
    "entry", [e for e in all_ops() if e.inplace], ids=lambda e: e.label
)
def test_tangents_of_writes_are_those_of_pytorch(entry: OpSample):
    if entry.label in UNLIKE:
        pytest.skip(UNLIKE[entry.label])
    findings = Findings()
    for dtype in differentiable(entry):
        for sample in samples_of(entry, dtype):
            first = sample.args[0]
            inexact = isinstance(first, np.ndarray) and first.dtype.kind in "fc"
            if sample.smooth and inexact:
                findings.note(sample, differences(entry, sample, in_place=True))
    findings.check(entry)


@every_op
def test_gradients_of_tangents_are_slopes(entry: OpSample):
    if not (entry.derived and entry.gradgradcheck and "float64" in entry.dtypes):
        pytest.skip("this entry cannot be checked by finite differences")
    findings = Findings()
    for sample in samples_of(entry, "float64"):
        args, kwargs = OURS.arguments(sample, entry.frozen)
        leaves = OURS.inputs(args, kwargs)
        if not sample.smooth or not leaves:
            continue
        directions = [OURS.tensor(tangent_for(t._data)) for t in leaves]
        starts = [*leaves, *(d.requires_grad_() for d in directions)]

        def tangents(
            args: Any = args, kwargs: Any = kwargs, directions: Any = directions
        ) -> list[Any]:
            with our_forward.dual_level():
                given = with_duals(OURS, (args, kwargs), list(directions))
                found = tangents_of(OURS, entry, *given)
            return [t for _, t in found if t is not None]

        findings.note(sample, gradient_errors(tangents, starts, rtol=1e-3))
    findings.check(entry)
