"""Graph: the ONNX nodes and initializers as they are made, and the types of both.

A length that varies is computed by nodes. It is looked for, in this order, as a known
size of some tensor, then as a known size plus, times or divided by a constant, then as
a product of two known sizes. It has to fit in every run; the runs are made to differ
enough for that to be a proof in practice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ._table import CannotTranslateError
from ._varying import Length, Varying

LAST = np.iinfo(np.int64).max
"""As the end of a slice: the last element, however many there are."""

FIXED = (
    "the {name} of ONNX's {kind} is fixed, and here it follows a dynamic axis. Export "
    "without that axis"
)

_TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128,
}


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the graph: its name, and what is known of it."""

    name: str
    shape: tuple[Length, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


Input: TypeAlias = Value | str | None


def onnx_type(dtype: Any) -> int:
    """Return ONNX's number of a dtype."""
    return _TYPES[str(dtype).rpartition(".")[2]]


class Graph:
    """Collects nodes. Names of values are strings; rules pass and return them."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.lengths: dict[Varying, str] = {}  # -> a tensor of one int64
        self.variable: set[str] = set()  # values that depend on the inputs
        self.transposed: dict[str, str] = {}  # matrix -> what it is the transpose of
        self.scope = ""
        self._taken: set[str] = set()
        self._reserved: set[str] = set()
        self._renamed: dict[str, str] = {}  # values that became outputs
        self._small: dict[Any, str] = {}

    def fresh(self, hint: str, parameter: bool = False) -> str:
        """Return a name that nothing has yet."""
        name, number = hint, 0
        while name in self._taken or (name in self._reserved and not parameter):
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Keep a name for an input, an output or a parameter."""
        self._reserved.add(name)

    def give_name(self, value: str, name: str) -> None:
        """Make a value an output of the graph.

        A node's own output is renamed; inputs, constants and second uses are copied.
        """
        value = self._renamed.get(value, value)
        made = any(value in n.output for n in self.nodes)
        if not made or value in self._renamed.values():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
            return
        self._renamed[value] = name
        for node in self.nodes:
            for names in (node.input, node.output):
                for i, old in enumerate(names):
                    if old == value:
                        names[i] = name

    def node(self, kind: str, *inputs: Input, **attributes: Any) -> str:
        """Append a node of one output; return the output's name."""
        return self.nodes_of(kind, 1, *inputs, **attributes)[0]

    def nodes_of(
        self, kind: str, outputs: int, *inputs: Input, **attributes: Any
    ) -> tuple[str, ...]:
        """Append a node of several outputs; return their names."""
        names = [
            "" if i is None else i if isinstance(i, str) else i.name for i in inputs
        ]
        while names and not names[-1]:
            names.pop()
        for name, given in attributes.items():
            if any(isinstance(v, Varying) for v in _flat(given)):
                raise CannotTranslateError(FIXED.format(name=name, kind=kind))
        prefix = "/" + "".join(f"{part}/" for part in self.scope.split(".") if part)
        made = tuple(self.fresh(f"{prefix}{kind}_output_{i}") for i in range(outputs))
        known = {k: v for k, v in attributes.items() if v is not None}
        label = self.fresh(f"{prefix}{kind}")
        self.nodes.append(helper.make_node(kind, names, made, name=label, **known))
        if any(n in self.variable for n in names):
            self.variable.update(made)
        return made

    def constant(self, array: Any, hint: str = "constant") -> str:
        """Return the name of an initializer; small equal ones are shared."""
        array = np.asarray(array)
        key = None
        if array.size <= 16 and hint == "constant":
            key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes())
            if key in self._small:
                return self._small[key]
        name = self.fresh(hint, parameter=True)
        array = np.ascontiguousarray(array).reshape(array.shape)
        self.initializers[name] = numpy_helper.from_array(array, name)
        if key is not None:
            self._small[key] = name
        return name

    def number(self, value: Any, dtype: Any) -> str:
        """Return a tensor without dimensions that holds a number or a length."""
        if isinstance(value, Varying):
            alone = self.node("Squeeze", self.length(value), self.ints([0]))
            return self.node("Cast", alone, to=onnx_type(dtype))
        return self.constant(np.asarray(value).astype(numpy_type(dtype)))

    def length(self, value: Length) -> str:
        """Return a tensor of one int64 with this length."""
        if not isinstance(value, Varying):
            return self.constant(np.array([value], np.int64))
        found = self.lengths.get(value)
        if found is None:
            found = self.lengths[value] = _length_of(self, value)
        return found

    def ints(self, values: Sequence[Length]) -> str:
        """Return a tensor of one dimension with these lengths."""
        if not any(isinstance(v, Varying) for v in values):
            return self.constant(np.array(values, np.int64))
        return self.node("Concat", *[self.length(v) for v in values], axis=0)

    def cast(self, value: Value, dtype: Any) -> str:
        """Return a value as another type; itself where it has it."""
        if value.dtype == dtype:
            return value.name
        return self.node("Cast", value, to=onnx_type(dtype))

    def operand(self, value: Any, dtype: Any) -> str:
        """Return a tensor or a number as a tensor of a type."""
        if isinstance(value, Value):
            return self.cast(value, dtype)
        return self.number(value, dtype)

    def reshape(
        self, value: Input, old: Sequence[Length], new: Sequence[Length]
    ) -> str:
        """Return a tensor of shape ``old`` in shape ``new``."""
        sizes: list[Length] = []
        open_dims = [d for d, n in enumerate(new) if isinstance(n, Varying)]
        kept = [d for d in open_dims if d < len(old) and old[d] == new[d]]
        rest = [d for d in open_dims if d not in kept]
        empty = any(n == 0 for n in new)
        for d, n in enumerate(new):
            if d in kept and not empty:
                sizes.append(0)
            else:
                sizes.append(-1 if rest == [d] and not empty else n)
        if len(rest) > 1 and not empty:
            sizes[rest[-1]] = -1
        flag = 1 if empty else None
        return self.node("Reshape", value, self.ints(sizes), allowzero=flag)


def _flat(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def numpy_type(dtype: Any) -> Any:
    name = str(dtype).rpartition(".")[2]
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(name)


_UNKNOWN_LENGTH = (
    "a size that was {values} in runs with other lengths of the dynamic "
    "axes is no simple function of them. Export with fewer dynamic axes"
)


def _length_of(graph: Graph, wanted: Varying) -> str:
    """Return a tensor of one int64.

    Raises CannotTranslateError where no formula fits.
    """
    known = dict(graph.lengths)
    for formula in (_plus, _times, _divided, _product):
        for values, name in known.items():
            found = formula(graph, wanted, values, name)
            if found is not None:
                return found
    raise CannotTranslateError(
        _UNKNOWN_LENGTH.format(values=", ".join(str(v) for v in wanted.values))
    )


def _plus(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    offset = wanted - known
    if isinstance(offset, Varying):
        return None
    return graph.node("Add", name, graph.length(offset))


def _times(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    """Find a factor and an offset: wanted = known * a + b."""
    steps = _differences(wanted), _differences(known)
    ratios = {
        divmod(w, k) if k else None for w, k in zip(*steps, strict=True) if w or k
    }
    (ratio,) = ratios if len(ratios) == 1 else (None,)
    if ratio is None or ratio[1]:
        return None
    offset = wanted - known * ratio[0]
    if isinstance(offset, Varying):
        return None
    scaled = graph.node("Mul", name, graph.length(ratio[0]))
    return graph.node("Add", scaled, graph.length(offset)) if offset else scaled


def _divided(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    """Find wanted = (known + a) // c + b, the lengths of strided windows."""
    for divisor, offset in _divisions():
        rest = wanted - (known + offset) // divisor
        if isinstance(rest, Varying):
            continue
        total = graph.node("Add", name, graph.length(offset)) if offset else name
        if known.values[0] + offset < 0:
            continue  # ONNX rounds towards zero
        found = graph.node("Div", total, graph.length(divisor))
        return graph.node("Add", found, graph.length(rest)) if rest else found
    return None


def _divisions() -> Iterator[tuple[int, int]]:
    for divisor in range(2, 33):
        for offset in range(divisor):
            yield divisor, offset


def _product(graph: Graph, wanted: Varying, known: Varying, name: str) -> str | None:
    if any(k == 0 or w % k for w, k in zip(wanted.values, known.values, strict=True)):
        return None
    quotient = wanted // known
    assert isinstance(quotient, Varying)  # else _times had found it
    other = graph.lengths.get(quotient)
    if other is None:
        steps: Callable[..., str | None] = _times
        for values, label in list(graph.lengths.items()):
            other = steps(graph, quotient, values, label)
            if other is not None:
                break
    return None if other is None else graph.node("Mul", name, other)


def _differences(length: Varying) -> list[int]:
    first = length.values[0]
    return [v - first for v in length.values[1:]]
