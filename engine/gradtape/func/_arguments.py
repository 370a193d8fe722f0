"""Which arguments a transform differentiates, and what it lets in and out."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from .._modes.transforms import active
from .._tensor.tensor import Tensor

ArgNums = int | tuple[int, ...]


@contextlib.contextmanager
def transforming() -> Generator[None]:
    """Count the block as the inside of a transform."""
    more = active.more
    active.depth += 1
    try:
        yield
    finally:
        active.depth -= 1
        active.more = more


def chosen(args: Sequence[Any], argnums: Any) -> Any:
    """Return the arguments at ``argnums``: one, or a tuple of them.

    Raises RuntimeError where these are no positions of arguments.
    """
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(
            f"argnums must be int or Tuple[int, ...], got: {type(argnums)}"
        )
    if isinstance(argnums, int):
        return args[_position(argnums, len(args))]
    places = positions(args, argnums)
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
    return tuple([args[i] for i in places])


def positions(args: Sequence[Any], argnums: ArgNums) -> tuple[int, ...]:
    """Return which arguments ``argnums`` means, counted from the first."""
    each = (argnums,) if isinstance(argnums, int) else argnums
    return tuple([_position(i, len(args)) for i in each])


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(
    args: tuple[Any, ...], argnums: ArgNums | None, new: Any
) -> tuple[Any, ...]:
    """Return the arguments with new ones at ``argnums``; None: all are new."""
    if argnums is None:
        return new
    values = (new,) if isinstance(argnums, int) else new
    given = dict(zip(positions(args, argnums), values, strict=True))
    return tuple([given.get(i, arg) for i, arg in enumerate(args)])


def with_aux(api: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """Split what a function returned into output and auxiliary values.

    Raises RuntimeError where ``has_aux`` asks for a pair and there is none.
    """
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux "
            "is True"
        )
    return output


def check_outputs(outputs: Sequence[Any], api: str) -> None:
    """Raise RuntimeError unless there are outputs, and all of them tensors."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got "
            f"output = {outputs})"
        )
    for each in outputs:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported "
                f"type {type(each)}"
            )


def check_listed(tensors: Sequence[Any], api: str, name: str) -> None:
    """Raise RuntimeError unless there are inputs, and all of them tensors."""
    if not tensors:
        raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
    for each in tensors:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{api}: Expected {name} to only contain Tensors, got {type(each)}"
            )


def refuse_complex(name: str, tensors: Iterable[Any], kind: str) -> None:
    """Raise RuntimeError where one of the inputs, or outputs, is complex."""
    for index, each in enumerate(tensors):
        if isinstance(each, Tensor) and each.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {kind}s to be real but received complex tensor "
                f"at flattened input idx: {index}"
            )
