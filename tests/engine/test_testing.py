"""``testing``: assert_close and make_tensor beside PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape

from .nn.lines import check_line
from .oracle import assert_same

Program = Callable[[Any], Any]

SETUP = """
close = t.testing.assert_close
a = t.tensor([[1.0, 2.0], [3.0, 4.0]])
b = t.tensor([[1.0, 2.5], [3.0, 4.1]])
i = t.tensor([1, 2, 3])
nan = float("nan")
"""

COMPARISONS = """
close(a, a)
close(a, b)
close(a, a + 1e-7)
close(a.to_sparse(), a.to_sparse(), check_stride=True)
close(a.to_sparse(), b.to_sparse())
close(a.to_sparse(), a.to_sparse(1))
close(a.to_sparse(), (a - 1).to_sparse())
close(a.to_sparse(), a)
close(a.to_sparse(), b, check_layout=False)
close(t.eye(2).to_sparse(), t.eye(2).flip(0).to_sparse())
close(a, a + 1e-4)
close(a, b, rtol=0, atol=1)
close(a, b, rtol=0.0, atol=0.0)
close(a, b, rtol=0.1)
close(a, b, atol=0.1)
close(a, a.double())
close(a, a.double(), check_dtype=False)
close(a, b.double(), check_dtype=False)
close(a, a.flatten())
close(a, a.t().contiguous().t(), check_stride=True)
close(a, a.t().contiguous().t())
close(i, i + t.tensor([0, 1, 0]))
close(i, i.float())
close(i.to(t.uint8), i.to(t.uint8) - 2)
close(i.to(t.uint8), i + 255, check_dtype=False)
close(i > 1, i > 2)
close(i[0], i[1])
close(a[0, 0], a[0, 1])
close(a[0, 0].item(), a[0, 1].item())
close(t.tensor(0.0), t.tensor(1.0))
close(t.tensor(1.0), t.tensor(0.0))
close(t.tensor([1.0]), t.tensor([0.0]))
close(t.tensor([nan]), t.tensor([nan]))
close(t.tensor([nan]), t.tensor([nan]), equal_nan=True)
close(t.tensor([nan, 1.0]), t.tensor([1.0, 1.0]))
close(t.tensor([float("inf"), 1.0]), t.tensor([1.0, 1.0]))
close(t.tensor([1 + 1j]), t.tensor([1 + 2j]))
close(t.tensor([1 + 1j]), t.tensor([1 + 1j]))
close(t.zeros(0), t.zeros(0))
close(t.zeros(0), t.zeros(0, 2))
close(a.half(), b.half())
close(a.bfloat16(), (a + 0.01).bfloat16())
close(a.requires_grad_(), b)
close(nan, nan)
close(nan, nan, equal_nan=True)
close(1, 1)
close(1, 2)
close(1, 1.0)
close(1, 1.0, check_dtype=False)
close(1.0, 1.0 + 1e-9)
close(1.0, 1.1)
close(1.0, 0.0)
close(1j, 2j)
close(np.float64(1), np.float64(2))
close(np.float32(1), 1.0)
close(True, True)
close(True, False)
close(True, np.bool_(True))
close(None, None)
close(None, a)
close(a, None)
close("a", "a")
close("a", 1)
close({1}, {1})
close([a, b], [a, a])
close([a, b], [a])
close((a, (b, 1.0)), (a, (b, 2.0)))
close((a,), [a])
close([], [])
close({"x": a, "y": b}, {"y": b, "x": a})
close({"x": a, "y": b}, {"y": a, "x": a})
close({"x": a}, {"y": a})
close({"x": [a, 1.0]}, {"x": [a, 1.5]})
close({1: a, "x": b}, {1: a, "x": b})
close(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
close(np.array([1.0, 2.0]), np.array([1.0, 2.0], dtype=np.float32))
close([1.0, 2.0], [1.0, 2.0])
close([1.0, 2.0], [1.0, 3.0])
close(a, b, msg="they differ")
close(a, b, msg=lambda text: "seen: " + text)
close([a], [b], msg=lambda text: "seen: " + text)
close(1, 2, msg="numbers")
close(t.nn.Parameter(a), a)
t.testing.assert_allclose(a, a + 1e-6)
t.testing.assert_allclose(a, b)
t.testing.assert_allclose([1.0, 2.0], [1, 2])
t.testing.assert_allclose(a, b, rtol=1.0, atol=1.0)
t.testing.assert_allclose(a, b, msg="they differ")
t.testing.assert_allclose(a.double(), a)
"""


@pytest.mark.parametrize("line", COMPARISONS.strip().splitlines())
def test_comparisons_are_told_as_pytorch_tells_them(line: str):
    check_line(line, SETUP)


def test_a_bool_and_a_number_cannot_be_paired():
    with pytest.raises(RuntimeError, match=r"^Originating a NumberPair\(\) at item "):
        gradtape.testing.assert_close(True, 1)


@pytest.mark.parametrize("expected", [[1.0, 2.0], 3.0, np.array([1.0, 2.0])])
def test_a_tensor_is_compared_with_tensors_only(expected: object):
    with pytest.raises(TypeError, match=r"^No comparison pair was able to handle "):
        gradtape.testing.assert_close(gradtape.tensor([1.0, 2.0]), expected)


def test_a_parameter_is_no_plain_tensor_where_that_counts():
    x = gradtape.ones(2)
    parameter = gradtape.nn.Parameter(x)
    with pytest.raises(TypeError, match=r"Parameter.* and .*Tensor"):
        gradtape.testing.assert_close(parameter, x, allow_subclasses=False)


def test_what_cannot_be_compared_is_told_before_what_differs():
    assert_same(lambda t: t.testing.assert_close([1, "a"], [2, "a"]))


# ---- make_tensor ---------------------------------------------------------------------

MAKE = """
make(2, 3, dtype=t.float32, device="cpu")
make((2, 3), dtype=t.float64, device="cpu")
make([4], dtype=t.float16, device="cpu")
make(4, dtype=t.bfloat16, device="cpu").float()
make((), dtype=t.float32, device="cpu")
make((0, 3), dtype=t.float32, device="cpu")
make(3, 4, dtype=t.complex64, device="cpu")
make(5, dtype=t.complex128, device="cpu", low=-1, high=1)
make(3, 4, dtype=t.int64, device="cpu")
make(3, 4, dtype=t.int32, device="cpu", low=2)
make(20, dtype=t.int8, device="cpu", low=-500, high=500)
make(20, dtype=t.uint8, device="cpu")
make(20, dtype=t.uint8, device="cpu", low=1.5, high=4.2)
make(20, dtype=t.bool, device="cpu")
make(20, dtype=t.bool, device="cpu", low=1)
make(6, dtype=t.float32, device="cpu", low=2, high=3)
make(6, dtype=t.float32, device="cpu", low=float("-inf"), high=float("inf"))
make(2, dtype=t.float64, device="cpu", low=10**400, high=10**401)
make(6, dtype=t.float16, device="cpu", low=-1e6, high=1e6)
make(3, 4, dtype=t.float32, device="cpu", noncontiguous=True)
make(1, dtype=t.float32, device="cpu", noncontiguous=True)
make(3, 4, dtype=t.int64, device="cpu", noncontiguous=True, exclude_zero=True)
make(40, dtype=t.int64, device="cpu", exclude_zero=True, low=-1, high=2)
make(40, dtype=t.bool, device="cpu", exclude_zero=True)
make(3, dtype=t.float32, device="cpu", requires_grad=True)
make(3, dtype=t.float32, device="cpu", requires_grad=True, noncontiguous=True)
make(3, dtype=t.int64, device="cpu", requires_grad=True)
make(3, dtype=t.float32, device="cpu", low=1, high=1)
make(3, dtype=t.int64, device="cpu", low=1, high=1)
make(3, dtype=t.float32, device="cpu", low=2, high=1)
make(3, dtype=t.float32, device="cpu", low=float("nan"))
make(3, dtype=t.uint8, device="cpu", low=-10, high=-1)
make(3, dtype=t.uint8, device="cpu", low=256, high=300)
make(3, dtype=t.bool, device="cpu", low=2, high=3)
make(1, 2, 3, 4, dtype=t.float32, device="cpu", noncontiguous=True, memory_format=t.channels_last)
"""  # noqa: E501 - one call, one line


@pytest.mark.parametrize("line", MAKE.strip().splitlines())
def test_random_tensors_are_those_of_pytorch(line: str):
    check_line(line, "make = t.testing.make_tensor")


def test_the_state_of_the_generator_is_as_in_pytorch_afterwards():
    def program(t: Any) -> Any:
        t.manual_seed(3)
        for dtype in (t.float32, t.int64, t.bool, t.complex64):
            t.testing.make_tensor(5, dtype=dtype, device="cpu")
        return t.rand(3)

    assert_same(program)


def test_the_warning_of_equal_bounds_names_the_caller_s_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = gradtape.testing.make_tensor(
            2, dtype=gradtape.float32, device="cpu", low=1, high=1
        )
    assert [w.category for w in caught] == [FutureWarning]
    assert caught[0].filename == __file__
    assert np.array_equal(made.numpy(), [1, 1])
