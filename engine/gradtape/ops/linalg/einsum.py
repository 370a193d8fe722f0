"""Einstein's summation over any number of tensors, as batched matrix products.

Operands are combined from left to right. Each pair is permuted to (batch, left, summed)
and (batch, summed, right), so that one ``bmm`` does the work, as in PyTorch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import public
from ..._tensor.tensor import Tensor
from .._support.arguments import tensor_list
from .matmul import bmm

_ELLIPSIS = "..."
_Labels = list[
    str
]  # one per dimension; ellipsis dimensions are "0", "1"… from the right


@public
@autocasts("einsum")
def einsum(*args: Any) -> Tensor:
    """Sum products of elements whose subscripts are equal.

    Raises RuntimeError where the equation does not fit the operands.

    >>> import gradtape as torch
    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    equation, given = _arguments(args)
    operands, inputs, output = _parse(equation, given)
    _check_sizes(inputs, operands)
    wanted = _implied(inputs) if output is None else output
    _check_output(wanted, inputs, output)
    order = [*wanted, *_summed(inputs, wanted)]
    pairs = zip(operands, inputs, strict=True)
    aligned = [_aligned(operand, labels, order) for operand, labels in pairs]
    return _contracted(aligned, len(wanted))


def _arguments(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    rest = args[1:]
    if (
        len(rest) == 1
        and isinstance(args[0], str)
        and isinstance(rest[0], list | tuple)
    ):
        rest = tuple(rest[0])
    if not rest:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or "
            "at least one operand and its subscripts list"
        )
    if isinstance(args[0], str):
        return args[0], tensor_list(rest, "einsum")
    # operands alternate with lists of numbers
    operands = list(args[: len(args) // 2 * 2 : 2])
    lists = [_subscripts(each) for each in args[1 : len(args) // 2 * 2 : 2]]
    equation = ",".join(lists)
    if len(args) % 2:
        equation += "->" + _subscripts(args[-1])
    return equation, operands


def _subscripts(numbers: Sequence[Any]) -> str:
    if any(n is not Ellipsis and not 0 <= n < 52 for n in numbers):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range "
            "[0, 52)"
        )
    return "".join(
        _ELLIPSIS if n is Ellipsis else chr((65 if n < 26 else 71) + n) for n in numbers
    )


def _parse(
    equation: str, operands: list[Tensor]
) -> tuple[list[Tensor], list[_Labels], _Labels | None]:
    """Return operands with all dimensions that ``...`` means, and their labels."""
    left, arrow, right = equation.partition("->")
    terms = _read_inputs(left, len(operands))
    hidden = [
        _hidden_dims(term, operand.dim(), number)
        for number, (term, operand) in enumerate(zip(terms, operands, strict=True))
    ]
    right = _read_output(right, len(left) + 2)
    widest = max(hidden, default=0)
    inputs = [_labels(term, widest) for term in terms]
    full: list[Tensor] = []
    for operand, term, own in zip(operands, terms, hidden, strict=True):
        missing = widest - own if _ELLIPSIS in term else 0
        for _ in range(missing):
            operand = operand.unsqueeze(term.index(_ELLIPSIS))
        full.append(operand)
    return full, inputs, _labels(right, widest) if arrow else None


def _read_inputs(left: str, count: int) -> list[str]:
    """Return the subscripts of each operand without spaces."""
    terms = [""]
    rest = iter(enumerate(left))
    for at, sign in rest:
        if sign == ",":
            terms.append("")
            if len(terms) > count:
                raise RuntimeError(_COUNT.format("fewer"))
        elif sign == ".":
            _check_dots(left[at : at + 3], terms[-1], f"operand {len(terms) - 1}")
            terms[-1] += _ELLIPSIS
            next(rest)
            next(rest)
        elif sign != " ":
            terms[-1] += _letter(sign, at)
    if len(terms) < count:
        raise RuntimeError(_COUNT.format("more"))
    return terms


def _read_output(right: str, offset: int) -> str:
    """Return the output's subscripts, which begin at ``offset``, without spaces."""
    found = ""
    rest = iter(enumerate(right))
    for at, sign in rest:
        if sign == ".":
            _check_dots(right[at : at + 3], found, "output")
            found += _ELLIPSIS
            next(rest)
            next(rest)
        elif sign != " ":
            found += _letter(sign, at + offset)
    return found


_HIDDEN_SIZE = (
    "einsum(): dimension {} covered by ellipsis in operand {}has size {} which does "
    "not broadcast with previously seen ellipsis with size {} for the respective "
    "dimension"
)
_COUNT = "einsum(): {} operands were provided than specified in the equation"


def _check_dots(three: str, before: str, what: str) -> None:
    output = what == "output"
    if _ELLIPSIS in before:
        seen = "but an ellipsis (...)" if output else "for which an ellipsis"
        raise RuntimeError(f"einsum(): found '.' for {what} {seen} was already found")
    if three != _ELLIPSIS:
        end = " (...)" * output
        raise RuntimeError(
            f"einsum(): found '.' for {what} that is not part of any ellipsis{end}"
        )


def _letter(sign: str, at: int) -> str:
    if not re.fullmatch("[A-Za-z]", sign):
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {at} in the equation string, "
            "subscripts must be in [a-zA-Z]"
        )
    return sign


def _labels(term: str, widest: int) -> _Labels:
    before, dots, after = term.partition(_ELLIPSIS)
    hidden = [str(i) for i in reversed(range(widest))]
    return [*before, *(hidden if dots else []), *after]


def _hidden_dims(term: str, ndim: int, operand: int) -> int:
    """Return how many dimensions ``...`` stands for; refuse what does not fit."""
    before, dots, after = term.partition(_ELLIPSIS)
    named = len(before) + len(after)
    if (not dots and named != ndim) or named > ndim:
        raise RuntimeError(
            "einsum(): the number of subscripts in the equation "
            f"({named}) "
            + (
                f"is more than the number of dimensions ({ndim}) for operand {operand}"
                if dots
                else f"does not match the number of dimensions ({ndim}) for operand "
                f"{operand} and no ellipsis was given"
            )
        )
    return ndim - named


def _implied(inputs: list[_Labels]) -> _Labels:
    """Return the output of an equation without arrow: what occurs once, in order."""
    every = [c for labels in inputs for c in labels]
    hidden = sorted({c for c in every if c.isdigit()}, reverse=True)
    once = sorted(c for c in set(every) if not c.isdigit() and every.count(c) == 1)
    return [*hidden, *once]


def _check_output(
    wanted: _Labels, inputs: list[_Labels], output: _Labels | None
) -> None:
    known = {c for labels in inputs for c in labels}
    for label in wanted:
        if label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation "
                "for any input operand"
            )
        if output is not None and wanted.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the "
                "output"
            )


def _check_sizes(inputs: list[_Labels], operands: list[Tensor]) -> None:
    sizes: dict[str, int] = {}
    for number, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        own: dict[str, int] = {}
        for dim, (label, size) in enumerate(zip(labels, operand.shape, strict=True)):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but "
                    f"the sizes don't match, {size} != {own[label]}"
                )
            seen = sizes.get(label, 1)
            if seen not in (1, size) and size != 1:
                if label.isdigit():
                    raise RuntimeError(_HIDDEN_SIZE.format(dim, number, size, seen))
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {number} "
                    f"which does not broadcast with previously seen size {seen}"
                )
            sizes[label] = max(seen, size) if size else 0


def _summed(inputs: list[_Labels], wanted: _Labels) -> _Labels:
    """Return the labels that the output lacks: hidden ones, then by the alphabet."""
    rest = {c for labels in inputs for c in labels} - set(wanted)
    hidden = sorted((c for c in rest if c.isdigit()), key=int, reverse=True)
    return [*hidden, *sorted(rest.difference(hidden))]


def _aligned(tensor: Tensor, labels: _Labels, order: _Labels) -> Tensor:
    """Give a tensor one dimension per label of ``order``; repeated ones: diagonals."""
    at: dict[str, int] = {}
    for label in labels:
        if label in at:
            tensor = tensor.diagonal(0, at[label], len(at)).movedim(-1, at[label])
        else:
            at[label] = len(at)
    for label in order:
        if label not in at:
            tensor = tensor.unsqueeze(-1)
            at[label] = len(at)
    return tensor.permute([at[label] for label in order])


def _contracted(operands: list[Tensor], kept: int) -> Tensor:
    """Multiply operands from left to right; sum the dimensions from ``kept`` on."""
    found, *others = operands
    summed = range(kept, found.dim())
    if not others:
        return found.sum(tuple(summed)) if summed else found
    # In how many operands a dimension is more than a 1 that broadcasts.
    counts = [sum(o._data.shape[d] != 1 for o in operands) for d in range(found.dim())]
    for other in others:
        found = _multiplied(found, other, summed, counts)
    return found.view(found._data.shape[:kept]) if summed else found


def _multiplied(
    left: Tensor, right: Tensor, summed: range, counts: list[int]
) -> Tensor:
    """Multiply two operands; sum what no later one has any more."""
    both: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for dim in summed:
        wide = [side._data.shape[dim] != 1 for side in (left, right)]
        if all(wide):
            counts[dim] -= 1
            if counts[dim] == 1:
                both.append(dim)
                counts[dim] = 0
        elif any(wide) and counts[dim] == 1:
            alone[wide.index(True)].append(dim)
            counts[dim] = 0
    if alone[0]:
        left = left.sum(tuple(alone[0]), True)
    if alone[1]:
        right = right.sum(tuple(alone[1]), True)
    return _product(left, right, both) if both else left * right


def _product(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """Multiply and sum by one bmm; the summed dimensions stay, with one element."""
    mine, yours = left._data.shape, right._data.shape
    others = [d for d in range(left.dim()) if d not in summed]
    shared = [d for d in others if mine[d] != 1 and yours[d] != 1]
    own_left = [d for d in others if mine[d] != 1 and yours[d] == 1]
    own_right = [d for d in others if mine[d] == 1]
    wide_right = [d for d in own_right if yours[d] != 1]
    if own_left and wide_right and own_left[0] > wide_right[0]:
        return _product(right, left, summed)  # the output's dimensions lie in order
    batch, rows, inner = (
        math.prod(mine[d] for d in dims) for dims in (shared, own_left, summed)
    )
    columns = math.prod(yours[d] for d in own_right)
    first = left.permute([*shared, *own_left, *summed, *own_right])
    second = right.permute([*shared, *summed, *own_right, *own_left])
    product = bmm(
        first.reshape(batch, rows, inner), second.reshape(batch, inner, columns)
    )
    dims = [*shared, *own_left, *summed, *own_right]
    sizes = [mine[d] for d in (*shared, *own_left)]
    sizes += [1] * len(summed) + [yours[d] for d in own_right]
    return product.view(sizes).permute([dims.index(d) for d in range(len(dims))])
