"""Tensors print as PyTorch prints them, character by character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gradtape
from gradtape import _dtypes as dt
from gradtape._backend.device import device
from gradtape._tensor.printing import (
    contents_str,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_str,
)

torch = pytest.importorskip("torch")

REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint64")


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    yield
    both_options(profile="default")
    dt.set_default_dtype(dt.float32)
    torch.set_default_dtype(torch.float32)


def both_options(**options: Any) -> None:
    set_printoptions(**options)
    torch.set_printoptions(**options)


def check(array: np.ndarray[Any, np.dtype[Any]]) -> None:
    assert tensor_str(array, dt.DTYPE_OF[array.dtype]) == repr(torch.from_numpy(array))


@st.composite
def magnitudes(draw: st.DrawFn) -> float:
    """Floats of the kinds that print differently: whole, small, huge, not finite."""
    kind = draw(st.sampled_from(["whole", "plain", "wide", "special"]))
    if kind == "whole":
        return float(draw(st.integers(-(10**6), 10**6)))
    if kind == "plain":
        return draw(st.floats(-100, 100))
    if kind == "wide":
        return draw(st.floats(-1e4, 1e4)) * 10.0 ** draw(st.integers(-8, 8))
    return draw(st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan]))


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, np.dtype[Any]]:
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=8))
    name = draw(st.sampled_from((*REALS, *COMPLEX, *WHOLE)))
    if name in WHOLE:
        return draw(hnp.arrays(name, shape))
    parts = draw(st.lists(magnitudes(), min_size=1, max_size=12))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore", invalid="ignore"):
        values = rng.choice(parts, shape)
        if name in COMPLEX:
            values = values + 1j * rng.choice(parts, shape)
        return np.asarray(values).astype(name)


options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 10),
        "threshold": st.sampled_from([0, 5, 20, 1000, float("inf")]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(10, 150),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


@given(arrays())
@example(np.zeros((0, 3), "f"))
@example(np.array([1e-320, 1e308]))
@example(np.array(True))
@example(np.array([-0.0 - 0.0j, complex(np.nan, -np.inf)]))
def test_any_array_prints_as_in_pytorch(array: np.ndarray[Any, np.dtype[Any]]) -> None:
    check(array)


@given(arrays(), options)
def test_options_work_as_in_pytorch(
    array: np.ndarray[Any, np.dtype[Any]], chosen: dict[str, Any]
) -> None:
    both_options(profile="default")
    both_options(**chosen)
    assert get_printoptions() == torch._tensor_str.get_printoptions()
    check(array)


@given(arrays(), st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
def test_the_default_type_goes_without_saying(
    array: np.ndarray[Any, np.dtype[Any]], default: str
) -> None:
    dt.set_default_dtype(dt.DTYPES[default])
    torch.set_default_dtype(getattr(torch, default))
    check(array)


@pytest.mark.parametrize(
    "shape", [(1001,), (20, 60), (11, 12, 13), (3, 2, 500), (500, 3), (8, 1, 9, 40)]
)
@pytest.mark.parametrize("name", ["float32", "int64", "complex64", "bool"])
def test_large_arrays_are_summarised(shape: tuple[int, ...], name: str) -> None:
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        values = (rng.standard_normal(shape) * 10).astype(name)
    check(values)
    check(values.T.copy().T)


def test_bfloat16_prints_as_in_pytorch() -> None:
    reference = (torch.arange(-40, 40).reshape(8, 10) / 7).bfloat16()
    array = reference.view(torch.int16).numpy().view(dt.bfloat16.numpy)
    assert tensor_str(array, dt.bfloat16) == repr(reference)


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0), (4, 30)])
@pytest.mark.parametrize("name", ["float32", "float64", "complex64"])
def test_history_is_named_after_the_numbers(shape: tuple[int, ...], name: str) -> None:
    leaf = torch.ones(shape, dtype=getattr(torch, name)).requires_grad_()
    array, dtype = leaf.detach().numpy(), dt.DTYPES[name]
    assert tensor_str(array, dtype, requires_grad=True) == repr(leaf)
    result = leaf * 1
    text = tensor_str(array, dtype, requires_grad=True, grad_fn_name="MulBackward0")
    assert text == repr(result)


def test_a_line_breaks_before_a_suffix_that_does_not_fit() -> None:
    for length in range(8, 16):
        leaf = torch.full((length,), 0.5, dtype=torch.float64, requires_grad=True)
        text = tensor_str(leaf.detach().numpy(), dt.float64, requires_grad=True)
        assert text == repr(leaf)


def test_parameters_say_what_they_are() -> None:
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.5]))
    text = tensor_str(
        parameter.detach().numpy(), dt.float32, requires_grad=True, parameter=True
    )
    assert text == repr(parameter)


def test_tensors_without_data_print_their_size_and_device() -> None:
    for name in ("float32", "int64"):
        meta = torch.empty(2, 3, dtype=getattr(torch, name), device="meta")
        text = tensor_str(None, dt.DTYPES[name], size=(2, 3), device=device("meta"))
        assert text == repr(meta)


def test_other_devices_are_named_first() -> None:
    text = tensor_str(np.array([1, 2], np.int32), dt.int32, device=device("cuda:1"))
    assert text == "tensor([1, 2], device='cuda:1', dtype=torch.int32)"


def test_subclasses_indent_by_their_own_name() -> None:
    class Celsius(torch.Tensor):
        pass

    reference = torch.ones(4, 30).as_subclass(Celsius)
    text = tensor_str(np.ones((4, 30), "f"), dt.float32, prefix="Celsius(")
    assert text == repr(reference)


def test_given_contents_replace_the_numbers() -> None:
    text = tensor_str(np.ones(3, "f"), dt.float32, contents="...", tangent="1.")
    assert text == "tensor(..., tangent=1.)"


def test_contents_indent_their_later_lines() -> None:
    assert contents_str(np.eye(2), indent=4) == "[[1., 0.],\n     [0., 1.]]"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("values", [[1.0, 2.5], [], [1, 2], [True, False]])
def test_storages_print_one_value_a_line(values: list[Any]) -> None:
    ours, theirs = gradtape.tensor(values), torch.tensor(values)
    assert repr(ours.storage()) == repr(theirs.storage())
    assert repr(ours.untyped_storage()) == repr(theirs.untyped_storage())


def test_a_block_of_options_ends_as_it_began() -> None:
    set_printoptions(precision=7, sci_mode=True)
    before = get_printoptions()
    with printoptions(precision=1, sci_mode=False):
        text = tensor_str(np.array([1.25], "f"), dt.float32)
    assert text == "tensor([1.2])"
    assert get_printoptions() == before


def test_only_what_is_shown_is_formatted() -> None:
    array = np.ones((200, 300))
    array[100, 150] = 1e300  # would ask for scientific notation, were it shown
    assert "e+" not in contents_str(array)
