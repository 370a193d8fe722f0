"""Writing forms of ops, ``name_`` and ``out=``, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradtape import autograd

from .._compare import graph_text, values_differ
from .._engines import OURS, Engine, needs_torch, theirs
from .samples._discover import all_ops, samples_of
from .samples._record import OpSample, Sample
from .test_ops import Findings, weights_for

in_place_ops = pytest.mark.parametrize(
    "entry", [e for e in all_ops() if e.inplace], ids=lambda e: e.label
)
out_ops = pytest.mark.parametrize(
    "entry", [e for e in all_ops() if e.out], ids=lambda e: e.label
)


def attempt(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result or the error of a call, and the sentences it warned with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = error
    return result, [str(w.message).split(" (Triggered", 1)[0] for w in caught]


def errors_differ(mine: Any, yours: Any) -> Iterator[str]:
    """Yield how two failures differ; nothing where both succeeded."""
    failed = [isinstance(r, Exception) for r in (mine, yours)]
    if failed == [False, False]:
        return
    same = failed == [True, True] and type(mine) is type(yours)
    if not same or str(mine).split("\n", 1)[0] != str(yours).split("\n", 1)[0]:
        yield f"gave {mine!r}, should be {yours!r}"


def written(engine: Engine, entry: OpSample, sample: Sample) -> Any:
    """Run ``name_`` on a copy of the first argument; return all there is to see."""
    args, kwargs = engine.arguments(sample)
    target = args[0].clone()
    before = target._version
    result = getattr(target, f"{entry.name}_")(*args[1:], **kwargs)
    assert result is target
    starts = engine.inputs(args, kwargs)
    gradients: Any = []
    if result.requires_grad and starts:
        grad = autograd.grad if engine is OURS else engine.module.autograd.grad
        weights = [engine.tensor(w) for w in weights_for([result])]
        gradients = grad([result], starts, weights, allow_unused=True)
    return result, target._version - before, gradients


def writes_differ(entry: OpSample, sample: Sample) -> Iterator[str]:
    mine, yours = (
        attempt(lambda e=e: written(e, entry, sample))[0] for e in (OURS, theirs())
    )
    yield from errors_differ(mine, yours)
    if isinstance(mine, Exception) or isinstance(yours, Exception):
        return
    if found := values_differ(mine[0]._data, theirs().array(yours[0]), entry.rtol):
        yield found
    if mine[1] != yours[1]:
        yield f"version grew by {mine[1]}, should be {yours[1]}"
    graphs = graph_text(mine[0].grad_fn), graph_text(yours[0].grad_fn)
    if entry.graph and graphs[0] != graphs[1]:
        yield f"graph {graphs[0]}, should be {graphs[1]}"
    for number, (m, y) in enumerate(zip(mine[2], yours[2], strict=True)):
        if (m is None) != (y is None):
            yield f"gradient {number} is {m}, should be {y}"
        elif m is not None and (
            found := values_differ(m._data, theirs().array(y), entry.rtol)
        ):
            yield f"gradient {number}: {found}"


@needs_torch
@in_place_ops
def test_in_place_is_as_in_pytorch(entry: OpSample):
    findings = Findings()
    for dtype in entry.dtypes:
        for sample in samples_of(entry, dtype):
            if isinstance(sample.args[0], np.ndarray):
                findings.note(sample, writes_differ(entry, sample))
    findings.check(entry)


def into(engine: Engine, entry: OpSample, sample: Sample, out: Any) -> Any:
    """Call an op with ``out=``; return the tensors given and whether they grew."""
    args, kwargs = engine.arguments(sample, grad=False)
    targets = engine.convert(out)
    before = [t._version for t in engine.tensors(targets)]
    result = engine.function(entry.name)(*args, **kwargs, out=targets)
    if isinstance(targets, engine.tensor_type):
        assert result is targets
    grown = [
        t._version > b for t, b in zip(engine.tensors(targets), before, strict=True)
    ]
    return engine.tensors(targets), grown


def outs_differ(entry: OpSample, sample: Sample, out: Any, kind: Any) -> Iterator[str]:
    (mine, my_words), (yours, words) = (
        attempt(lambda e=e: into(e, entry, sample, out)) for e in (OURS, theirs())
    )
    if isinstance(yours, TypeError):
        return  # an overload of PyTorch's that has no out=
    yield from errors_differ(mine, yours)
    if isinstance(mine, Exception) or isinstance(yours, Exception):
        return
    if my_words != words:
        yield f"warned {my_words}, should be {words}"
    for m, y in zip(mine[0], yours[0], strict=True):
        pair = [a.astype(kind) for a in (m._data, theirs().array(y))]
        if m._data.dtype != theirs().array(y).dtype:
            yield f"dtype {m.dtype}, should be {y.dtype}"
        elif found := values_differ(*pair, entry.rtol):
            yield found
        elif m.stride() != y.stride():
            yield f"stride {m.stride()}, should be {y.stride()}"
    if mine[1] != yours[1]:
        yield f"versions grew: {mine[1]}, should be {yours[1]}"


@needs_torch
@out_ops
def test_out_is_as_in_pytorch(entry: OpSample):
    findings = Findings()
    for dtype in entry.dtypes[:3]:
        for sample in samples_of(entry, dtype):
            args, kwargs = OURS.arguments(sample, grad=False)
            result = OURS.function(entry.name)(*args, **kwargs)
            if not isinstance(result, OURS.tensor_type):
                continue
            shape, kind = tuple(result.shape), result._data.dtype
            for out in (
                np.zeros(shape, kind),
                np.zeros(0, kind),
                np.zeros((2, *shape), kind),
                np.zeros(shape[::-1], kind).T,
                *(np.zeros(shape, k) for k in ("float64", "int64") if entry.out_casts),
            ):
                findings.note(sample, outs_differ(entry, sample, out, kind))
    findings.check(entry)


@needs_torch
@pytest.mark.parametrize("whose", ["input", "out"])
def test_out_refuses_gradients(whose: str):
    def call(engine: Engine) -> Any:
        x, out = (engine.tensor(np.ones(2)) for _ in range(2))
        (x if whose == "input" else out).requires_grad_()
        return engine.module.exp(x, out=out)

    mine, yours = (attempt(lambda e=e: call(e))[0] for e in (OURS, theirs()))
    assert isinstance(yours, RuntimeError)
    assert list(errors_differ(mine, yours)) == []


def test_writing_out_is_refused_to_a_saved_value():
    x = OURS.tensor(np.ones(2)).requires_grad_()
    held = OURS.tensor(np.full(2, 3.0))
    y = x * held
    OURS.module.exp(OURS.tensor(np.zeros(2)), out=held)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
