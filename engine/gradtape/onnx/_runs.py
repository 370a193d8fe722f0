"""Runs: the model run several times under the recorder, and left as it was."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from ..nn import Module
from ..random import fork_rng
from ._align import Seen, align, check_same_work, kinds_of, merged
from ._axes import Axes, plans, with_lengths, with_other_values, without_ones
from ._program import tensors_in
from ._record import Call, Recorder
from .errors import OnnxExporterError

NO_LENGTHS = (
    "the model does not run with other lengths of {labels}, so they cannot be dynamic: "
    "{error}"
)
NO_VALUES = (
    "the model runs with these arguments, but not with the same values in another "
    "order, so its graph would be true for these values only: {error}"
)


RESULT = (
    "forward() returns a {kind}, and a graph returns tensors: return those that it "
    "holds, in a tuple, list or dict"
)


@dataclass(slots=True)
class Program:
    """What all runs have in common."""

    calls: list[Call]
    inputs: tuple[Seen, ...]
    outputs: tuple[Seen, ...]
    recorders: list[Recorder]
    lengths: dict[str, tuple[int, ...]]  # of the dynamic axes, one per run


@dataclass(slots=True)
class Arguments:
    """The arguments of a call, with the tensors in them taken out."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[Tensor]

    def filled(self, tensors: Sequence[Tensor]) -> tuple[Any, Any]:
        """Return the arguments with other tensors in place of the first."""
        rest = iter(tensors)
        return _replaced(self.args, rest), _replaced(self.kwargs, rest)


def _replaced(value: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_replaced(v, tensors) for v in value])
    if isinstance(value, list | tuple):
        return type(value)(_replaced(v, tensors) for v in value)
    if isinstance(value, Mapping):
        return {k: _replaced(v, tensors) for k, v in value.items()}
    return value


def run_all(model: Module, arguments: Arguments, axes: Axes) -> Program:
    """Run with the given arguments, with other values, and with other lengths.

    Raises OnnxExporterError where the model does not allow it.
    """
    given = [t.detach().clone() for t in arguments.tensors]
    with no_grad(), fork_rng():
        example = _run(model, arguments, given)
        first, given = _typical(model, arguments, given, axes, example)
        lengths, more = _with_other_lengths(model, arguments, given, axes)
        if more and kinds_of(first[0].calls) != kinds_of(more[0][0].calls):
            # The example has the longest length, say: a slice of it is no slice.
            given = with_lengths(given, axes, {k: v[2] for k, v in lengths.items()})
            first = _run(model, arguments, given)
            lengths, more = _with_other_lengths(model, arguments, given, axes)
        check_same_work(example[0].calls, first[0].calls)
        runs = [first, _with_other_values(model, arguments, given)]
        if len(runs[1][0].calls) != len(first[0].calls):
            runs[0] = _run(model, arguments, given)  # it may keep what it made first
    runs += more
    recorders = [run[0] for run in runs]
    return Program(
        align([r.calls for r in recorders]),
        merged([run[1] for run in runs], "the inputs"),
        merged([run[2] for run in runs], "the outputs"),
        recorders,
        lengths,
    )


def _with_other_values(model: Module, arguments: Arguments, given: list[Tensor]) -> Any:
    try:
        return _run(model, arguments, with_other_values(given, new=True))
    except Exception:  # an index may be one too large: no new ones then
        try:
            return _run(model, arguments, with_other_values(given, new=False))
        except Exception as error:
            raise OnnxExporterError(NO_VALUES.format(error=error)) from error


def _typical(
    model: Module, arguments: Arguments, given: list[Tensor], axes: Axes, example: Any
) -> tuple[Any, list[Tensor]]:
    """Return a run with no dynamic axis of length 1, and its inputs."""
    longer = without_ones(given, axes)
    if longer is None:
        return example, given
    try:
        return _run(model, arguments, longer), longer
    except Exception as error:
        raise _no_lengths(axes, error) from error


def _with_other_lengths(
    model: Module, arguments: Arguments, given: list[Tensor], axes: Axes
) -> tuple[dict[str, tuple[int, ...]], list[Any]]:
    failure: Exception | None = None
    for plan in plans(axes, given) if axes else ():
        try:
            runs = [
                _run(model, arguments, with_lengths(given, axes, lengths))
                for lengths in plan
            ]
        except Exception as error:
            failure = failure or error
            continue
        base = {axes[key]: given[key[0]].shape[key[1]] for key in axes}
        found = {
            label: (n, n, *[lengths[label] for lengths in plan])
            for label, n in base.items()
        }
        return found, runs
    if axes:
        raise _no_lengths(axes, failure)
    return {}, []


def _no_lengths(axes: Axes, error: Exception | None) -> OnnxExporterError:
    labels = ", ".join(dict.fromkeys(axes.values()))
    return OnnxExporterError(NO_LENGTHS.format(labels=labels, error=error))


def _run(model: Module, arguments: Arguments, tensors: list[Tensor]) -> Any:
    """Return the recorder, and the inputs and outputs as it saw them."""
    recorder = Recorder(model)
    given = [t.detach().clone() for t in tensors]
    inputs = tuple(recorder.ref(t) for t in given)
    args, kwargs = arguments.filled(given)
    with _state_kept(model), recorder.watching(model):
        result = model(*args, **kwargs)
    _check_result(result)
    outputs = tuple(recorder.ref(t) for t in tensors_in(result))
    return recorder, inputs, outputs


def _check_result(result: Any) -> None:
    """Refuse what a graph cannot return."""
    if isinstance(result, list | tuple):
        for item in result:
            _check_result(item)
    elif isinstance(result, Mapping):
        for item in result.values():
            _check_result(item)
    elif result is not None and not isinstance(result, Tensor):
        raise OnnxExporterError(RESULT.format(kind=type(result).__name__))


@contextmanager
def _state_kept(model: Module) -> Generator[None]:
    """Restore the buffers that a forward pass wrote to."""
    kept = [(b, b._version, b.detach().clone()) for b in model.buffers()]
    try:
        yield
    finally:
        for buffer, version, value in kept:
            if buffer._version != version:
                buffer.copy_(value)
