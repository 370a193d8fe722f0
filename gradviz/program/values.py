"""Tensors, nodes and gradients, as one moment of a run saw them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

RawSite: TypeAlias = tuple[CodeType, int]


@dataclass(slots=True, eq=False)
class Summary:
    """What a scan of one array found. NaN and Inf are left out of the extremes."""

    count: int
    nans: int = 0
    infs: int = 0
    zeros: int = 0
    first_bad: tuple[int, ...] | None = None  # index of the first NaN or Inf
    minimum: float | None = None
    maximum: float | None = None
    norm: float | None = None  # L2, of the finite elements
    full: Any = None  # the ir.Statistics, where a graph is recorded too
    sample: Any = None  # of elements for a thumbnail, likewise

    @classmethod
    def of_number(cls, number: float) -> Summary:
        """Return what a scan of one element finds.

        >>> Summary.of_number(-2.0).minimum, Summary.of_number(math.inf).bad
        (-2.0, 1)
        """
        if not math.isfinite(number):
            nan = math.isnan(number)
            return cls(1, nans=nan, infs=not nan, first_bad=())
        zeros = number == 0
        return cls(1, 0, 0, zeros, None, number, number, abs(number))

    @property
    def bad(self) -> int:
        """How many elements are NaN or Inf."""
        return self.nans + self.infs


@dataclass(slots=True, eq=False)
class Value:
    """A tensor as one event saw it. Strides and offset count elements."""

    tensor: int
    storage: int
    version: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str  # "float32"
    device: str = "cpu"
    requires_grad: bool = False
    is_leaf: bool = True
    is_view: bool = False
    node: int | None = None  # its grad_fn
    output: int = 0  # its output_nr
    is_parameter: bool = False
    summary: Summary | None = None  # only where values were scanned
    shown: Any = ""  # what gives ``text``: that, or something with it as ``words``

    @property
    def text(self) -> str:
        """Up to 8 elements as text, only where values were scanned."""
        return self.shown if type(self.shown) is str else self.shown.words


@dataclass(slots=True, eq=False)
class Opaque:
    """An argument that is neither a tensor nor a plain value."""

    kind: str  # class name
    name: str = ""  # its __qualname__, where it has one
    code: CodeType | None = None  # of a Python function

    @classmethod
    def of(cls, thing: Any) -> Opaque:
        """Describe anything; only functions and classes are asked for their names.

        Objects that answer every attribute themselves are not to notice.
        """
        kind = type(thing).__name__
        if not isinstance(thing, _NAMED):
            return cls(kind)
        return cls(kind, thing.__qualname__, getattr(thing, "__code__", None))


_NAMED = (FunctionType, MethodType, BuiltinFunctionType, type)


@dataclass(slots=True, eq=False)
class Write:
    """A change of a storage in place, by one call."""

    storage: int
    before: int  # version
    after: int
    value: Value  # the tensor written through: which elements


@dataclass(slots=True, eq=False)
class Saved:
    """A tensor that a node kept for its derivative."""

    slot: str  # "_saved_self"
    value: Value  # as it was when saved: ``value.version`` is the version it expects
    freed: bool = False
    hooked: bool = (
        False  # a saved-tensors hook of the user holds it in the node's stead
    )


@dataclass(slots=True, eq=False)
class CustomFunction:
    """What is known of a user's ``autograd.Function`` behind a node."""

    name: str
    forward: CodeType | None
    backward: CodeType | None
    inputs: tuple[Any, ...] = ()  # arguments of apply; a tensor is its Value
    needs_grad: tuple[bool, ...] = ()  # ctx.needs_input_grad
    attributes: tuple[ContextTensor, ...] = ()  # tensors kept as ctx.name = tensor
    once_differentiable: bool = False
    dirty: tuple[int, ...] = ()  # tensors marked with mark_dirty
    written: tuple[Value, ...] = ()  # inputs that forward wrote to, as they were before
    check: DerivativeCheck | None = None


@dataclass(slots=True, eq=False)
class ContextTensor:
    """A tensor on a ctx that no version check guards."""

    name: str
    value: Value  # as it was after forward
    version_now: int  # when a backward pass reached the node


@dataclass(slots=True, eq=False)
class DerivativeCheck:
    """The first entry in which a user's backward and a numeric derivative disagree."""

    input: int
    index: tuple[int, ...]
    analytic: float
    numeric: float
    ratio: float | None = None  # analytic / numeric, where all entries agree in it
    missing: bool = False  # backward returned None for this input
    flat: bool = False  # the numeric derivative is 0 everywhere: a straight-through
    identity: bool = False  # forward returns its input: backward changes gradients only
    unmoved: bool = (
        False  # whatever gradient backward is given, this input gets the same
    )
    swapped: int | None = None  # the input whose gradient this one got, and it in turn
    # Of the entries that were looked at, those that differ: index, analytic, numeric.
    entries: tuple[tuple[tuple[int, ...], float, float], ...] = ()


@dataclass(slots=True, eq=False)
class Node:
    """One backward function. Nodes outlive their calls in the log."""

    key: int  # below 0 of one that hands a gradient to a leaf
    name: str  # "MulBackward0", "AccumulateGrad"
    next: tuple[tuple[int, int] | None, ...] = ()  # (node, output) per input
    saved: tuple[Saved, ...] = ()
    call: int | None = None  # index of the event that made it
    site: RawSite | None = None
    leaf: int | None = None  # the tensor of an AccumulateGrad
    shape: tuple[int, ...] | None = None  # of its first output
    outputs: tuple[Value, ...] = ()  # what it gave, where a graph is recorded too
    view: tuple[Any, ...] = ()  # kind and numbers of a view, likewise
    freed_by: int | None = None  # index of the Backward that freed its saved tensors
    module: int | None = None  # as in Call
    sequence: int | None = None
    custom: CustomFunction | None = None  # the user's Function; not one of PyTorch's
    is_function: bool = False  # of any Function, PyTorch's own too
    count: int = 1  # nodes that it stands for; 0: another one stands for it


@dataclass(slots=True, eq=False)
class StaleSaved:
    """A saved tensor whose memory changed: what a backward pass found beforehand."""

    node: int
    slot: str
    value: Value  # as saved
    version_now: int
    silent: bool = False  # the contents changed and the version did not
    after: int | None = None  # silent: index of the last event that saw it unchanged


@dataclass(slots=True, eq=False)
class NodeRun:
    """One node's turn in a backward pass; gradients only where values were scanned."""

    node: int
    incoming: tuple[Summary | None, ...]  # one per forward output
    outgoing: tuple[Summary | None, ...]  # one per next function
    elapsed_ns: int | None = None  # where a graph is recorded too
    grad: Summary | None = None  # of .grad afterwards, where it held something before


@dataclass(slots=True, eq=False)
class ParameterState:
    """A parameter as an optimizer met it."""

    tensor: int
    has_grad: bool
    requires_grad: bool
    zero: bool | None = None  # its gradient is all zeros; None: not looked at
    bad_grad: int = 0  # NaN and Inf in its gradient, where values were scanned


def itemsize_of(dtype: str) -> int:
    """Return the bytes of an element by the name of its type.

    >>> [itemsize_of(name) for name in ("float32", "bool", "bfloat16", "float8_e4m3fn")]
    [4, 1, 2, 1]
    """
    bits = re.search(r"\d+", dtype)
    return 1 if bits is None else max(1, int(bits[0]) // 8)


def extent(value: Value) -> int:
    """Return how many elements of its memory a tensor reaches over, at least.

    >>> extent(Value(1, 1, 0, (2, 3), (3, 1), 4, "float32"))
    10
    """
    counts = (*value.shape, *value.strides)
    if any(type(each) is not int for each in counts):
        return 0  # of a nested tensor, whose rows differ in length
    if 0 in value.shape or len(value.strides) != len(value.shape):
        return 0
    steps = zip(value.shape, value.strides, strict=True)
    return value.offset + 1 + sum((size - 1) * abs(stride) for size, stride in steps)
