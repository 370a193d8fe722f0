"""Axes: which dimensions of the inputs are dynamic, and inputs of other lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._dtypes import bool_
from .._tensor.tensor import Tensor
from .errors import OnnxExporterError

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
