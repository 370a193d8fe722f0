"""PyTorch's deprecated signatures: numbers first, as in ``add_(-lr, grad)``.

Scripts of years ago use them, optimizers above all. They still work, and say once what
to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from .._common.warn import warn_once
from .._tensor.tensor import Tensor


class OlderForm(NamedTuple):
    """An op's numbers, which came between its tensors, and the other tensors."""

    numbers: tuple[str, ...]
    tensors: tuple[str, ...]


_MATRICES: Final = ("beta", "alpha")

OLDER: Final[dict[str, OlderForm]] = {
    "add": OlderForm(("alpha",), ("other",)),
    "sub": OlderForm(("alpha",), ("other",)),
    "addcmul": OlderForm(("value",), ("tensor1", "tensor2")),
    "addcdiv": OlderForm(("value",), ("tensor1", "tensor2")),
    "addmm": OlderForm(_MATRICES, ("mat1", "mat2")),
    "addmv": OlderForm(_MATRICES, ("mat", "vec")),
    "addr": OlderForm(_MATRICES, ("vec1", "vec2")),
    "addbmm": OlderForm(_MATRICES, ("batch1", "batch2")),
    "baddbmm": OlderForm(_MATRICES, ("batch1", "batch2")),
}
"""The ops that have such signatures."""

_DEPRECATED: Final = (
    "This overload of {name} is deprecated:\n\t{name}({old})\nConsider using one of "
    "the following signatures instead:\n\t{name}({new})"
)


def call_older(
    name: str, function: Callable[..., Any], given: tuple[Any, ...], **named: Any
) -> Any:
    """Call a function whose positional arguments have numbers before tensors.

    Raises TypeError where that makes no sense either.
    """
    form = OLDER[name.removesuffix("_")]
    tensors = [each for each in given if isinstance(each, Tensor)]
    numbers = [each for each in given if not isinstance(each, Tensor)]
    if len(tensors) != 1 + len(form.tensors) or len(numbers) > len(form.numbers):
        wanted = 1 + len(form.tensors)
        raise TypeError(
            f"{name}() takes {wanted} positional arguments but {len(given)} were given"
        )
    first = "Tensor input, " if name[-1] != "_" else ""
    out = ", Tensor out = None" if name[-1] != "_" else ""
    others = ", ".join(f"Tensor {each}" for each in form.tensors)
    used = [f"Number {each}" for each in form.numbers[: len(numbers)]]
    if first and form.numbers == _MATRICES:
        used.insert(1, first.rstrip(", "))
        old = ", ".join([*used, others])
    else:
        old = first + ", ".join([*used, others])
    wanted = ", ".join(f"Number {each} = 1" for each in form.numbers)
    text = _DEPRECATED.format(
        name=name,
        old=old + (", *" + out if out else ""),
        new=f"{first}{others}, *, {wanted}{out}",
    )
    warn_once(text, "deprecated overload")
    return function(*tensors, **dict(zip(form.numbers, numbers, strict=False)), **named)
