"""Einstein's summation over any number of tensors, as batched matrix products.

Operands are combined from left to right. Each pair is permuted to (batch, left, summed)
and (batch, summed, right), so that one ``bmm`` does the work, as in PyTorch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .._autocast import autocasts
from .._define import public
from .._tensor import Tensor
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
    equation, operands = _arguments(args)
    inputs, output = _parse(equation, operands)
    sizes = _sizes(inputs, operands)
    wanted = _implied(inputs) if output is None else output
    _check_output(wanted, inputs, output)
    left: Tensor | None = None
    left_labels: _Labels = []
    for number, (operand, labels) in enumerate(zip(operands, inputs, strict=True)):
        right, right_labels = _diagonals(operand, labels)
        later = {c for rest in inputs[number + 1 :] for c in rest} | set(wanted)
        right, right_labels = _summed_early(right, right_labels, left_labels, later)
        if left is None:
            left, left_labels = right, right_labels
        else:
            left, left_labels = _combined(
                left, left_labels, right, right_labels, later, sizes
            )
    assert left is not None
    return left.permute([left_labels.index(c) for c in wanted])


def _arguments(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    if not args:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or "
            "at least one operand and its subscripts list"
        )
    if isinstance(args[0], str):
        rest = args[1:]
        if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
            rest = tuple(rest[0])
        return args[0], list(rest)
    # operands alternate with lists of numbers
    operands = list(args[: len(args) // 2 * 2 : 2])
    lists = [_subscripts(each) for each in args[1 : len(args) // 2 * 2 : 2]]
    equation = ",".join(lists)
    if len(args) % 2:
        equation += "->" + _subscripts(args[-1])
    return equation, operands


def _subscripts(numbers: Sequence[Any]) -> str:
    return "".join(
        _ELLIPSIS if n is Ellipsis else chr((65 if n < 26 else 71) + n) for n in numbers
    )


def _parse(
    equation: str, operands: list[Tensor]
) -> tuple[list[_Labels], _Labels | None]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        words = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {words} operands were provided than specified in the equation"
        )
    inputs = [
        _labels(term, operand.dim(), number)
        for number, (term, operand) in enumerate(zip(terms, operands, strict=True))
    ]
    widest = max((sum(c.isdigit() for c in labels) for labels in inputs), default=0)
    output = None
    if arrow:
        hidden = [str(i) for i in reversed(range(widest))]
        before, dots, after = right.partition(_ELLIPSIS)
        output = [*before, *(hidden if dots else []), *after]
    return inputs, output


def _labels(term: str, ndim: int, operand: int) -> _Labels:
    before, dots, after = term.partition(_ELLIPSIS)
    for letter in before + after:
        if not re.fullmatch("[A-Za-z]", letter):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {term.index(letter)} in "
                "the equation string, subscripts must be in [a-zA-Z]"
            )
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
    hidden = [str(i) for i in reversed(range(ndim - named))]
    return [*before, *hidden, *after]


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


def _sizes(inputs: list[_Labels], operands: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        for label, size in zip(labels, operand.shape, strict=True):
            seen = sizes.get(label, 1)
            if seen not in (1, size) and size != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {number} "
                    f"which does not broadcast with previously seen size {seen}"
                )
            sizes[label] = max(seen, size) if size else 0
    return sizes


def _diagonals(tensor: Tensor, labels: _Labels) -> tuple[Tensor, _Labels]:
    """Take diagonals where a subscript occurs twice in one operand."""
    labels = list(labels)
    while len(set(labels)) < len(labels):
        label = next(c for c in labels if labels.count(c) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        tensor = tensor.diagonal(0, first, second)
        labels = [c for i, c in enumerate(labels) if i not in (first, second)]
        labels.append(label)
    return tensor, labels


def _summed_early(
    tensor: Tensor, labels: _Labels, other: _Labels, later: set[str]
) -> tuple[Tensor, _Labels]:
    """Sum over subscripts that nothing else has."""
    alone = [i for i, c in enumerate(labels) if c not in later and c not in other]
    if not alone:
        return tensor, labels
    kept = [c for i, c in enumerate(labels) if i not in alone]
    return tensor.sum(tuple(alone)), kept


def _combined(
    left: Tensor,
    left_labels: _Labels,
    right: Tensor,
    right_labels: _Labels,
    later: set[str],
    sizes: dict[str, int],
) -> tuple[Tensor, _Labels]:
    """Multiply two operands and sum over what no later one nor the output has."""
    both = [c for c in left_labels if c in right_labels]
    batch = [c for c in both if c in later]
    # A size of 1 that broadcasts cannot be summed with bmm: it is summed alone.
    summed = [c for c in both if c not in later]
    own_left = [c for c in left_labels if c not in both]
    own_right = [c for c in right_labels if c not in both]
    lone = [c for c in own_left if c not in later]
    if lone:
        left = left.sum(tuple(left_labels.index(c) for c in lone))
        left_labels = [c for c in left_labels if c not in lone]
        own_left = [c for c in own_left if c in later]
    extents = [math.prod(sizes[c] for c in part) for part in (batch, own_left, summed)]
    width = math.prod(sizes[c] for c in own_right)
    first = _arranged(left, left_labels, [*batch, *own_left, *summed], sizes)
    second = _arranged(right, right_labels, [*batch, *summed, *own_right], sizes)
    product = bmm(
        first.reshape(extents[0], extents[1], extents[2]),
        second.reshape(extents[0], extents[2], width),
    )
    labels = [*batch, *own_left, *own_right]
    return product.view(tuple(sizes[c] for c in labels)), labels


def _arranged(
    tensor: Tensor, labels: _Labels, order: _Labels, sizes: dict[str, int]
) -> Tensor:
    turned = tensor.permute([labels.index(c) for c in order])
    size = tuple(sizes[c] for c in order)
    return turned if tuple(turned.shape) == size else turned.expand(size)
