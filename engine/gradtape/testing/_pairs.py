"""Pairs of values that assert_close() compares, their tolerances, and what differs."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from .._dtypes import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
    promote_types,
    uint16,
    uint32,
    uint64,
)
from .._dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..ops.creation.from_data import as_tensor
from ..ops.pointwise.comparison import isclose

PRECISIONS: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex32: (1e-3, 1e-5),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""Relative and absolute tolerance of each dtype; other dtypes must be equal."""


def default_tolerances(
    *inputs: Tensor | DType,
    precisions: Mapping[DType, tuple[float, float]] | None = None,
) -> tuple[float, float]:
    """Return (rtol, atol) for values of these dtypes: those of the coarsest."""
    table = PRECISIONS if precisions is None else precisions
    found = [table.get(_dtype_of(each), (0.0, 0.0)) for each in inputs]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def _dtype_of(value: Any) -> DType:
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, DType):
        return value
    raise TypeError(
        f"Expected a torch.Tensor or a torch.dtype, but got {type(value)} instead."
    )


def scalars_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Write how far two numbers are apart."""
    distance = abs(actual - expected)
    relative = float("inf") if expected == 0 else distance / abs(expected)
    return _sentences(
        "Scalars",
        f"Expected {expected} but got {actual}.",
        (distance, None, atol),
        (relative, None, rtol),
    )


def tensors_differ(
    actual: Tensor,
    expected: Tensor,
    matches: Tensor,
    rtol: float,
    atol: float,
    what: str,
) -> str:
    """Write how many elements of two tensors differ, and where they do so most."""
    count = matches.numel()
    wrong = count - int(matches.sum())
    a, b = actual.detach().flatten(), expected.detach().flatten()
    if not (actual.is_floating_point() or actual.is_complex()):
        a, b = a.to(int64), b.to(int64)
    fine = matches.flatten()
    distance = (a - b).abs()
    distance[fine] = 0
    relative = distance / b.abs()
    relative[fine] = 0
    return _sentences(
        what,
        f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})",
        (*_greatest(distance, matches.shape), atol),
        (*_greatest(relative, matches.shape), rtol),
    )


def _greatest(flat: Tensor, shape: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
    """Return the greatest value of a flat tensor and its index in ``shape``."""
    value, at = flat.max(0)
    return value.item(), tuple(map(int, np.unravel_index(int(at), shape)))


def _sentences(
    what: str,
    extra: str,
    absolute: tuple[float, tuple[int, ...] | None, float],
    relative: tuple[float, tuple[int, ...] | None, float],
) -> str:
    exact = relative[2] == 0 and absolute[2] == 0
    lines = [f"{what} are not {'equal' if exact else 'close'}!", "", extra]
    for kind, (value, index, allowed) in (
        ("absolute", absolute),
        ("relative", relative),
    ):
        line = (
            f"{kind.title()} difference: {value}"
            if index is None
            else f"Greatest {kind} difference: {value} at index {index}"
        )
        lines.append(line if exact else f"{line} (up to {allowed} allowed)")
    return "\n".join(lines)


Message: TypeAlias = str | Callable[[str], str] | None

_KINDS = {int: int64, float: float64, complex: complex128}
_WIDE_UNSIGNED = (uint16, uint32, uint64)


@dataclass(frozen=True)
class Options:
    """The arguments of ``assert_close``."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *inputs: Any) -> tuple[float, float]:
        """Return (rtol, atol): those given, or the defaults for these values."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is None and self.atol is None:
            return default_tolerances(*inputs)
        missing = "rtol" if self.rtol is None else "atol"
        raise MismatchError(
            ValueError,
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{missing}.",
        )


class MismatchError(Exception):
    """Two things differ: the error to raise, and the keys that lead to them."""

    def __init__(
        self, kind: type[Exception], text: str, where: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(text)
        self.kind, self.text, self.where = kind, text, where

    def at(self, where: tuple[Any, ...]) -> MismatchError:
        """Return the same mismatch, found at these keys."""
        return MismatchError(self.kind, self.text, where)

    def error(self, msg: Message) -> Exception:
        """Return the error for the user, in their own words where they gave some."""
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.where:
            keys = "".join(f"[{key!r}]" for key in self.where)
            text = f"{text}\n\nThe failure occurred for item {keys}"
        return self.kind(text if msg is None else msg(text))


class UnsupportedError(Exception):
    """This kind of pair cannot hold the two values; another one may."""


class Pair(Protocol):
    """Two values that can be compared."""

    def compare(self) -> None:
        """Raise MismatchError unless the two are close."""
        ...


class NonePair:
    """Two values of which at least one is None."""

    def __init__(self, actual: Any, expected: Any, _options: Options) -> None:
        if actual is not None and expected is not None:
            raise UnsupportedError
        self.actual, self.expected = actual, expected

    def compare(self) -> None:
        """Raise MismatchError unless both are None."""
        if self.actual is not None or self.expected is not None:
            _differ(f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair:
    """Two bools, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, _options: Options) -> None:
        if not all(isinstance(each, bool | np.bool_) for each in (actual, expected)):
            raise UnsupportedError
        self.actual, self.expected = bool(actual), bool(expected)

    def compare(self) -> None:
        """Raise MismatchError unless both are the same."""
        if self.actual is not self.expected:
            _differ(f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair:
    """Two numbers, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, options: Options) -> None:
        kinds = (int, float, complex, np.number)
        if not all(isinstance(each, kinds) for each in (actual, expected)):
            raise UnsupportedError
        self.actual, self.expected = _number(actual), _number(expected)
        self.rtol, self.atol = options.tolerances(
            *(_KINDS[type(each)] for each in (self.actual, self.expected))
        )
        self.equal_nan = options.equal_nan
        self.check_dtype = options.check_dtype

    def compare(self) -> None:
        """Raise MismatchError unless the numbers are of one type and close."""
        actual, expected = self.actual, self.expected
        if self.check_dtype and type(actual) is not type(expected):
            _differ(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        if actual == expected:
            return
        if self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        distance = abs(actual - expected)
        if cmath.isfinite(distance) and distance <= self.atol + self.rtol * abs(
            expected
        ):
            return
        _differ(scalars_differ(actual, expected, self.rtol, self.atol))


class TensorLikePair:
    """Two tensors, or things of one type that tensors can be made of."""

    def __init__(self, actual: Any, expected: Any, options: Options) -> None:
        related = isinstance(actual, type(expected)) or isinstance(
            expected, type(actual)
        )
        same = type(actual) is type(expected)
        if not related or not (options.allow_subclasses or same):
            raise UnsupportedError
        self.actual, self.expected = _tensor(actual), _tensor(expected)
        self.options = options
        self.rtol, self.atol = options.tolerances(self.actual, self.expected)

    def compare(self) -> None:
        """Raise MismatchError unless the tensors are alike and their values close."""
        self._compare_facts()
        actual, expected = self._made_comparable()
        if not actual.is_sparse:
            self._compare_values(actual, expected, self.rtol, self.atol)
            return
        for what, a, b in (
            ("sparse dimensions", actual.sparse_dim(), expected.sparse_dim()),
            ("specified values", actual._nnz(), expected._nnz()),
        ):
            if a != b:
                _differ(
                    f"The number of {what} in sparse COO tensors does not match: "
                    f"{a} != {b}"
                )
        places = actual._indices(), expected._indices()
        self._compare_values(*places, 0.0, 0.0, "Sparse COO indices")
        values = actual._values(), expected._values()
        self._compare_values(*values, self.rtol, self.atol, "Sparse COO values")

    def _compare_values(
        self,
        actual: Tensor,
        expected: Tensor,
        rtol: float,
        atol: float,
        what: str = "Tensor-likes",
    ) -> None:
        equal_nan = self.options.equal_nan
        matches = isclose(actual, expected, rtol, atol, equal_nan)
        if bool(matches.all()):
            return
        if actual.dim() == 0:
            numbers = actual.item(), expected.item()
            _differ(scalars_differ(*numbers, rtol, atol))
        _differ(tensors_differ(actual, expected, matches, rtol, atol, what))

    def _compare_facts(self) -> None:
        a, b, options = self.actual, self.expected, self.options
        facts = [("shape", a.shape, b.shape)]
        if options.check_layout:
            facts.append(("layout", a.layout, b.layout))
        if options.check_stride and not (a.is_sparse or b.is_sparse):
            facts.append(("stride()", a.stride(), b.stride()))
        if options.check_device:
            facts.append(("device", a.device, b.device))
        if options.check_dtype:
            facts.append(("dtype", a.dtype, b.dtype))
        for name, ours, theirs in facts:
            if ours != theirs:
                _differ(
                    f"The values for attribute '{name}' do not match: "
                    f"{ours} != {theirs}."
                )

    def _made_comparable(self) -> tuple[Tensor, Tensor]:
        """Bring both to one device, dtype and layout."""
        a, b = self.actual, self.expected
        if a.device != b.device:
            a, b = a.cpu(), b.cpu()
        if a.dtype != b.dtype:
            wide = promote_types(
                *(int64 if t.dtype in _WIDE_UNSIGNED else t.dtype for t in (a, b))
            )
            a, b = a.to(wide), b.to(wide)
        if a.is_sparse != b.is_sparse:
            a, b = a.to_dense(), b.to_dense()
        return a, b


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.number) else value


def _tensor(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    try:
        return as_tensor(value)
    except Exception:
        raise UnsupportedError from None


def _differ(text: str) -> NoReturn:
    raise MismatchError(AssertionError, text)
