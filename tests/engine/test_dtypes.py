"""Element types, their promotion and their limits, against PyTorch's."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape import _dtypes as dt

torch = pytest.importorskip("torch")

NAMES = sorted(dt.DTYPES)
SCALARS = (True, 1, 1.5, 1j)
FLOAT8 = {name for name in NAMES if name.startswith("float8")}
TENSORS = tuple(itertools.product(sorted(set(NAMES) - FLOAT8), (0, 1)))


@pytest.fixture(autouse=True)
def _default_dtype() -> Iterator[None]:
    yield
    dt.set_default_dtype(dt.float32)
    torch.set_default_dtype(torch.float32)


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    """The repr of what a call returns, or the sentence of what it raises."""
    try:
        return "returns", repr(call())
    except (RuntimeError, TypeError) as error:
        return type(error).__name__, str(error)


def theirs(name: str) -> Any:
    return getattr(torch, name)


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_pytorchs(name: str) -> None:
    ours, reference = dt.DTYPES[name], theirs(name)
    assert repr(ours) == repr(reference)
    for attribute in (
        *("is_complex", "is_floating_point", "is_signed", "itemsize", "abbr"),
    ):
        assert getattr(ours, attribute) == getattr(reference, attribute), attribute
    assert outcome(ours.to_real) == outcome(reference.to_real)
    assert outcome(ours.to_complex) == outcome(reference.to_complex)


def test_aliases_are_pytorchs() -> None:
    for alias, ours in dt.ALIASES.items():
        assert repr(ours) == repr(theirs(alias))


@pytest.mark.parametrize(
    "name", sorted(set(NAMES) - {"bfloat16", "complex32", *FLOAT8})
)
def test_numpy_types_map_back_to_the_same_object(name: str) -> None:
    ours = dt.DTYPES[name]
    assert ours.numpy == np.dtype(name)
    assert dt.DTYPE_OF[ours.numpy] is ours
    assert ours.numpy.itemsize == ours.itemsize


def test_bfloat16_comes_from_ml_dtypes() -> None:
    import ml_dtypes

    array = np.zeros(2, ml_dtypes.bfloat16)
    assert dt.DTYPE_OF[array.dtype] is dt.bfloat16
    assert dt.bfloat16.numpy == array.dtype


def test_unknown_numpy_type_has_no_equivalent() -> None:
    with pytest.raises(KeyError):
        dt.DTYPE_OF[np.dtype("datetime64[s]")]


def test_complex32_says_why_it_has_no_arrays() -> None:
    with pytest.raises(TypeError, match="NumPy has no complex type of two halves"):
        _ = dt.complex32.numpy


@pytest.mark.parametrize("name", sorted(FLOAT8))
def test_types_of_one_byte_can_be_named_only(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} is not supported: NumPy has no"):
        gradtape.ones(1).to(getattr(gradtape, name))
    with pytest.raises(TypeError, match=r"Use torch\.float16 or torch\.bfloat16"):
        gradtape.empty(1, dtype=dt.DTYPES[name])


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles_are_the_same_object(name: str) -> None:
    ours = dt.DTYPES[name]
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours


def test_types_cannot_be_made_or_changed() -> None:
    with pytest.raises(TypeError, match=r"cannot create 'torch\.dtype' instances"):
        dt.dtype()
    with pytest.raises(AttributeError, match="has no attribute 'name'"):
        dt.float32.name = "other"


@pytest.mark.parametrize("name", NAMES)
def test_promotion_and_casts_match_for_every_pair(name: str) -> None:
    for other in NAMES:
        mine = (dt.DTYPES[name], dt.DTYPES[other])
        reference = (theirs(name), theirs(other))
        ours = outcome(partial(dt.promote_types, *mine))
        assert ours == outcome(partial(torch.promote_types, *reference)), other
        assert dt.can_cast(*mine) == torch.can_cast(*reference), other


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_result_type_matches_for_every_pair_of_operands(default: str) -> None:
    dt.set_default_dtype(dt.DTYPES[default])
    torch.set_default_dtype(theirs(default))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ComplexHalf support")
        tensors = {
            (name, rank): torch.ones((1,) * rank, dtype=theirs(name))
            for name, rank in TENSORS
        }
    for a, b in itertools.product((*TENSORS, *SCALARS), repeat=2):
        mine = [
            (dt.DTYPES[each[0]], each[1]) if isinstance(each, tuple) else each
            for each in (a, b)
        ]
        reference = [
            tensors[each] if isinstance(each, tuple) else each for each in (a, b)
        ]
        ours = outcome(partial(dt.result_type_of, mine))
        assert ours == outcome(partial(torch.result_type, *reference)), (a, b)


def test_result_type_of_three_operands_folds_by_category() -> None:
    assert dt.result_type_of([(dt.int8, 1), (dt.int64, 0), 2.0]) is dt.float32
    assert dt.result_type_of([(dt.uint8, 2), (dt.int8, 1), True]) is dt.int16
    with pytest.raises(ValueError, match="at least one operand"):
        dt.result_type_of([])


@pytest.mark.parametrize("name", NAMES)
def test_limits_match(name: str) -> None:
    ours, reference = dt.DTYPES[name], theirs(name)
    assert outcome(lambda: dt.finfo(ours)) == outcome(lambda: torch.finfo(reference))
    assert outcome(lambda: dt.iinfo(ours)) == outcome(lambda: torch.iinfo(reference))
    if ours.is_floating_point:
        for field in (
            *("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"),
            "dtype",
        ):
            mine = getattr(dt.finfo(ours), field)
            assert mine == getattr(torch.finfo(reference), field), field
    elif not ours.is_complex and ours is not dt.bool_:
        for field in ("bits", "max", "min", "dtype"):
            mine = getattr(dt.iinfo(ours), field)
            assert mine == getattr(torch.iinfo(reference), field), field


def test_limits_of_no_type_are_the_defaults() -> None:
    assert dt.finfo() == dt.finfo(dt.float32)
    assert dt.finfo() != dt.finfo(dt.float64)
    assert dt.iinfo(dt.int8) != dt.iinfo(dt.uint8)


@pytest.mark.parametrize("bad", ["int32", "complex64", 3, float])
def test_default_type_must_be_floating(bad: object) -> None:
    mine = dt.DTYPES[bad] if isinstance(bad, str) else bad
    reference = theirs(bad) if isinstance(bad, str) else bad
    expected = outcome(lambda: torch.set_default_dtype(reference))
    assert outcome(lambda: dt.set_default_dtype(mine)) == expected
    assert dt.get_default_dtype() is dt.float32


@pytest.mark.parametrize("given", [bool, int, float, complex, str, "float32", 3])
def test_dtype_arguments_take_pythons_types(given: object) -> None:
    expected = outcome(lambda: torch.zeros(1, dtype=given).dtype)
    assert outcome(lambda: dt.parse_dtype(given, "zeros")) == expected


def test_wrong_arguments_get_pytorchs_sentences() -> None:
    assert outcome(lambda: dt.promote_types(1, dt.bool_)) == outcome(
        lambda: torch.promote_types(1, torch.bool)
    )
    assert outcome(lambda: dt.can_cast(dt.bool_, 1)) == outcome(
        lambda: torch.can_cast(torch.bool, 1)
    )
    assert outcome(lambda: dt.finfo(3)) == outcome(lambda: torch.finfo(3))
    assert outcome(lambda: dt.iinfo(3)) == outcome(lambda: torch.iinfo(3))
