"""Statistics agree with numpy's own, for every dtype, shape and degenerate array."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradviz import ir
from gradviz._capture.statistics.summary import BINS, SAMPLE, statistics
from gradviz.ir.validate import validate

FLOATS = hnp.floating_dtypes(endianness="=") | st.sampled_from(
    [np.dtype(t) for t in ("int8", "int64", "uint8", "uint64", "bool", "complex64")]
)
SUBNORMAL = 1e16 * float(np.finfo(np.float64).tiny)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


@given(hnp.arrays(FLOATS, SHAPES))
def test_any_array_agrees_with_numpy(array: np.ndarray):
    check(array)


@given(
    # A subnormal norm has too few digits to compare.
    hnp.arrays("f8", SHAPES, elements=st.floats(-1e3, 1e3, allow_subnormal=False)),
    st.sampled_from([0.0, 1e6, -1e12]),
)
def test_an_offset_costs_no_precision(array: np.ndarray, offset: float):
    check(array + offset)


def check(array: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        wide = np.abs(array.astype("c16")) if array.dtype.kind == "c" else array
        wide = np.asarray(wide).astype(np.float64)
    finite = wide[np.isfinite(wide)]
    found = statistics(array)
    validate(ir.Snapshot("p", statistics=(found,)))
    assert found.count == array.size
    assert found.nans == np.isnan(wide).sum()
    assert found.infs == np.isinf(wide).sum()
    assert found.zeros == (wide == 0).sum()
    bad = np.argwhere(~np.isfinite(wide))
    assert found.first_bad == (tuple(bad[0].tolist()) if len(bad) else None)
    if finite.size == 0:
        assert (found.minimum, found.mean, found.norm) == (None, None, None)
        assert (found.histogram, found.histogram_low) == ((), None)
        return
    assert (found.minimum, found.maximum) == (finite.min(), finite.max())
    # In units of the largest value, where neither side can overflow.
    unit = float(np.abs(finite).max()) or 1.0
    small = finite / unit
    if unit > SUBNORMAL:  # below, results have too few digits to compare
        close(found.mean, small.mean(), unit)
        close(found.std, small.std(), unit)
        if math.isfinite(found.norm or 0.0):
            close(found.norm, math.sqrt(small @ small), unit)
    assert len(found.histogram) == BINS
    assert sum(found.histogram) == finite.size
    assert found.histogram_low is not None
    assert found.histogram_high is not None
    assert found.histogram_low <= finite.min() <= finite.max() <= found.histogram_high


def close(found: float | None, expected: float, unit: float) -> None:
    assert found is not None
    assert found / unit == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_the_histogram_is_numpys():
    array = np.random.default_rng(1).normal(size=60_000)
    found = statistics(array)
    expected, edges = np.histogram(array, BINS)
    assert found.histogram == tuple(expected.tolist())
    assert (found.histogram_low, found.histogram_high) == (edges[0], edges[-1])


def test_pieces_add_up():
    array = np.random.default_rng(2).normal(3, 0.1, size=(7, 9_111)).astype("f4")
    found = statistics(array)
    wide = array.astype("f8")
    assert found.mean == pytest.approx(wide.mean(), rel=1e-12)
    assert found.std == pytest.approx(wide.std(), rel=1e-9)
    assert found.norm == pytest.approx(np.linalg.norm(wide), rel=1e-12)
    assert sum(found.histogram) == array.size


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_histogram_of_a_large_array_is_that_of_a_sample(dtype: str):
    rows = np.arange(2_000.0)[:, None] * 0.01  # what differs by row and by column
    array = np.random.default_rng(5).normal(rows, 2, size=(2_000, 128)).astype(dtype)
    found, wide = statistics(array), array.astype("f8")
    assert sum(found.histogram) == SAMPLE < array.size
    expected = np.histogram(wide, BINS)[0] / array.size
    assert np.array(found.histogram) / SAMPLE == pytest.approx(expected, abs=2e-3)
    assert (found.minimum, found.maximum) == (wide.min(), wide.max())
    assert found.mean == pytest.approx(wide.mean(), rel=1e-6)
    assert found.std == pytest.approx(wide.std(), rel=1e-5)
    assert found.norm == pytest.approx(np.linalg.norm(wide), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 5e-324, 1.7e308, -1.7e308])
def test_a_constant_stands_in_the_middle(value: float):
    found = statistics(np.full((2, 3), value))
    assert (found.minimum, found.mean, found.maximum) == (value, value, value)
    assert found.std == 0.0
    assert found.histogram[BINS // 2] == 6
    assert found.histogram_low is not None
    assert found.histogram_high is not None
    assert found.histogram_low <= value <= found.histogram_high
    assert math.isfinite(found.histogram_high - found.histogram_low) or value != 1.0


def test_extremes_do_not_overflow():
    found = statistics(np.array([-1.7e308, 1.7e308, 0.0, 0.0]))
    assert found.mean == 0.0
    assert found.std == pytest.approx(1.7e308 / math.sqrt(2))
    tiny = statistics(np.array([5e-324, 1e-323, 0.0]))
    assert tiny.histogram[0] == tiny.histogram[BINS // 2] == tiny.histogram[-1] == 1
    huge = statistics(np.full(4, 1e200))
    assert huge.norm == pytest.approx(2e200)


def test_float32_products_do_not_overflow():
    assert statistics(np.full(4, 1e30, "f4")).norm == pytest.approx(2e30)
    assert statistics(np.full(4, 6e4, "f2")).norm == pytest.approx(1.2e5, rel=1e-3)
    large = statistics(np.full(2, 3e38 + 3e38j, "c8"))
    assert large.infs == 0
    assert large.maximum == pytest.approx(3e38 * math.sqrt(2))


def test_expanded_arrays_count_every_repeat_and_read_none():
    row = np.array([1.0, np.nan, 0.0, 3.0])
    wide = np.broadcast_to(row, (2**40, 4))
    found = statistics(wide)
    assert (found.count, found.nans, found.zeros) == (2**42, 2**40, 2**40)
    assert found.first_bad == (0, 1)
    assert found.norm == pytest.approx(math.sqrt(10 * 2**40))
    assert sum(found.histogram) == 3 * 2**40
    check(np.broadcast_to(row[:, None], (4, 3)))
    check(np.broadcast_to(np.float32(2.0), (3, 5)))


def test_layouts_do_not_matter():
    base = np.random.default_rng(3).normal(size=(6, 8, 4))
    base[4, 3, 2] = np.inf
    for view in (base.T, base[::2, ::-1], base[:, 3:4], np.moveaxis(base, 0, 1)):
        check(view)


def test_bfloat16_and_float8():
    import ml_dtypes

    array = np.array([[1.0, 0.0], [np.nan, -3.0]], ml_dtypes.bfloat16)
    found = statistics(array)
    assert (found.minimum, found.maximum, found.nans, found.zeros) == (-3.0, 1.0, 1, 1)
    assert found.first_bad == (1, 0)
    eight = np.array([1.5, -2.0], ml_dtypes.float8_e4m3fn)
    assert statistics(eight).mean == -0.25


@pytest.mark.parametrize(
    "array",
    [np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, "i4,f4")],
)
def test_arrays_without_numbers_are_refused(array: np.ndarray):
    with pytest.raises(TypeError, match="holds no numbers"):
        statistics(array)


def test_the_array_is_left_alone():
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    statistics(array)
    assert array.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


class DeviceArray(np.ndarray):
    """An array that, like CuPy's, comes to the host through get() alone."""

    transfers = 0

    def get(self) -> np.ndarray:
        DeviceArray.transfers += 1
        return np.array(self)

    def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False):
        return np.asarray(array).view(DeviceArray)

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("read on the host without get()")

    __float__ = __int__ = __bool__ = __index__ = tolist = item = _refuse


DeviceArray.__module__ = "cupy._core.core"


def on_device(value: Any, **options: Any) -> DeviceArray:
    return np.asarray(value, **options).view(DeviceArray)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    def lifted(function: Any) -> Any:
        return lambda *a, **k: on_device(function(*a, **k))

    names = ("abs", "isfinite", "stack", "concatenate", "bincount", "count_nonzero")
    fake = SimpleNamespace(**{name: lifted(getattr(np, name)) for name in names})
    fake.asarray = on_device
    for name in ("float32", "float64", "complex128", "intp"):
        setattr(fake, name, getattr(np, name))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    DeviceArray.transfers = 0


@pytest.mark.usefixtures("device")
def test_an_array_on_a_device_takes_two_transfers():
    array = np.random.default_rng(4).normal(size=(150, 400)).astype("f4")
    found = statistics(on_device(array))
    assert DeviceArray.transfers == 2
    expected = statistics(array)
    assert found.histogram == expected.histogram
    assert found.mean == pytest.approx(expected.mean)
    assert found.norm == pytest.approx(expected.norm)


@pytest.mark.usefixtures("device")
def test_bad_values_on_a_device_are_found_there():
    array = np.ones((3, 4))
    array[1, 2] = np.nan
    array[2, 0] = np.inf
    assert statistics(on_device(array)) == statistics(array)
