"""Calls of views, joins and copies that move elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._record import COMPLEX, NUMBERS, Make, OpSample, Sample, sample

Calls = Callable[[Make], Iterator[Sample]]

ANY = (*NUMBERS, *COMPLEX)


def calls(*signatures: tuple[Any, ...]) -> Calls:
    """Calls of one tensor: the shape first, then the arguments after it."""

    def samples(make: Make) -> Iterator[Sample]:
        for shape, *rest in signatures:
            named = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            yield sample(make(*shape), *rest, **named)

    return samples


def lists(*signatures: tuple[Any, ...]) -> Calls:
    """Calls of one list of tensors: the shapes first, then the arguments after it."""

    def samples(make: Make) -> Iterator[Sample]:
        for shapes, *rest in signatures:
            named = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            yield sample([make(*shape) for shape in shapes], *rest, **named)

    return samples


def mixed(make: Make) -> Iterator[Sample]:
    yield sample([make(2), make.ints(3)], 0)
    yield sample([make.bools(2), make(2)], 0)


def entry(name: str, good: Calls, bad: Calls | None = None, **facts: Any) -> OpSample:
    """An entry over every dtype, which views and copies are alike."""
    return OpSample(name, good, errors=bad, **{"dtypes": ANY, **facts})


SHAPES = (
    entry(
        "Tensor.view",
        calls(((2, 3), 6), ((2, 3), -1), ((2, 6), 2, 2, 3), ((1,), ()), ((0, 3), 3, 0)),
        calls(((2, 3), 7), ((2, 3), -1, 4), ((2, 3), -1, -1), ((0,), -1, 0)),
        layouts=("contiguous",),
    ),
    entry(
        "reshape",
        calls(((2, 3), (6,)), ((2, 3), (3, -1)), ((), (1, 1)), ((2, 0), (0, 5))),
        calls(((2, 3), (7,)), ((2, 3), (-1, 4)), ((2, 3), (-2, 3))),
    ),
    entry(
        "flatten",
        calls(((2, 3, 4),), ((2, 3, 4), 1), ((2, 3, 4), 0, 1), ((),), ((3,), 0, 0)),
        calls(((2, 3), 1, 0), ((2, 3), 2)),
    ),
    entry("ravel", calls(((2, 3),), ((),))),
    entry(
        "unflatten",
        calls(((2, 6), 1, (2, 3)), ((2, 6), -1, (-1, 2))),
        calls(((2, 6), 1, (4, 2)), ((2, 6), 1, ())),
        layouts=("contiguous",),
    ),
    entry(
        "Tensor.view_as",
        lambda make: iter([sample(make(2, 3), make(3, 2))]),
        layouts=("contiguous",),
    ),
    entry(
        "unsqueeze",
        calls(((2, 3), 0), ((2, 3), 1), ((2, 3), -1), ((), 0), ((0,), 1)),
        calls(((2, 3), 3), ((2, 3), -4)),
    ),
    entry("squeeze", calls(((1, 3, 1),), ((2, 3),), ((),), ((1, 1),))),
    entry(
        "squeeze",
        calls(((1, 3, 1), 0), ((1, 3, 1), -1), ((1, 3), 1), ((), 0)),
        calls(((1, 3), 2)),
        variant="dim",
    ),
    entry(
        "squeeze",
        calls(((1, 3, 1), (0, 2)), ((1, 3, 1), (1,)), ((1,), ())),
        calls(((1, 3), (0, 0))),
        variant="dims",
    ),
    entry(
        "Tensor.expand",
        calls(((3, 1), 3, 4), ((3, 1), -1, 2), ((3,), 2, 3), ((), 2), ((1,), 0)),
        calls(((3, 2), 3, 4), ((3,), -1, 3), ((3, 2), 2), ((3,), -2)),
    ),
    entry("broadcast_to", calls(((3, 1), (2, 3, 4)), ((), (2,)))),
    entry(
        "atleast_1d",
        calls(((),), ((2,),)),
    ),
    entry("atleast_2d", calls(((),), ((2,),), ((2, 3),))),
    entry("atleast_3d", calls(((),), ((2,),), ((2, 3),), ((2, 3, 4),))),
)

ORDERS = (
    entry(
        "transpose",
        calls(((2, 3), 0, 1), ((2, 3, 4), 0, -1), ((2, 3), 1, 1), ((), 0, -1)),
        calls(((2, 3), 0, 2)),
    ),
    entry("t", calls(((2, 3),), ((3,),), ((),)), calls(((2, 3, 4),))),
    entry(
        "permute",
        calls(((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (-1, 0, 1)), ((), ())),
        calls(((2, 3), (0,)), ((2, 3), (0, 0)), ((2, 3), (0, 2))),
    ),
    entry(
        "movedim",
        calls(((2, 3, 4), 0, 2), ((2, 3, 4), (0, 1), (-1, 0)), ((2, 3), 1, 1)),
        calls(((2, 3), (0, 1), (0,)), ((2, 3), (0, 0), (0, 1))),
    ),
    entry("swapaxes", calls(((2, 3), 0, 1))),
    entry("adjoint", calls(((2, 3),), ((2, 3, 4),)), calls(((3,),)), dtypes=NUMBERS),
    entry(
        "flip",
        calls(((2, 3), (0,)), ((2, 3), (0, 1)), ((2, 3), ()), ((0, 2), (1,))),
        calls(((2, 3), (0, 0)), ((2, 3), (2,))),
    ),
    entry("fliplr", calls(((2, 3),)), calls(((3,),))),
    entry("flipud", calls(((2, 3),)), calls(((),))),
    entry(
        "roll",
        calls(((2, 3), 1), ((2, 3), -1, 0), ((2, 3), (1, 2), (0, 1)), ((3,), 7, 0)),
        calls(((2, 3), (1, 2)), ((2, 3), (1,), (0, 1))),
    ),
    entry(
        "rot90",
        calls(
            ((2, 3),), ((2, 3), 2), ((2, 3), -1), ((2, 3, 4), 1, (1, 2)), ((2, 3), 4)
        ),
        calls(((2, 3), 1, (0, 0)), ((3,),), ((2, 3), 1, (0,))),
    ),
)

PARTS = (
    entry(
        "select",
        calls(((2, 3), 0, 1), ((2, 3), 1, -1), ((2, 3, 4), -1, 0)),
        calls(((2, 3), 0, 2), ((2, 3), 2, 0), ((), 0, 0)),
    ),
    entry(
        "narrow",
        calls(((4, 3), 0, 1, 2), ((4, 3), 1, -2, 1), ((4,), 0, 4, 0)),
        calls(((4,), 0, 3, 2), ((4,), 0, 5, 0), ((4,), 0, 0, -1), ((), 0, 0, 0)),
    ),
    entry(
        "diagonal",
        calls(
            ((3, 4),),
            ((3, 4), 1),
            ((3, 4), -2),
            ((2, 3, 4), 0, 1, 2),
            ((2, 3, 4), -1, -1, 0),
            ((3, 4), 9),
        ),
        calls(((3, 4), 0, 1, 1), ((3,),)),
    ),
    entry(
        "Tensor.unfold",
        calls(((5,), 0, 2, 1), ((5,), 0, 3, 2), ((2, 5), 1, 2, 3), ((2, 5), 0, 1, 1)),
        calls(((5,), 0, 6, 1), ((5,), 0, 2, 0), ((5,), 0, -1, 1)),
    ),
    entry(
        "split",
        calls(((5, 2), 2), ((5, 2), 1, 1), ((5,), [1, 4]), ((4, 3), [1, 0, 2], 1)),
        calls(((5,), 0), ((5,), -1), ((5,), [1, 1]), ((5,), [6, -1]), ((), 1)),
    ),
    entry(
        "chunk", calls(((5, 2), 2), ((5, 2), 7), ((0,), 2)), calls(((5,), 0), ((), 1))
    ),
    entry(
        "tensor_split",
        calls(((5, 2), 2), ((5, 2), (1, 3)), ((5, 4), 3, 1)),
        calls(((5,), 0), ((), 1)),
    ),
    entry("unbind", calls(((2, 3),), ((2, 3), 1)), calls(((),), ((2,), 1))),
    entry("hsplit", calls(((4,), 2), ((2, 4), (1,))), calls(((2, 3), 2), ((), 1))),
    entry("vsplit", calls(((4, 2), 2)), calls(((3,), 1), ((3, 2), 2))),
    entry("dsplit", calls(((2, 3, 4), 2)), calls(((3, 2), 1))),
)

JOINS = (
    entry(
        "cat",
        lists(
            (((2, 3), (1, 3)),),
            (((2, 3), (2, 1)), 1),
            (((2, 3), (2, 0)), -1),
            (((0,), (2, 3)),),
            (((3,),),),
        ),
        lists((((2, 3), (2, 2)),), (((2,), (2, 1)),), (((), ()),), ((),), (((2,),), 1)),
    ),
    entry("cat", mixed, variant="dtypes", dtypes=("float32", "float64", "int32")),
    entry(
        "stack",
        lists((((2, 3), (2, 3)),), (((2, 3), (2, 3)), -1), (((), ()),)),
        lists((((2,), (3,)),), ((),), (((2,),), 2)),
    ),
    entry("hstack", lists((((2,), (3,)),), (((2, 3), (2, 1)),), (((), ()),))),
    entry("vstack", lists((((3,), (3,)),), (((2, 3), (1, 3)),), (((), ()),))),
    entry("dstack", lists((((3,), (3,)),), (((2, 3), (2, 3)),))),
    entry("column_stack", lists((((3,), (3,)),), (((3, 2), (3,)),))),
    entry(
        "meshgrid",
        lists((((2,), (3,)), {"indexing": "ij"}), (((2,), (3,)), {"indexing": "xy"})),
        lists(((), {"indexing": "ij"})),
    ),
    entry("cartesian_prod", lambda make: iter([sample(make(2), make(3))])),
    entry("combinations", calls(((4,),), ((4,), 3), ((3,), 2, True))),
)

COPIES = (
    entry("clone", calls(((2, 3),), ((),), ((0, 3),))),
    entry("Tensor.contiguous", calls(((2, 3),), ((),))),
    entry(
        "Tensor.repeat",
        calls(((2, 3), 2, 1), ((3,), 2, 2), ((), 3), ((2,), 0), ((2, 3), 1, 1)),
        calls(((2, 3), 2), ((2,), -1)),
    ),
    entry("tile", calls(((2, 3), (2,)), ((3,), (2, 2)), ((), (2,)))),
    entry(
        "repeat_interleave",
        calls(((2, 3), 2), ((2, 3), 2, 0), ((2, 3), 3, -1), ((2,), 0)),
        calls(((2,), -1)),
    ),
    entry(
        "repeat_interleave",
        lambda make: iter([sample(make(3, 2), make.ints(3, high=2, dtype="int64"), 0)]),
        variant="tensor",
    ),
    entry("tril", calls(((3, 4),), ((3, 4), 1), ((2, 3, 3), -1)), calls(((3,),))),
    entry("triu", calls(((3, 4),), ((3, 4), 1), ((2, 3, 3), -1)), calls(((3,),))),
    entry(
        "diag",
        calls(((3,),), ((3,), 1), ((3, 4),), ((3, 4), -1)),
        calls(((2, 3, 4),), ((),)),
    ),
    entry("diag_embed", calls(((3,),), ((2, 3), -1), ((2, 3), 1, 0, 2))),
    entry("diagflat", calls(((2, 3),), ((3,), 1))),
    entry(
        "kron",
        lambda make: iter(
            [sample(make(2, 3), make(2, 2)), sample(make(2), make(2, 2))]
        ),
        dtypes=("float64",),
        layouts=("contiguous",),  # PyTorch refuses others
    ),
)

OPS = (*SHAPES, *ORDERS, *PARTS, *JOINS, *COPIES)
