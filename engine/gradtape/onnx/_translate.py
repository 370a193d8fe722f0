"""Translate: one pass over the aligned calls, from tensors in memory to graph values.

A graph has no memory. A write gives its target a new value; other tensors over the same
memory take in the write when they are next used, element by element where that is not
the whole of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ._align import Seen, place
from ._graph import Graph, Value, onnx_type
from ._overlap import after_write, gathered, places_in, range_of, taken
from ._record import Call, Recorder
from ._rules import RULES
from ._table import CannotTranslateError
from ._varying import Length, Varying, length_of
from .errors import OnnxExporterError, UnsupportedOperatorError

# Tensors that are only there to be filled.
_UNUSED = {"rrelu_with_noise": 1, "rrelu_with_noise_": 1}

UNSUPPORTED = (
    "cannot export {where}: {name}() has no translation to ONNX. Write it with other "
    "ops, or pass its result in as an input of the model"
)
MISSING = "ONNX does not have the second output of {name}(). Do not return it"
STATE = (
    "it writes to {name!r}, and a graph has no state: return the new value as "
    "an output, or export in evaluation mode"
)
MOVED = (
    "a tensor's shape or memory was changed in place (unsqueeze_(), resize_(), "
    "set_()). Use the op that returns a new tensor"
)


class Translator:
    """Holds the value of every tensor, as of the call that is translated."""

    def __init__(
        self, graph: Graph, recorders: Sequence[Recorder], names: dict[int, str]
    ) -> None:
        self.graph = graph
        self.recorders = recorders
        self.names = names  # number of a parameter or buffer -> its name
        self.weights: set[str] = set()
        self.values: dict[int, tuple[Value, int, Seen]] = {}
        self.writes: dict[int, list[tuple[Seen, Value]]] = {}
        self.places: dict[int, list[Seen]] = {}  # tensors with a value, by their memory
        self.missing: dict[int, str] = {}  # what ONNX has not, and which op made it
        self.state: dict[int, str] = {}  # memory of parameters and buffers

    def translate(self, call: Call) -> None:
        """Append the nodes of one call."""
        self.graph.scope = call.scope
        unused = _UNUSED.get(call.name)
        if unused is not None:
            args = (None if i == unused else a for i, a in enumerate(call.args))
            call = replace(call, args=tuple(args))
        try:
            self._translate(call)
        except CannotTranslateError as error:
            raise OnnxExporterError(f"cannot export {place(call)}: {error}") from None

    def _translate(self, call: Call) -> None:
        lost = [self.missing.get(s.serial) for s in _tensors(call.args)]
        if any(lost):  # it may never be used
            maker = next(name for name in lost if name)
            self.missing.update({s.serial: maker for s in call.outputs})
            return
        target = call.args[0] if call.args else None
        inplace = (
            isinstance(target, Seen)
            and call.name.endswith("_")
            and call.outputs[0].serial == target.serial
        )
        name = call.name.removesuffix("_") if inplace else call.name
        rule = RULES.get(name)
        if not inplace and (self._folded(call) or (not rule and self._known(call))):
            return
        if rule is None:
            raise UnsupportedOperatorError(
                UNSUPPORTED.format(where=place(call), name=call.name)
            )
        found = rule(self.graph, call, *[self._argument(a) for a in call.args])
        made = (found,) if isinstance(found, str) else found
        if not inplace:
            self._bind_all(call, made)
        else:
            self._write(call.outputs[0], str(made[0]))

    def _bind_all(self, call: Call, names: Sequence[str | None]) -> None:
        inputs = [self.values[s.serial][0].name for s in _tensors(call.args)]
        for seen, made in zip(call.outputs, names, strict=False):
            if made is None:
                self.missing[seen.serial] = call.name
            else:
                self.bind(seen, made)
                if any(n in self.weights for n in inputs):
                    self.weights.add(made)

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, Seen):
            return self.value(arg)
        if isinstance(arg, tuple):
            return tuple(self._argument(a) for a in arg)
        return arg

    # ---- values ----

    def bind(self, seen: Seen, name: str) -> Value:
        """Make a name the value of a tensor."""
        value = Value(name, seen.shape, seen.dtype)
        root = seen.refs[0].root
        self.values[seen.serial] = value, len(self.writes.get(root, ())), seen
        self.places.setdefault(root, []).append(seen)
        for axis, n in enumerate(seen.shape):
            if isinstance(n, Varying) and n not in self.graph.lengths:
                self.graph.lengths[n] = self.graph.node(
                    "Shape", name, start=axis, end=axis + 1
                )
        return value

    def value(self, seen: Seen) -> Value:
        """Return the value that a tensor has now."""
        if seen.serial in self.missing:
            raise CannotTranslateError(MISSING.format(name=self.missing[seen.serial]))
        if seen.serial not in self.values:
            self._from_outside(seen)
        value, stamp, before = self.values[seen.serial]
        if not before.lies_as(seen):
            value = self._moved(value, before, seen)
        writes = self.writes.get(seen.refs[0].root, [])
        for written, new in writes[stamp:]:
            value = after_write(self.graph, value, seen, written, new)
        self.values[seen.serial] = value, len(writes), seen
        return value

    def _from_outside(self, seen: Seen) -> None:
        """Give a value to a tensor that no recorded op made."""
        serial = seen.serial
        if serial in self.names:
            self.state[seen.refs[0].root] = self.names[serial]
        alias = self._alias(seen)
        if alias is not None:
            self.bind(seen, alias.name)
            return
        arrays = [
            r.originals.get(serial, r.tensors[serial]._data) for r in self.recorders
        ]
        hint = self.names.get(serial, "constant")
        name = constant(self.graph, arrays, seen.dtype, hint)
        self.bind(seen, name)
        self.values[serial] = self.values[serial][0], 0, seen
        if serial in self.names:
            self.weights.add(name)

    def _alias(self, seen: Seen) -> Value | None:
        """Return the value of another tensor that is the same memory, as detach()."""
        for other in self.places.get(seen.refs[0].root, ()):
            if other.serial != seen.serial and other.lies_as(seen):
                return self.value(other)
        for other in self.places.get(seen.refs[0].root, ()):
            if self.values[other.serial][0].name in self.graph.variable:
                return self._part(other, seen)
        return None

    def _moved(self, value: Value, before: Seen, now: Seen) -> Value:
        """Return the value of a tensor whose shape was changed in place."""
        places = places_in(before, now)
        if places is None:
            raise CannotTranslateError(MOVED)
        return gathered(self.graph, value, places, now)

    def _part(self, whole: Seen, part: Seen) -> Value | None:
        """Return the value of a part of a tensor, as of ``x.data[0]``."""
        span = range_of(whole, part)
        if span is not None:
            name = taken(self.graph, self.value(whole), span)
            return Value(name, part.shape, part.dtype)
        places = places_in(whole, part)
        if places is None:
            return None
        return gathered(self.graph, self.value(whole), places, part)

    def _known(self, call: Call) -> bool:
        """Bind the outputs of a user's Function to what the ops inside it made."""
        for seen in call.outputs:
            if seen.serial not in self.values:
                alias = self._alias(seen)
                if alias is None:
                    return False
                self.bind(seen, alias.name)
        return bool(call.outputs)

    # ---- writes ----

    def _write(self, target: Seen, name: str) -> None:
        root = target.refs[0].root
        if root in self.state:
            raise CannotTranslateError(STATE.format(name=self.state[root]))
        value = Value(name, target.shape, target.dtype)
        self.writes.setdefault(root, []).append((target, value))
        self.bind(target, name)

    # ---- what can be computed now ----

    def _folded(self, call: Call) -> bool:
        """Bind the outputs of a call as constants, if they are the same in all runs.

        What is computed from parameters stays in the graph, with the parameters.
        """
        inputs = [self.value(s).name for s in _tensors(call.args)]
        if call.module is not None or any(
            n in self.graph.variable or n in self.weights for n in inputs
        ):
            return False
        if any(s.refs[0].root in self._written_ever() for s in call.outputs):
            return False
        for seen in call.outputs:
            arrays = [r.tensors[seen.serial]._data for r in self.recorders]
            if not all(same(arrays[0], a) for a in arrays):
                return False
        for seen in call.outputs:
            array = self.recorders[0].tensors[seen.serial]._data
            self.bind(seen, self.graph.constant(array))
        return True

    def _written_ever(self) -> set[int]:
        return self.recorders[0].written


def _tensors(value: Any) -> Iterator[Seen]:
    if isinstance(value, Seen):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _tensors(item)


# ---- constants: tensors that no recorded op made, as initializers or as nodes ----

LONGER = (
    "a tensor of shape {shape} was made from the length of a dynamic axis, and not by "
    "ops that are recorded. Register the longest one as a buffer and slice it, or "
    "export without that axis"
)
RANDOM = (
    "a tensor of shape {shape} has other values each time the model runs: it is random "
    "or was computed from the inputs outside the recorded ops (item(), numpy()). "
    "Pass it in as an input, or compute it with ops on tensors"
)


def constant(graph: Graph, arrays: Sequence[Any], dtype: Any, name: str) -> str:
    """Return the name of a tensor that held these arrays, one per run."""
    first = arrays[0]
    if len(arrays) > 1 and not same(first, arrays[1]):
        raise CannotTranslateError(RANDOM.format(shape=list(first.shape)))
    if all(same(first, a) for a in arrays):
        return graph.constant(first, name)
    shape = tuple(
        length_of(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)
    )
    found = None
    if not any(isinstance(n, Varying) for n in shape):
        found = _lengths(graph, arrays, shape, dtype)
    else:
        found = _repeated(graph, arrays, shape) or _range(graph, arrays, shape, dtype)
    if found is None:
        raise CannotTranslateError(LONGER.format(shape=list(first.shape)))
    return found


def same(one: Any, other: Any) -> bool:
    """Say whether two arrays hold the same, NaN included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return one.tobytes() == other.tobytes()


def _lengths(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length], dtype: Any
) -> str | None:
    """Return a few numbers, some of which are lengths."""
    if arrays[0].size > 8 or any((a != np.floor(a)).any() for a in arrays):
        return None
    places = zip(*(a.flat for a in arrays), strict=True)
    numbers = [length_of([int(v) for v in values]) for values in places]
    flat = graph.node("Cast", graph.ints(numbers), to=onnx_type(dtype))
    return graph.reshape(flat, [len(numbers)], shape)


def _repeated(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length]
) -> str | None:
    """Return slices of one kind, repeated along the varying dimensions."""
    open_dims = [d for d, n in enumerate(shape) if isinstance(n, Varying)]
    cores: list[Any] = []
    for array in arrays:
        index = tuple(
            slice(0, 1) if d in open_dims else slice(None) for d in range(array.ndim)
        )
        core = array[index]
        if core.size == 0 and array.size == 0:
            return None
        if not same(np.ascontiguousarray(np.broadcast_to(core, array.shape)), array):
            return None
        cores.append(core)
    if not all(same(cores[0], core) for core in cores):
        return None
    return graph.node("Expand", graph.constant(cores[0]), graph.ints(shape))


def _range(
    graph: Graph, arrays: Sequence[Any], shape: Sequence[Length], dtype: Any
) -> str | None:
    """Return consecutive numbers, as torch.arange makes them."""
    if len(shape) != 1 or min(a.size for a in arrays) < 1:
        return None
    longest = max(arrays, key=len)
    start = longest[0].item()
    step = (longest[1] - longest[0]).item() if len(longest) > 1 else 1
    for array in arrays:
        if not np.array_equal(array, start + step * np.arange(len(array))):
            return None
    count = graph.node("Squeeze", graph.length(shape[0]), graph.ints([0]))
    zero, one = (graph.constant(np.array(n, np.int64)) for n in (0, 1))
    numbers = graph.node("Range", zero, count, one)
    found = graph.node("Cast", numbers, to=onnx_type(dtype))
    if step != 1:
        found = graph.node("Mul", found, graph.number(step, dtype))
    return graph.node("Add", found, graph.number(start, dtype)) if start else found
