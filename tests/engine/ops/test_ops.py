"""Every op against PyTorch and against finite differences, from its entry alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gradtape import autograd
from tests.depth import THOROUGH

from .._compare import outputs_differ, saved_differ, values_differ
from .._engines import OURS, Engine, needs_torch, theirs
from ..graph._gradcheck import RTOL, gradient_errors
from .samples._discover import all_ops, errors_of, samples_of
from .samples._record import LAYOUTS, Layout, OpSample, Sample, relayout

pytestmark = pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")

every_op = pytest.mark.parametrize("entry", all_ops(), ids=lambda e: e.label)


class Findings(list[str]):
    """Differences found in one test; the assertion shows all of them."""

    def note(self, call: object, found: Iterator[str] | list[str]) -> None:
        self.extend(f"{call}: {each}" for each in found)

    def check(self, entry: OpSample) -> None:
        shown = "\n  ".join(self[:20])
        assert not self, f"{entry.label}, {len(self)} differences\n  {shown}"


def call(engine: Engine, entry: OpSample, args: Any, kwargs: Any) -> Any:
    """Call the op of an entry; what PyTorch deprecates is tested all the same."""
    with warnings.catch_warnings():
        if engine is not OURS:
            warnings.simplefilter("ignore")
        return engine.function(entry.name)(*args, **kwargs)


def laid_out(sample: Sample, layout: Layout) -> Sample:
    """Return the call with every tensor lying as ``layout`` says."""

    def each(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return relayout(value, layout)
        if type(value) in (list, tuple):
            return type(value)(each(v) for v in value)
        return value

    named = {k: each(v) for k, v in sample.kwargs.items()}
    return Sample(tuple(each(a) for a in sample.args), named, sample.smooth)


def calls(entry: OpSample, dtype: str) -> Iterator[Sample]:
    """Yield every call of an entry in every memory layout it allows.

    In dtypes beside its first, the quick run takes one layout for each, in turn.
    """
    allowed: list[Layout] = [layout for layout in LAYOUTS if layout in entry.layouts]
    number = entry.dtypes.index(dtype)
    for turn, sample in enumerate(samples_of(entry, dtype), number):
        if number and not THOROUGH:
            yield laid_out(sample, allowed[turn % len(allowed)])
            continue
        shown = str(sample)
        for layout in allowed:
            changed = laid_out(sample, layout)
            if layout == "contiguous" or str(changed) != shown:
                yield changed


def weights_for(outputs: list[Any]) -> list[Any]:
    """Return a random gradient per output, for both engines the same."""
    random = np.random.default_rng(len(outputs))
    found: list[Any] = []
    for output in outputs:
        dtype = np.dtype(str(output.dtype).removeprefix("torch."))
        values = random.uniform(0.5, 1.5, tuple(output.shape))
        if dtype.kind == "c":
            values = values + 1j * random.uniform(0.5, 1.5, tuple(output.shape))
        found.append(np.asarray(values, dtype))
    return found


@dataclass
class Run:
    """One call on one engine: what it was given, and what it gave."""

    engine: Engine
    args: Any
    kwargs: Any
    outputs: Any

    def gradients(self) -> list[Any]:
        """Return the gradients of the inputs, as arrays."""
        engine, ends = self.engine, ends_of(self.engine, self.outputs)
        if not ends:
            return []
        weights = [engine.tensor(w) for w in weights_for(ends)]
        starts = engine.inputs(self.args, self.kwargs)
        found = grad_of(engine)(ends, starts, weights, allow_unused=True)
        return [None if g is None else engine.array(g) for g in found]


def run(engine: Engine, entry: OpSample, sample: Sample) -> Run:
    args, kwargs = engine.arguments(sample, entry.frozen)
    return Run(engine, args, kwargs, call(engine, entry, args, kwargs))


def grad_of(engine: Engine) -> Any:
    return autograd.grad if engine is OURS else engine.module.autograd.grad


def ends_of(engine: Engine, outputs: Any) -> list[Any]:
    return [each for each in engine.tensors(outputs) if each.requires_grad]


@needs_torch
@every_op
def test_an_op_does_what_it_does_in_pytorch(entry: OpSample):
    """Results, what the node saved, first gradients; and inputs are left alone."""
    findings = Findings()
    for dtype in entry.dtypes:
        for sample in calls(entry, dtype):
            findings.note(sample, sample_differs(entry, sample, dtype))
    findings.check(entry)


def sample_differs(entry: OpSample, sample: Sample, dtype: str) -> Iterator[str]:
    args, kwargs = OURS.arguments(sample, entry.frozen)
    copies = [(t, t._data.copy(), t._version) for t in OURS.tensors([args, kwargs])]
    mine = Run(OURS, args, kwargs, call(OURS, entry, args, kwargs))
    if not (entry.name.endswith("_") or entry.name.startswith("operator.i")):
        yield from written(copies)
    yours = run(theirs(), entry, sample)
    yield from outputs_differ(entry, mine.outputs, yours.outputs)
    if entry.saved and entry.graph and dtype == entry.dtypes[0]:
        first = [each.engine.tensors(each.outputs)[:1] for each in (mine, yours)]
        yield from saved_differ(*(t[0].grad_fn if t else None for t in first))
    if entry.derived and np.dtype(dtype).kind in "fc":
        yield from gradients_differ(entry, mine.gradients(), yours.gradients())


def written(before: list[tuple[Any, Any, int]]) -> Iterator[str]:
    for number, (tensor, copy, version) in enumerate(before):
        nans = copy.dtype.kind in "fc"
        same = np.array_equal(tensor._data, copy, equal_nan=nans)
        if tensor._version != version or not same:
            yield f"tensor {number} was written"


def second_gradients(engine: Engine, entry: OpSample, sample: Sample) -> list[Any]:
    """Return the gradients of the gradients of a call, as arrays."""
    made = run(engine, entry, sample)
    ends, grad = ends_of(engine, made.outputs), grad_of(engine)
    if not ends:
        return []
    starts = engine.inputs(made.args, made.kwargs)
    weights = [engine.tensor(w).requires_grad_() for w in weights_for(ends)]
    found = grad(ends, starts, weights, allow_unused=True, create_graph=True)
    ends = [g for g in found if g is not None and g.requires_grad]
    if not ends:
        return []
    more = [engine.tensor(w) for w in weights_for(ends)]
    found = grad(ends, [*starts, *weights], more, allow_unused=True)
    return [None if g is None else engine.array(g) for g in found]


def gradients_differ(
    entry: OpSample, mine: list[Any], yours: list[Any]
) -> Iterator[str]:
    if len(mine) != len(yours):
        yield f"{len(mine)} gradients, should be {len(yours)}"
        return
    for number, (m, y) in enumerate(zip(mine, yours, strict=True)):
        if (m is None) != (y is None):
            yield f"gradient {number} is {m}, should be {y}"
        elif m is not None and any(step < 0 for step in m.strides):
            yield f"gradient {number} has strides {m.strides}"
        elif m is not None and (found := values_differ(m, y, entry.rtol)):
            yield f"gradient {number}: {found}"


def zeros_for_none(gradients: list[Any], others: list[Any]) -> list[Any]:
    """Fill gaps: the second gradient of a constant may be None or zeros."""
    if len(gradients) != len(others):
        return gradients
    pairs = zip(gradients, others, strict=True)
    return [np.zeros_like(o) if g is None and o is not None else g for g, o in pairs]


@needs_torch
@every_op
def test_double_backward_is_as_in_pytorch(entry: OpSample):
    if not (entry.derived and entry.double):
        pytest.skip("PyTorch has no second derivative to compare with")
    findings = Findings()
    for dtype in entry.dtypes:
        if np.dtype(dtype).kind in "fc" and dtype != "float32":
            for sample in samples_of(entry, dtype):
                mine, yours = (
                    second_gradients(e, entry, sample) for e in (OURS, theirs())
                )
                filled = zeros_for_none(mine, yours), zeros_for_none(yours, mine)
                findings.note(sample, gradients_differ(entry, *filled))
    findings.check(entry)


@pytest.mark.parametrize("order", [1, 2])
@every_op
def test_gradients_are_slopes(entry: OpSample, order: int):
    wanted = entry.gradcheck if order == 1 else entry.gradgradcheck
    if not (entry.derived and wanted and "float64" in entry.dtypes):
        pytest.skip("this entry cannot be checked by finite differences")
    rtol = RTOL if order == 1 else 10 * RTOL
    findings = Findings()
    for sample in samples_of(entry, "float64"):
        args, kwargs = OURS.arguments(sample, entry.frozen)
        inputs = OURS.inputs(args, kwargs)
        if not sample.smooth or not inputs:
            continue

        def outputs(args: Any = args, kwargs: Any = kwargs) -> list[Any]:
            return OURS.tensors(OURS.function(entry.name)(*args, **kwargs))

        findings.note(sample, gradient_errors(outputs, inputs, rtol, order))
    findings.check(entry)


@needs_torch
@every_op
def test_refusals_are_in_pytorch_words(entry: OpSample):
    findings = Findings()
    for sample in errors_of(entry, entry.dtypes[0]):
        raised: list[BaseException | None] = []
        for engine in (OURS, theirs()):
            args, kwargs = engine.arguments(sample, entry.frozen, grad=False)
            try:
                call(engine, entry, args, kwargs)
                raised.append(None)
            except Exception as error:
                raised.append(error)
        mine, yours = raised
        assert yours is not None, f"PyTorch accepts {sample}"
        if type(mine) is not type(yours) or _sentence(mine) != _sentence(yours):
            findings.note(
                sample,
                [f"raised {mine!r}\n    should be {yours!r}"],
            )
    findings.check(entry)


def _sentence(error: BaseException | None) -> str:
    """Return the first line of a message, without the C++ stack below it."""
    return str(error).split("\n", 1)[0].strip()
