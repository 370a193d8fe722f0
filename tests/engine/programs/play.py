"""One random program under both engines, line by line, until they differ.

After each line everything that can be seen is compared. Values that differ by rounding
are then made the same, so that roundings do not add up to other comparisons later.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

import gradtape

from .._compare import TOLERANCES
from .._engines import OURS, theirs
from ..oracle import first_sentence
from .lines import Writer

LENGTH = 12
"""Lines in a program, besides those that make its first tensors."""


class Difference(NamedTuple):
    """Where the engines differed: the program so far, in what, and both answers."""

    program: tuple[str, ...]
    empty: bool  # whether a tensor that the last line names, or gives, has no elements
    new: str  # the name of the tensor that it made, if any
    what: str
    ours: Any
    theirs: Any

    @property
    def refuses(self) -> bool:
        """Whether gradtape refuses what PyTorch does."""
        return isinstance(self.ours, Raised) and not isinstance(self.theirs, Raised)

    @property
    def cause(self) -> str:
        """Return which of the known causes it has, "" for none of them."""
        return next((name for name, has in CAUSES.items() if has(self)), "")

    def __str__(self) -> str:
        lines = "\n    ".join(self.program)
        return f"{self.what}: {self.ours}, should be {self.theirs}, in\n    {lines}"


CAUSES: dict[str, Callable[[Difference], bool]] = {
    "two faults": lambda d: isinstance(d.ours, Raised) and isinstance(d.theirs, Raised),
    "no elements": lambda d: d.empty or _is_empty(d.theirs),
    "complex32": lambda d: "complex32" in str(d.ours),
    "conj() is a copy": lambda d: ".conj()" in d.program[-1],
    "sizes of 1": lambda d: _lies_alike(d) if "stride" in d.what else False,
    "own writes": lambda d: bool(d.new) and d.what == f"{d.new}._version",
    "repeated bools": lambda d: '"dot" not implemented' in str(d.ours),
    "a complex bound": lambda d: "clamp" in d.program[-1] and "Complex" in str(d.ours),
    "a mask filled with itself": lambda d: "% 2 ==" in d.program[-1] and d.refuses,
}
"""What the engines are known to differ in; docs/out-of-reach.md says it to users.

Of two faults in one call either may be told. Where there are no elements, PyTorch
looks at fewer arguments, and its strides say in which order its loops would have run.
It counts what some of its own functions write to their results, multiplies expanded
vectors of bools, and takes complex bounds without dimensions for real ones. What fills
a mask may be an element of the tensor itself, which is refused here.
"""


def _is_empty(value: Any) -> bool:
    return isinstance(value, theirs().tensor_type) and not value.numel()


def _lies_alike(found: Difference) -> bool:
    """Tell whether strides differ only where nobody steps along them."""
    return [each for each in found.ours if each[0] > 1] == [
        each for each in found.theirs if each[0] > 1
    ]


class Over(Exception):  # noqa: N818 - not an error of ours
    """Nothing is left to compare with: PyTorch's bookkeeping broke, or half a write."""


def difference_in(lines: list[str]) -> Difference | None:
    """Play a program that is given; return the first difference, if there is one."""
    return Game(0).play_lines(lines)


def difference(seed: int) -> Difference | None:
    """Play the program of a seed; return the first difference, if there is one."""
    return Game(seed).play()


class Game:
    """The tensors of one program, under both engines."""

    def __init__(self, seed: int) -> None:
        self.ours: list[Any] = []
        self.theirs: list[Any] = []
        self.writer = Writer(seed, self.theirs)
        self.program: list[str] = []
        self.made = False

    def play(self) -> Difference | None:
        """Play the writer's lines until there is a difference, or enough are played."""
        writer = self.writer
        made = (writer.made() for _ in range(3))
        return self.play_lines(chain(made, (writer.line() for _ in range(LENGTH))))

    def play_lines(self, lines: Iterable[str]) -> Difference | None:
        """Play lines until there is a difference."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                for line in lines:
                    found = self.run(line)
                    if found is not None:
                        made = f"v[{len(self.ours) - 1}]" if self.made else ""
                        facts = self.empty(line), made
                        return Difference(tuple(self.program), *facts, *found)
            except Over:
                pass
        return None

    def empty(self, line: str) -> bool:
        """Tell whether a tensor that a line names or made has no elements."""
        named = [self.theirs[int(at)] for at in re.findall(r"v\[(\d+)\]", line)]
        return any(not each.numel() for each in (*named, *self.theirs[-1:]))

    def run(self, line: str) -> tuple[str, Any, Any] | None:
        """Run one line under both; return what differs, and how."""
        self.program.append(line)
        mine = evaluate(line, gradtape, self.ours)
        yours = evaluate(line, theirs().module, self.theirs)
        if _holds_tensors(mine) and _holds_tensors(yours):
            mine, yours = mine[0], yours[0]
        both = isinstance(mine, OURS.tensor_type) and isinstance(
            yours, theirs().tensor_type
        )
        self.made = both and not any(mine is each for each in self.ours)
        if not both:
            if _plain(mine) != _plain(yours):
                return "result", mine, yours
            if isinstance(yours, Raised) and yours.stops:
                raise Over
        elif self.made:
            self.ours.append(mine)
            self.theirs.append(yours)
        return self.compared()

    def compared(self) -> tuple[str, Any, Any] | None:
        """Compare all tensors, and what each shares its memory with."""
        for number, (mine, yours) in enumerate(
            zip(self.ours, self.theirs, strict=True)
        ):
            for what, fact in FACTS.items():
                f, w = asked(fact, mine), asked(fact, yours)
                if f != w:
                    return f"v[{number}].{what}", f, w
            if unlike(mine, yours):
                return f"v[{number}] values", mine, yours
            if asked(FACTS["is_leaf"], yours) is True and (
                mine.grad is not None or yours.grad is not None
            ):
                if mine.grad is None or yours.grad is None:
                    return f"v[{number}].grad", mine.grad, yours.grad
                if unlike(mine.grad, yours.grad):
                    return f"v[{number}].grad values", mine.grad, yours.grad
        if any(_is_whole(each) and each.requires_grad for each in self.theirs):
            raise Over  # PyTorch lets writes do that, and then refuses all views
        shared, wanted = shares(self.ours), shares(self.theirs)
        return None if shared == wanted else ("shared memory", shared, wanted)


def evaluate(line: str, module: Any, tensors: list[Any]) -> Any:
    """Return what a line gives, or the type of the error that it raises."""
    try:
        if "] = " in line:
            exec(line, {"t": module, "v": tensors})
            return None
        return eval(line, {"t": module, "v": tensors})
    except Exception as error:
        if "INTERNAL ASSERT" in str(error):
            raise Over from None
        return Raised(type(error).__name__, first_sentence(error))


class Raised(NamedTuple):
    """An error; two of one type are alike, whatever they say."""

    kind: str
    sentence: str

    @property
    def stops(self) -> bool:
        """Whether PyTorch noticed in the middle of a write, and left it half done."""
        return "ZeroDivision" in self.sentence or "out of" in self.sentence


FACTS: dict[str, Any] = {
    "dtype": lambda x: str(x.dtype).removeprefix("torch."),
    "shape": lambda x: tuple(x.shape),
    "stride()": lambda x: tuple(zip(x.shape, x.stride(), strict=True)),
    "storage_offset()": lambda x: x.storage_offset(),
    "requires_grad": lambda x: x.requires_grad,
    "is_leaf": lambda x: x.is_leaf,
    "_version": lambda x: x._version,
    "is_contiguous()": lambda x: x.is_contiguous(),
    "grad_fn": lambda x: type(x.grad_fn).__name__,
    "_is_view()": lambda x: x._is_view(),
}


def _is_whole(tensor: Any) -> bool:
    return not tensor.is_floating_point() and not tensor.is_complex()


def _holds_tensors(value: Any) -> bool:
    kinds = (OURS.tensor_type, theirs().tensor_type)
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], kinds)


def asked(fact: Any, tensor: Any) -> Any:
    """Return a fact of a tensor, or the type of the error that asking raises."""
    try:
        return fact(tensor)
    except Exception as error:  # of a view whose history was lost
        return "raised", type(error).__name__


def _plain(value: Any) -> Any:
    """Return what is compared of a result that is no tensor."""
    if isinstance(value, Raised):
        return "raised", value.kind
    if isinstance(value, OURS.tensor_type | theirs().tensor_type):
        return "a tensor"
    if isinstance(value, float | complex):
        return repr(np.round(value, 4))
    return str(value).replace("gradtape", "torch")


def unlike(mine: Any, yours: Any) -> bool:
    """Tell whether values differ by more than rounding, which is then undone."""
    wanted = numbers(yours)
    data = OURS.array(mine)
    rtol, atol = TOLERANCES.get(mine.dtype.name, (0.0, 0.0))
    if mine.dtype.name == "bfloat16":
        rtol, atol = 2e-2, 2e-2
    with np.errstate(all="ignore"):
        if not np.isclose(data, wanted, rtol * 5, atol * 5, equal_nan=True).all():
            return True
        if data.flags.writeable:  # NaN stays as it is: a view may see its bits
            np.copyto(data, wanted, "unsafe", where=~np.isnan(wanted))
    return False


def numbers(tensor: Any) -> Any:
    """Return PyTorch's values as an array; NumPy knows no bfloat16."""
    plain = tensor.detach()
    if plain.dtype == theirs().module.bfloat16:
        plain = plain.float()
    return plain.numpy(force=True)  # conj(), neg() and zeros not yet there


def shares(tensors: list[Any]) -> list[int]:
    """Return for each tensor the first that lies in the same memory."""
    first: dict[Any, int] = {}
    places: list[int] = []
    for number, tensor in enumerate(tensors):
        storage = tensor.untyped_storage()
        key = storage.data_ptr() if storage.nbytes() else ("none", number)
        places.append(first.setdefault(key, number))
    return places
