"""The examples of a vmap, brought together where a rule of the user's wants them all.

The first example runs where vmap was called. When it comes to a ``Function`` with a
``vmap`` of its own, the others begin, each in a thread, and run as far as that call:
one at a time, so that nothing happens at once. The rule answers all of them, and the
first goes on to its end or to the next such call.
"""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from .._dispatch.declare import FUNCTIONS
from .._modes.grad_mode import mode
from .._modes.transforms import active
from .._random.vmap import vmaps
from .._tensor.tensor import Tensor
from ..autograd import forward_ad
from ..utils._pytree import broadcast_to_leaves, tree_flatten

_TWO_RETURNS = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with "
    "pytree structure compatible with the output. Got {} instead"
)
_OUT_DIMS = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, "
    "out_dims) tuple. Expected out_dims={} to be compatible with the structure of "
    "`output`. out_dims has structure {} but output has structure {}. For more "
    "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
_DIVERGED = (
    "vmap: the examples do not all call the same autograd.Functions, so that they "
    "cannot be computed at once"
)


class VmapInfo(NamedTuple):
    """What a rule for batches hears of the vmap around the call."""

    batch_size: int
    randomness: str


class _Abandoned(BaseException):
    """Ends an example that nobody waits for any more."""


@contextlib.contextmanager
def _outside(depth: int, draws: dict[str, Any], watch: Any) -> Generator[None]:
    """Be outside of a vmap for the length of a block."""
    now = mode.now
    before = active.depth, dict(vars(vmaps)), now.watch
    active.depth, now.watch = depth, watch
    vars(vmaps).update(draws)
    try:
        yield
    finally:
        active.depth, now.watch = before[0], before[2]
        vars(vmaps).update(before[1])


@contextlib.contextmanager
def _aside() -> Generator[None]:
    """Let other examples run, and go on with this one's draws and level of duals."""
    number = forward_ad._current_level
    with vmaps.aside():
        yield
    forward_ad._current_level = number


class Examples:
    """The examples of one vmap: made, run and, where need be, brought together.

    To be made before anything of the vmap is switched on.
    """

    def __init__(
        self,
        randomness: str,
        dims: Sequence[int | None],
        wholes: Sequence[Any],
        call: Callable[[list[Any]], Any],
    ) -> None:
        self.randomness, self.dims, self.wholes = randomness, dims, wholes
        self.call = call
        self._before = active.depth, dict(vars(vmaps)), mode.now.watch

    def run(self, numbers: range, make: Callable[[int], list[Any]]) -> list[Any]:
        """Run the examples of these numbers and return what they return.

        ``make`` begins an example and returns its inputs, parts of ``wholes`` along
        ``dims``.
        """
        self._numbers, self._count, self._make = numbers, len(numbers), make
        self.depth = active.depth
        self._state = copy.copy(mode.now), dict(vars(vmaps))
        self._level = forward_ad._current_level
        self._watch: Any = None if numbers[0] else mode.now.watch
        self._inputs: list[list[Any]] = []
        self._others: list[_Other] = []
        vmaps.groups = (*vmaps.groups, self)
        try:
            first = self.one(0)
            if self._others:
                return [first, *[other.result() for other in self._others]]
            return [first, *map(self.one, range(1, self._count))]
        finally:
            vmaps.groups = vmaps.groups[:-1]
            for other in self._others:
                other.abandon()
            self._others = []  # they refer to this: no ring is left

    def one(self, index: int) -> Any:
        """Run one example."""
        example = self._make(self._numbers[index])
        self._inputs.append(example)
        return self.call(example)

    def begin(self, other: _Other, index: int) -> Any:
        """Run one example on a thread of its own."""
        mode.now, draws = copy.copy(self._state[0]), self._state[1]
        active.depth, forward_ad._current_level = self.depth, self._level
        vars(vmaps).update(draws, groups=(*draws["groups"], other))
        return self.one(index)

    def ask(self, rule: Any, plain: Callable[..., Any], *args: Any) -> Any:
        """Return what the rule has for the first example.

        Where nothing that it is given is mapped here, ``plain`` is called from outside.
        """
        self._others = self._others or [_Other(self, i) for i in range(1, self._count)]
        asked = [args, *[other.question() for other in self._others]]
        spec = tree_flatten(args)[1]
        columns = list(zip(*[tree_flatten(each)[0] for each in asked], strict=True))
        wholes, dims = zip(*map(self._whole, columns), strict=True)
        with _outside(*self._before):
            if all(dim is None for dim in dims):
                answers = [plain(*args)] * self._count
            else:
                info = VmapInfo(self._count, self.randomness)
                found = rule(info, spec.unflatten(dims), *spec.unflatten(wholes))
                known = dict(zip(map(id, wholes), columns, strict=True))
                answers = self._apart(found, known)
        for other, answer in zip(self._others, answers[1:], strict=True):
            other.answer = answer
        return answers[0]

    def _whole(self, column: Sequence[Any]) -> tuple[Any, int | None]:
        """Return what the examples have in one place as one, and where they lie."""
        first, watch = column[0], self._watch
        same = len(column) > 1 and all(each is first for each in column)
        if not isinstance(first, Tensor) or same:
            return first, None
        if watch is not None and first not in watch.mapped:
            return first, None
        return self.given(column) or (FUNCTIONS["stack"](column), 0)

    def given(self, column: Sequence[Any]) -> tuple[Tensor, int] | None:
        """Return the input whose parts these are, and where they lie in it."""
        if len(column) != len(self._inputs):  # examples of several runs
            return None
        for place, dim in enumerate(self.dims):
            if dim is not None and all(
                inputs[place] is each
                for inputs, each in zip(self._inputs, column, strict=True)
            ):
                whole = self.wholes[place]
                if whole.size(dim) != self._count:
                    whole = whole.narrow(dim, self._numbers[0], self._count)
                return whole, dim
        return None

    def _apart(self, found: Any, given: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Return what each example gets of a rule's answer.

        ``given`` has, by identity, what the rule may have returned as it is.
        """
        if not isinstance(found, tuple):
            raise RuntimeError(_TWO_RETURNS.format(f"a {type(found)}"))
        if len(found) != 2:
            raise RuntimeError(_TWO_RETURNS.format(f"{len(found)} returns"))
        output, out_dims = found
        leaves, spec = tree_flatten(output)
        dims = broadcast_to_leaves(out_dims, spec)
        if dims is None:
            shape = tree_flatten(out_dims)[1]
            raise RuntimeError(_OUT_DIMS.format(out_dims, shape, spec))
        columns: list[Sequence[Any]] = []
        for leaf, dim in zip(leaves, dims, strict=True):
            if id(leaf) in given and isinstance(leaf, Tensor):
                columns.append(given[id(leaf)])
            elif dim is None or not isinstance(leaf, Tensor):
                columns.append([leaf] * self._count)
            else:
                parts = [leaf.select(dim, i) for i in range(self._count)]
                if leaf._view is None:  # nobody else's: each may be written to
                    parts = [part.clone() for part in parts]
                columns.append(parts)
                if self._watch is not None:
                    for part in parts:
                        self._watch.mapped.add(part)
        return [spec.unflatten(each) for each in zip(*columns, strict=True)]


class _Other(threading.Thread):
    """An example that runs in a thread, and only while it is asked to go on."""

    def __init__(self, examples: Examples, index: int) -> None:
        super().__init__(daemon=True)
        self._examples, self._index, self.depth = examples, index, examples.depth
        self._go, self._came = threading.Semaphore(0), threading.Semaphore(0)
        self._asked: tuple[Any, ...] | None = None
        self._error: BaseException | None = None
        self._over = False
        self.answer: Any = None

    def run(self) -> None:
        """Run the example; called in the thread."""
        try:
            self._found = self._examples.begin(self, self._index)
        except BaseException as error:
            self._error = error
        self._came.release()

    def ask(self, rule: Any, plain: Callable[..., Any], *args: Any) -> Any:
        """Hand over what is asked and wait for the answer; called in the thread."""
        self._asked = args
        if not self._over:  # it may ask again while it ends
            with _aside():
                self._came.release()
                self._go.acquire()
        if self._over:
            raise _Abandoned
        return self.answer

    def question(self) -> tuple[Any, ...]:
        """Return what it asks next."""
        self._go_on()
        if self._asked is None:
            raise RuntimeError(_DIVERGED)
        return self._asked

    def result(self) -> Any:
        """Return what it returns in the end."""
        self._go_on()
        if self._asked is not None:
            raise RuntimeError(_DIVERGED)
        return self._found

    def _go_on(self) -> None:
        """Let it run until it asks or ends; raise what it raises."""
        self._asked = None
        with _aside():
            if self.ident is None:
                self.start()
            else:
                self._go.release()
            self._came.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def abandon(self) -> None:
        """End it, wherever it is."""
        if self.is_alive():
            self._over = True
            self._go.release()
            self.join()
