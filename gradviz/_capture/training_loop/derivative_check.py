"""Is this derivative right? Compare a backward with the slope of its forward."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gradviz._capture.training_loop.patches import Patches, wrap_warnings
from gradviz.program.values import DerivativeCheck

LARGEST = 1 << 20
"""Elements of one input; larger ones are not checked."""

_ENTRIES = 24  # of one input that are compared, spread over it
_SECONDS = 0.25
_STEP = 1e-4  # float32 inside a forward still gives three digits
_TOLERANCE = 0.02


def check_derivative(
    lib: Any,
    function: Any,
    inputs: Sequence[Any],
    needs: Sequence[bool] | None = None,
    *,
    hurried: bool = False,
) -> DerivativeCheck | None:
    """Return the first entry whose gradient is not the slope of the function, if any.

    The function runs on float64 copies of the inputs, with nothing printed and the
    random numbers as they were. ``needs`` says which inputs to look at; all tensors of
    floating point otherwise. Entries at a kink are passed over. Raises TimeoutError of
    a function whose first call takes long, where it is ``hurried``.

    >>> import gradtape as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2 * ctx.saved_tensors[0] ** 2
    >>> found = check_derivative(torch, Cube.apply, [torch.tensor([2.0])])
    >>> found.analytic, round(found.numeric, 3), round(found.ratio, 3)
    (8.0, 12.0, 0.667)
    >>> check_derivative(torch, torch.exp, [torch.tensor([2.0])]) is None
    True
    """
    hooks = lib.autograd.graph.saved_tensors_hooks(_itself, _itself)
    with _silence(), same_random_numbers(lib) as rewind, hooks, lib.enable_grad():
        probe = _Probe(lib, function, inputs, rewind, hurried)
        for number in probe.leaves:
            if needs is None or needs[number]:
                found = probe.compare(number)
                if found is not None:
                    return replace(
                        found,
                        swapped=probe.swapped(found),
                        unmoved=probe.is_unmoved(found.input),
                    )
    return None


class _Probe:
    """A function of some float64 inputs, made a number by fixed weights."""

    def __init__(
        self,
        lib: Any,
        function: Any,
        inputs: Sequence[Any],
        rewind: Any,
        hurried: bool,
    ) -> None:
        self.lib = lib
        self.function = function
        self.rewind = rewind
        self.until = time.monotonic() + _SECONDS
        self.leaves: dict[int, Any] = {}
        self.others = dict[int, Any]()
        for number, each in enumerate(inputs):
            if not isinstance(each, lib.Tensor):
                self.others[number] = each.copy() if type(each) in _COPIED else each
            elif each.is_floating_point() and each.numel() <= LARGEST:
                leaf = each.detach().to(lib.float64).clone().contiguous()
                self.leaves[number] = leaf.requires_grad_()
            else:
                self.others[number] = each.detach().clone()
        self.count = len(inputs)
        outputs = self._run()
        if hurried and time.monotonic() > self.until:
            raise TimeoutError
        self.same = {
            number
            for number, leaf in self.leaves.items()
            if outputs
            and outputs[0].shape == leaf.shape
            and lib.equal(outputs[0].detach(), leaf.detach().to(outputs[0].dtype))
        }
        smooth = [each.requires_grad for each in outputs]
        self.weights = [self._weights_of(each) for each in outputs]
        self.smooth = smooth
        self.gradients = self._backward(outputs)
        with lib.no_grad():
            self.value = self._number()

    def _backward(self, outputs: list[Any], factor: float = 1.0) -> dict[int, Any]:
        """Return the gradients of the leaves, of outputs that are given weights."""
        used = [each for each in outputs if each.requires_grad]
        if not used or not self.leaves:
            return dict.fromkeys(self.leaves)
        pairs = zip(self.weights, self.smooth, strict=True)
        given = [weights * factor for weights, smooth in pairs if smooth]
        leaves = [*self.leaves.values()]
        found = self.lib.autograd.grad(used, leaves, given, allow_unused=True)
        return dict(zip(self.leaves, found, strict=True))

    def is_unmoved(self, number: int) -> bool:
        """Tell whether an input gets the same of twice the gradient of the outputs."""
        once = self.gradients[number]
        if once is None or not bool(once.any()):
            return False
        twice = self._backward(self._run(), 2.0)[number]
        return twice is not None and bool(self.lib.equal(once, twice))

    def _weights_of(self, output: Any) -> Any:
        count = self.lib.arange(output.numel(), dtype=self.lib.float64)
        weights = (1.0 + 0.5 * self.lib.sin(count)).reshape(output.shape)
        return weights.to(device=output.device, dtype=output.dtype)

    def _run(self) -> list[Any]:
        """Call the function on copies, which it may write to."""
        self.rewind()
        given = [
            self.leaves[number].clone()
            if number in self.leaves
            else self.others[number].clone()
            if isinstance(self.others[number], self.lib.Tensor)
            else self.others[number]
            for number in range(self.count)
        ]
        found = self.function(*given)
        found = found if isinstance(found, tuple) else (found,)
        return [
            each
            for each in found
            if isinstance(each, self.lib.Tensor) and each.is_floating_point()
        ]

    def _number(self) -> float:
        pairs = zip(self._run(), self.weights, self.smooth, strict=True)
        return sum(
            float((each.detach() * weights).to(self.lib.float64).sum())
            for each, weights, smooth in pairs
            if smooth
        )

    def compare(self, number: int) -> DerivativeCheck | None:
        """Return the first entry of an input in which the two derivatives differ."""
        gradient = self.gradients[number]
        if not any(self.smooth):
            return None
        shape = tuple(self.leaves[number].shape)
        size = self.leaves[number].numel()
        slopes: list[_Slope] = []
        for entry in range(0, size, max(1, size // _ENTRIES)):
            analytic = 0.0 if gradient is None else float(gradient.reshape(-1)[entry])
            slope = self._slope(number, entry, analytic)
            if slope is not None:
                slopes.append(slope)
            if time.monotonic() > self.until:
                break
        differ = [slope for slope in slopes if slope.wrong]
        if not differ:
            return None
        wrong = differ[0]
        return DerivativeCheck(
            input=number,
            index=_place(wrong.entry, shape),
            analytic=wrong.analytic,
            numeric=wrong.numeric,
            ratio=_ratio(slopes),
            missing=gradient is None,
            flat=all(abs(slope.numeric) < 1e-6 for slope in slopes),
            identity=number in self.same,
            entries=tuple(
                (_place(each.entry, shape), each.analytic, each.numeric)
                for each in differ
            ),
        )

    def swapped(self, found: DerivativeCheck) -> int | None:
        """Return the input that got the gradient of a wrong one, and gave it its own.

        Told by the entries in which the wrong one differs.
        """
        mine = self.gradients[found.input]
        for number, leaf in self.leaves.items():
            other, same = self.gradients[number], leaf.shape == self._shape(found.input)
            if number == found.input or not same or mine is None or other is None:
                continue
            if all(
                _is_close(float(other[index]), numeric)
                for index, _, numeric in found.entries
            ):
                turned = self.compare(number)
                if turned is not None and all(
                    _is_close(float(mine[index]), numeric)
                    for index, _, numeric in turned.entries
                ):
                    return number
        return None

    def _shape(self, number: int) -> Any:
        return self.leaves[number].shape

    def _slope(self, number: int, entry: int, analytic: float) -> _Slope | None:
        """Return the slope at one entry, None where it is not the same to both sides"""
        with self.lib.no_grad():
            flat = self.leaves[number].detach().view(-1)
            before = float(flat[entry])
            step = _STEP * max(1.0, abs(before))
            try:
                flat[entry] = before + step
                right = (self._number() - self.value) / step
                flat[entry] = before - step
                left = (self.value - self._number()) / step
            finally:
                flat[entry] = before
        apart = abs(right - left)
        if not apart <= 0.05 * max(abs(left), abs(right)) + 1e-3:
            return None
        return _Slope(entry, analytic, (left + right) / 2, apart)


@dataclass(frozen=True, slots=True)
class _Slope:
    entry: int
    analytic: float
    numeric: float
    apart: float  # how much the slopes to both sides differ

    @property
    def wrong(self) -> bool:
        largest = max(abs(self.analytic), abs(self.numeric))
        allowed = _TOLERANCE * largest + self.apart + 1e-6
        return not abs(self.analytic - self.numeric) <= allowed


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other)) + 1e-6


def _ratio(slopes: list[_Slope]) -> float | None:
    """Return analytic / numeric where that is the same at every entry."""
    ratios = [s.analytic / s.numeric for s in slopes if abs(s.numeric) > 1e-6]
    if not ratios:
        return None
    first = ratios[0]
    close = all(abs(each - first) <= 0.01 * abs(first) + 1e-4 for each in ratios)
    return first if close else None


def _place(entry: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    place: list[int] = []
    for size in reversed(shape):
        entry, at = divmod(entry, size)
        place.insert(0, at)
    return tuple(place)


def _itself(value: Any) -> Any:
    return value


_COPIED = (list, dict, set)


# ---- as if nothing had run -----------------------------------------------------------


@contextmanager
def same_random_numbers(lib: Any) -> Generator[Any, None, None]:
    """Yield a function that winds all random numbers back; do so at the end too."""
    numpy = sys.modules.get("numpy")
    engine, python = lib.get_rng_state(), random.getstate()
    devices = lib.cuda.get_rng_state_all() if lib.cuda.is_initialized() else []
    array = None if numpy is None else numpy.random.get_state()

    def rewind() -> None:
        lib.set_rng_state(engine)
        if devices:
            lib.cuda.set_rng_state_all(devices)
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(array)

    try:
        yield rewind
    finally:
        rewind()


class _Quiet:
    """A stream that drops what one thread writes and hands on the rest."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _silence() -> Generator[None, None, None]:
    before, patches = (sys.stdout, sys.stderr), Patches()
    sys.stdout, sys.stderr = _Quiet(before[0]), _Quiet(before[1])
    wrap_warnings(patches, _unless_here)
    try:
        yield
    finally:
        patches.restore()
        sys.stdout, sys.stderr = before


def _unless_here(show: Any) -> Any:
    """Drop warnings of this thread; ``catch_warnings`` would have old ones repeated."""
    thread = threading.get_ident()

    def showwarnmsg(message: Any) -> None:
        if threading.get_ident() != thread:
            show(message)

    return showwarnmsg
