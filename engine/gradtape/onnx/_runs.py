"""Runs: the model run several times under the recorder, and left as it was."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._dtypes import bool_
from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from ..nn import Module
from ..random import fork_rng
from ._align import Seen, align, check_same_work, kinds_of, merged
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


# ---- which dimensions of the inputs are dynamic ----

Axes: TypeAlias = dict[tuple[int, int], str]
"""(number of the input, dimension) -> the name of its length."""

NOT_A_NAME = (
    "dynamic_shapes takes names of lengths as strings, or None, for each axis, not "
    "{value!r}: write {{'x': {{0: 'batch'}}}}"
)


def read_dynamic_axes(given: Mapping[str, Any] | None) -> dict[str, dict[int, str]]:
    """Return {name of a value: {axis: name of its length}} in the long form."""
    found: dict[str, dict[int, str]] = {}
    for name, axes in (given or {}).items():
        if isinstance(axes, Mapping):
            found[name] = {int(axis): str(label) for axis, label in axes.items()}
        else:
            found[name] = {
                int(axis): f"{name}_dynamic_axes_{number}"
                for number, axis in enumerate(axes, start=1)
            }
    return found


def read_dynamic_shapes(given: Any, names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Read the same from ``dynamic_shapes``, by name or in order.

    Raises OnnxExporterError for anything but strings as lengths.
    """
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            raise OnnxExporterError(
                f"dynamic_shapes names {unknown[0]!r}, but the inputs are "
                f"{', '.join(names)}"
            )
        pairs = list(given.items())
    else:
        pairs = list(zip(names, given, strict=False))
    found: dict[str, dict[int, str]] = {}
    for name, axes in pairs:
        spec = axes if isinstance(axes, Mapping) else dict(enumerate(axes or ()))
        for axis, label in spec.items():
            if label is None:
                continue
            if not isinstance(label, str):
                raise OnnxExporterError(NOT_A_NAME.format(value=label))
            found.setdefault(name, {})[int(axis)] = label
    return found


def axes_of_inputs(
    wanted: Mapping[str, Mapping[int, str]],
    names: Sequence[str],
    inputs: Sequence[Tensor],
) -> Axes:
    """Return the dynamic axes of the inputs, with negative ones counted from the end.

    Raises OnnxExporterError for an axis that an input does not have.
    """
    found: Axes = {}
    for number, (name, tensor) in enumerate(zip(names, inputs, strict=True)):
        for axis, label in wanted.get(name, {}).items():
            if not -tensor.ndim <= axis < tensor.ndim:
                raise OnnxExporterError(
                    f"axis {axis} of {name!r} cannot be dynamic: it has "
                    f"{tensor.ndim} dimensions"
                )
            found[number, axis % tensor.ndim] = label
    return found


def plans(axes: Axes, inputs: Sequence[Tensor]) -> Iterator[list[dict[str, int]]]:
    """Yield, for each way to try, the lengths of two runs by label.

    Longer first, then multiples (a model may want a length divisible), then shorter
    (it may know a longest). Labels with equal lengths may have to stay equal.
    """
    lengths = {axes[key]: inputs[key[0]].shape[key[1]] for key in axes}
    labels = list(lengths)
    together = {label: list(lengths.values()).index(n) for label, n in lengths.items()}
    apart = {label: number for number, label in enumerate(labels)}
    groupings = (
        [apart] if len(set(together.values())) == len(labels) else [apart, together]
    )
    ways = (_longer, _multiples, _shorter)
    for grouping in groupings:
        for chosen in itertools.islice(itertools.product(ways, repeat=len(labels)), 30):
            runs: list[dict[str, int]] = []
            for run in (1, 2):
                runs.append(
                    {
                        label: way(lengths[label], run, grouping[label])
                        for label, way in zip(labels, chosen, strict=True)
                    }
                )
            if all(n > 1 for run in runs for n in run.values()):
                yield runs


def _longer(length: int, run: int, number: int) -> int:
    return length + (2 * number + 1 if run == 1 else 3 * number + 4)


def _multiples(length: int, run: int, number: int) -> int:
    return length * (number + 2 if run == 1 else 2 * number + 5)


def _shorter(length: int, run: int, number: int) -> int:
    return length - (number + 1 if run == 1 else 2 * number + 2)


def with_lengths(
    inputs: Sequence[Tensor], axes: Axes, lengths: Mapping[str, int]
) -> list[Tensor]:
    """Return inputs with dynamic axes of these lengths; values repeat or are cut."""
    found: list[Tensor] = []
    for number, tensor in enumerate(inputs):
        for axis in range(tensor.ndim):
            label = axes.get((number, axis))
            if label is not None:
                places = np.arange(lengths[label]) % max(tensor.shape[axis], 1)
                tensor = tensor.index_select(axis, tensor.new_tensor(places).long())
        found.append(tensor.clone())
    return found


def without_ones(inputs: Sequence[Tensor], axes: Axes) -> list[Tensor] | None:
    """Return inputs whose dynamic axes are longer than 1; None where they are already.

    At length 1 strides mean nothing, and layers take short cuts that hold for 1 only.
    """
    lengths = {label: int(inputs[n].shape[axis]) for (n, axis), label in axes.items()}
    if 1 not in lengths.values():
        return None
    return with_lengths(
        inputs, axes, {k: 2 if n == 1 else n for k, n in lengths.items()}
    )


def with_other_values(inputs: Sequence[Tensor], new: bool) -> list[Tensor]:
    """Return inputs of the same shapes with their values moved around.

    Floats shrink a little. With ``new``, integers and masks that moving leaves as they
    are take on other values, which an embedding, say, may not have.
    """
    found: list[Tensor] = []
    for tensor in inputs:
        moved = tensor.flatten().roll(1).reshape(tensor.shape)
        if tensor.is_floating_point():
            moved = moved * 0.75
        elif new and bool((moved == tensor).all()):
            moved = ~moved if tensor.dtype == bool_ else moved + 1
        found.append(moved.to(tensor.dtype).clone())
    return found
