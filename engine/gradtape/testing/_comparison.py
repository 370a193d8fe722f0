"""``assert_close``: are two values, or containers of them, nearly equal?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._dtypes import float16, float32, float64
from .._tensor.tensor import Tensor
from ..ops.creation.from_data import tensor
from ._pairs import (
    BooleanPair,
    Message,
    MismatchError,
    NonePair,
    NumberPair,
    Options,
    Pair,
    TensorLikePair,
    UnsupportedError,
    default_tolerances,
)

_PAIRS = (
    NonePair,
    BooleanPair,
    NumberPair,
    TensorLikePair,
)
_UNPAIRED = (
    "Originating a {kind}() at item {where} with\n\n{actual}\n\nand\n\n{expected}\n\n"
    "resulted in the unexpected exception above. "
)
_DEPRECATED = (
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in "
    "a future release. Please use `torch.testing.assert_close()` instead. You can find "
    "detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844."
)
_OLD_TOLERANCES = {
    float16: (1e-3, 1e-3),
    float32: (1e-4, 1e-5),
    float64: (1e-5, 1e-8),
}
_Location = tuple[Any, ...]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Assert that two tensors, numbers or containers of them are nearly equal.

    Values may differ by ``atol + rtol * |expected|``; both are given or neither, and
    then depend on the dtypes: 1.3e-6 and 1e-5 for float32, 1e-7 for float64, 0 for
    integers. Shape, dtype and device must agree, with ``check_stride`` the strides too.
    Sequences and mappings are compared item by item. ``msg`` replaces the message of
    the AssertionError, or is a function that makes it from the default one.

    >>> import gradtape as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]))
    """
    __tracebackhide__ = True
    options = Options(
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    # All are paired before any is compared: what cannot be compared is told first.
    try:
        pairs = list(_paired(actual, expected, options, ()))
    except MismatchError as found:
        raise found.error(None) from None
    for where, pair in pairs:
        try:
            pair.compare()
        except MismatchError as found:
            raise found.at(where).error(msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Assert that two tensors are nearly equal, whatever their dtypes.

    Deprecated in PyTorch; :func:`assert_close` is what to use.
    """
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected, precisions=_OLD_TOLERANCES)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def _paired(
    actual: Any, expected: Any, options: Options, where: _Location
) -> Iterator[tuple[_Location, Pair]]:
    """Yield the pairs of things to compare in two like containers, with their keys."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise MismatchError(
                AssertionError,
                "The length of the sequences mismatch: "
                f"{len(actual)} != {len(expected)}",
                where,
            )
        for index in range(len(actual)):
            yield from _paired(actual[index], expected[index], options, (*where, index))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        for key in _common_keys(actual, expected, where):
            yield from _paired(actual[key], expected[key], options, (*where, key))
    else:
        yield where, _pair(actual, expected, options, where)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _common_keys(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], where: _Location
) -> list[Any]:
    ours, theirs = set(actual), set(expected)
    if ours != theirs:
        raise MismatchError(
            AssertionError,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(theirs - ours)}\n"
            f"Additional keys in the actual mapping: {sorted(ours - theirs)}",
            where,
        )
    try:
        return sorted(ours)
    except TypeError:  # keys that have no order
        return list(ours)


def _pair(actual: Any, expected: Any, options: Options, where: _Location) -> Pair:
    for kind in _PAIRS:
        try:
            return kind(actual, expected, options)
        except UnsupportedError:
            continue
        except MismatchError as found:
            raise found.at(where) from None
        except Exception as error:
            raise RuntimeError(
                _UNPAIRED.format(
                    kind=kind.__name__,
                    where="".join(f"[{key!r}]" for key in where),
                    actual=f"{type(actual).__name__}(): {actual}",
                    expected=f"{type(expected).__name__}(): {expected}",
                )
            ) from error
    raise MismatchError(
        TypeError,
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.",
        where,
    )
