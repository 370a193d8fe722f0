"""Op: the record of one operation, read off its declaration.

A declaration is one block: the forward kernel over raw arrays and one derivative per
differentiable tensor. The names in a derivative's signature say what it needs:

    F, grad       the ops to compute with, and the incoming gradient
    self, other   a tensor argument of the forward call: it is saved
    result        the output (result0, result1… with several): it is saved
    dim, keepdim  a non-tensor argument of the forward call
    self_shape    the shape of a tensor argument; nothing is saved
                  (also self_dtype, self_strides)
    needs         which tensors need a gradient, in order of the call

``F`` is a namespace with every op under its name: raw kernels when gradients are plain
arrays, recorded ops under ``create_graph=True``. One formula serves both, so every
order of derivative follows. Broadcasting is undone by the backward loop, never here.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal, NamedTuple, TypeAlias

Array: TypeAlias = Any
"""Marks a kernel's parameter as a tensor, handed over as a raw array."""

Arrays: TypeAlias = Any
"""Marks a parameter that takes a sequence of tensors."""

Operand: TypeAlias = Any
"""Marks a parameter that takes a tensor or a Python number."""

Kernel: TypeAlias = Callable[..., Any]
Derivative: TypeAlias = Callable[..., Any]
Check: TypeAlias = Callable[..., None]
Promotion: TypeAlias = Literal["none", "common", "float", "compare", "rest"]

Family: TypeAlias = Literal["", "elementwise", "upcast", "reduction", "matmul"]
"""What ops besides the pointwise ones are treated alike.

The result of an "elementwise" op lies in memory as the operands do; its 16-bit floats,
like those of "upcast" ops, are computed in float32 and rounded once.
"""

Recorded: TypeAlias = Literal["", "real", "cast"]
"""Which results of an op that is recorded have a history.

Those of floats and complex numbers; PyTorch refuses to record others. Of "real" ops it
refuses complex ones too; a "cast" to whole numbers ends the history without a word.
"""

_TENSOR_MARKS = {"Array", "Operand", "Array | None", "Operand | None", "Arrays"}

UNDERIVED = "derivative for aten::{name} is not implemented"
"""What the formula says of an op that PyTorch records without being able to derive."""


@dataclass(frozen=True, slots=True)
class Formula:
    """One derivative: the inputs it serves and where its arguments come from."""

    function: Derivative
    inputs: tuple[int, ...]  # positions among the op's tensors
    edges: tuple[int, ...]  # positions among the node's next functions
    joint: bool  # returns a tuple, one gradient per input
    picks: tuple[int, ...]  # positions in saved + params

    @property
    def hands_on(self) -> bool:
        """Whether it returns the gradient as it came."""
        return self.function.__code__.co_code == _HANDS_ON.__code__.co_code


def _HANDS_ON(F: Any, grad: Any) -> Any:  # noqa: N802 - a constant
    return grad


class Saving(NamedTuple):
    """Where one saved slot is filled from, and for whom."""

    argument: int | None  # position among the op's tensors; None for an output
    output: int
    users: tuple[int, ...] | None  # next functions that need it; None: always saved


@dataclass(slots=True)
class Op:
    """Everything known about one operation."""

    name: str
    kernel: Kernel
    parameters: tuple[inspect.Parameter, ...]
    tensors: tuple[str, ...]  # names of tensor parameters, in order
    options: tuple[str, ...]  # names of the other parameters, in order
    listed: int | None  # position of the tensor parameter that takes a sequence
    node_name: str
    promotion: Promotion = "none"
    view: str | None = None  # None, "" for one view, "multi_output"
    pointwise: bool = False
    output_names: tuple[str, ...] = ()  # where PyTorch has better ones than result0
    outputs: int | None = 1  # None: as many as the kernel returns
    differentiable: tuple[int, ...] = (0,)  # outputs that carry gradients
    family: Family = ""
    recorded: Recorded = ""
    key: str = ""  # where the name has several overloads, this one's own
    optional: frozenset[int] = frozenset()  # positions of tensors that may be None
    numbers: frozenset[int] = frozenset()  # positions of tensors that may be numbers
    out: bool = False  # the function takes out=
    out_rule: str = ""  # the sentence, where out= must have the result's own dtype
    check: Check | None = None  # (name, *args, *options) refuses before promotion
    edges: tuple[int, ...] = ()  # positions of tensors with a derivative
    saves: tuple[str, ...] = ()  # slots: tensors and results that formulas ask for
    metas: tuple[str, ...] = ()  # "self_shape"… that formulas ask for
    meta_reads: tuple[tuple[int, str], ...] = ()  # the same: which tensor, and what
    formulas: tuple[Formula, ...] = ()
    savings: tuple[Saving, ...] = ()  # one per slot in `saves`
    doc: str = ""
    node_type: type = field(init=False)
    ordered: Kernel = field(init=False)  # takes xp, the tensors, then the options

    @property
    def lies_like_operands(self) -> bool:
        """Whether its result has the memory order that its operands suggest."""
        return self.pointwise or self.family == "elementwise"

    @property
    def slotted(self) -> bool:
        """Whether its nodes keep what they save in slots; see saved slots."""
        return self.pointwise and len(self.saves) in (1, 2) and len(self.tensors) <= 2

    @property
    def param_names(self) -> tuple[str, ...]:
        """Names of what a node keeps besides tensors."""
        return (*self.options, *self.metas)


def read_op(
    kernel: Kernel,
    derivatives: Mapping[str | tuple[str, ...], Derivative],
    **facts: Any,
) -> Op:
    """Build the record of an op from its kernel and derivatives.

    Raises TypeError where a derivative asks for a name the op does not have.
    """
    parameters = tuple(inspect.signature(kernel).parameters.values())[1:]
    marks = {p.name: str(p.annotation) for p in parameters}
    tensors = tuple(n for n, mark in marks.items() if mark in _TENSOR_MARKS)
    listed = [i for i, n in enumerate(tensors) if marks[n] == "Arrays"]
    op = Op(
        name=facts.pop("name", kernel.__name__),
        kernel=kernel,
        parameters=parameters,
        tensors=tensors,
        options=tuple(n for n in marks if n not in tensors),
        listed=listed[0] if listed else None,
        doc=inspect.getdoc(kernel) or "",
        **facts,
    )
    op.key = op.key or op.name
    op.optional = frozenset(
        i for i, n in enumerate(tensors) if marks[n].endswith("| None")
    )
    op.numbers = frozenset(
        i for i, n in enumerate(tensors) if marks[n].startswith("Operand")
    )
    _read_formulas(op, derivatives)
    return op


def _read_formulas(
    op: Op, derivatives: Mapping[str | tuple[str, ...], Derivative]
) -> None:
    wanted = {key: _wanted_names(function) for key, function in derivatives.items()}
    asked = [name for names in wanted.values() for name in names]
    results = sorted({n for n in asked if n.startswith("result")})
    op.saves = (*[n for n in op.tensors if n in asked], *results)
    targets = {n for key in wanted for n in ((key,) if isinstance(key, str) else key)}
    op.edges = tuple(
        i for i, n in enumerate(op.tensors) if n in targets or op.listed is not None
    )
    op.metas = tuple(dict.fromkeys(n for n in asked if _is_meta(op, n)))
    halves = [name.rpartition("_") for name in op.metas]
    op.meta_reads = tuple((op.tensors.index(stem), kind) for stem, _, kind in halves)
    places = {n: i for i, n in enumerate((*op.saves, *op.options, *op.metas))}
    places["needs"] = -1
    formulas: list[Formula] = []
    for key, function in derivatives.items():
        inputs = (key,) if isinstance(key, str) else key
        unknown = [
            n for n in (*inputs, *wanted[key]) if n not in (*places, *op.tensors)
        ]
        if unknown:
            raise TypeError(f"the derivative of {op.name} asks for unknown {unknown}")
        formulas.append(
            Formula(
                function,
                positions := tuple(op.tensors.index(n) for n in inputs),
                tuple(op.edges.index(p) for p in positions),
                not isinstance(key, str),
                tuple(places[n] for n in wanted[key]),
            )
        )
    op.formulas = tuple(formulas)
    op.savings = tuple(_saving(op, at, slot) for at, slot in enumerate(op.saves))


def _saving(op: Op, position: int, slot: str) -> Saving:
    users = None
    if op.listed is None:
        asking = [f.edges for f in op.formulas if position in f.picks]
        users = tuple({edge for edges in asking for edge in edges})
    if slot.startswith("result"):
        return Saving(None, int(slot[6:] or 0), users)
    return Saving(op.tensors.index(slot), 0, users)


def saving_order(op: Op) -> tuple[int, ...] | None:
    """Return the order, PyTorch's, in which slots are packed and unpacked.

    Inputs come by their names, then outputs. None: the order of `saves`.
    """
    slots = list(range(len(op.saves)))
    order = sorted(slots, key=lambda i: (op.saves[i].startswith("result"), op.saves[i]))
    return None if order == slots else tuple(order)


def _wanted_names(function: Derivative) -> tuple[str, ...]:
    if isinstance(function, FunctionType) and not vars(function):  # no __signature__
        code = function.__code__  # a fifth of the time that inspect takes
        return code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
    return tuple(inspect.signature(function).parameters)[2:]


def _is_meta(op: Op, name: str) -> bool:
    stem, _, kind = name.rpartition("_")
    return stem in op.tensors and kind in ("shape", "strides", "dtype")


def formula_text(formula: Formula) -> str:
    """Return the expression of a derivative as its block writes it; "" if lost.

    A formula that is a whole function is shown as a call of it.
    """
    code = formula.function.__code__
    if code.co_name != "<lambda>":
        return f"{code.co_name}({', '.join(code.co_varnames[1 : code.co_argcount])})"
    lines = linecache.getlines(code.co_filename)
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for line, end, column, end_column in code.co_positions():
        if line and end and column != end_column:  # else the interpreter's bookkeeping
            starts.append((line, column or 0))
            ends.append((end, end_column or 0))
    if not starts or not lines:
        return ""
    (line, column), (end, end_column) = min(starts), max(ends)
    body = [text.encode() for text in lines[line - 1 : end]]
    body[-1] = body[-1][:end_column]
    body[0] = body[0][column:]
    text = " ".join(b"".join(body).decode().split())
    return _keeping(text).replace("F.", "").replace("( ", "(").replace(", )", ")")


def _keeping(text: str) -> str:
    """Leave out of an expression what it does over the memory of the gradient.

    ``a if F.owns else b`` is b: both are the same derivative.
    """
    try:
        found = ast.walk(ast.parse(text, mode="eval"))
    except SyntaxError:
        return text
    for each in found:
        if isinstance(each, ast.IfExp) and _asks_who_owns(each.test):
            whole, rest = (
                ast.get_source_segment(text, part) or "" for part in (each, each.orelse)
            )
            return _keeping(text.replace(whole, rest, 1))
    return text


def _asks_who_owns(test: ast.expr) -> bool:
    return any(
        isinstance(e, ast.Attribute) and e.attr == "owns" for e in ast.walk(test)
    )
