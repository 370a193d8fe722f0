"""Rare calls of layers and reductions give what PyTorch gives, refusals included."""

from __future__ import annotations

from typing import Any

import pytest

from ..nn.lines import check_line
from ..oracle import assert_same

SETUP = """
F, L = t.nn.functional, t.tensor
w = t.arange(12.0).reshape(4, 3).requires_grad_()
x = t.arange(6.0).reshape(2, 3)
"""

LINES = """
F.embedding_bag(L([-1, 2]), w, L([0, 1]), mode="max")
F.embedding_bag(L([[9, 2]]), w, padding_idx=0)
F.embedding_bag(L([[9, 2]]), w)
F.embedding_bag(L([2, 2]), t.ones(2, 2, 2), L([0, 0]))
F.embedding_bag(L([0, 1]), w, L([0]), mode="sum", per_sample_weights=t.ones(2).double())
F.embedding_bag(L([[0]]), w.detach().int())
F.embedding_bag(L([], dtype=t.int64), w, L([], dtype=t.int64), include_last_offset=True)
t.nn.EmbeddingBag.from_pretrained(w).weight.requires_grad
t.nn.EmbeddingBag.from_pretrained(w.detach(), freeze=False, mode="max")(L([[0, 1]]))
t.nn.EmbeddingBag.from_pretrained(t.ones(3))
t.cumsum(t.ones(3, dtype=t.int32), 0, dtype=t.int16)
t.cumprod(t.full((3,), 100, dtype=t.uint8), 0, dtype=t.uint8)
t.ones(3, dtype=t.int32).cumsum(0)
t.all(x, [])
t.any(x, [], keepdim=True)
t.all(x, 0, out=t.empty(3, dtype=t.int32))
t.any(x, out=t.empty(()))
t.all(t.ones(2, 3, dtype=t.uint8), 0, out=t.empty(3, dtype=t.bool))
t.any(x, 0, out=t.empty(3, dtype=t.uint8))
t.argmax(x, dim=(0, 1))
t.argmin(x, dim=[0])
t.aminmax(x, dim=(0,))
t.argmax(x, dim=1.0)
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_rare_calls(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("offsets", [(0, 3, 3), (0, 3, 4), (0, 2, 3), (0, 1, 1)])
def test_the_last_offset_of_bags(mode: str, padding: int | None, offsets: Any):
    def program(t: Any) -> Any:
        weight = t.arange(12.0).reshape(4, 3).requires_grad_()
        found = t.nn.functional.embedding_bag(
            t.tensor([0, 1, 2, 3]),
            weight,
            t.tensor(offsets),
            mode=mode,
            include_last_offset=True,
            padding_idx=padding,
        )
        if padding is None and mode != "max":
            return found.detach()  # PyTorch also gives what is beyond a gradient
        (found * t.arange(1.0, 4.0)).sum().backward()
        return found, weight.grad

    assert_same(program)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_convolutions_as_functions(dims: int, groups: int):
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(2, 4, *(6, 5, 4)[:dims]).double()
        weight = t.randn(2, 4 // groups, *(3, 2, 2)[:dims]).double().requires_grad_()
        windows = {"stride": 2, "padding": 1, "groups": groups}
        y = getattr(t.nn.functional, f"conv{dims}d")(x, weight, **windows)
        grad = t.randn(*y.shape).double()
        of_input = getattr(t.nn.grad, f"conv{dims}d_input")
        of_weight = getattr(t.nn.grad, f"conv{dims}d_weight")
        first = of_input(x.shape, weight, grad, **windows)
        return first.detach(), of_weight(x, weight.shape, grad, **windows)

    assert_same(program)


SUMS = ("sum", "nansum", "prod", "cumsum", "cumprod")


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32"])
def test_sums_in_a_dtype_of_their_own(name: str, dtype: str):
    for of in ("bool", "uint8", "float32"):
        x = f"t.full((2, 3), 3).to(t.{of})"
        check_line(f"t.{name}({x}, 1, dtype=t.{dtype})")
        check_line(f"t.{name}({x}.reshape(-1), 0, dtype=t.{dtype})")


SCANS = """
t.view_as_real(t.logcumsumexp(t.tensor([complex("nan"), 1 + 1j]), 0))
t.view_as_real(t.logcumsumexp(t.tensor([1 + 1j, complex("inf+nanj"), 1j]), 0))
t.searchsorted(t.arange(12.0).view(3, 4).t().contiguous().t(), t.ones(3, 1))
t.searchsorted(t.arange(12.0)[::2], t.ones(2, 3).t())
t.bucketize(t.arange(6.0).view(2, 3).t(), t.arange(4.0))
"""


@pytest.mark.parametrize("line", SCANS.strip().splitlines())
def test_scans_and_searches_of_rare_operands(line: str):
    def program(t: Any) -> Any:
        t.set_warn_always(True)
        try:
            return eval(line, {"t": t})
        finally:
            t.set_warn_always(False)

    assert_same(program)


def test_gradients_are_unscaled_by_a_vector_of_one():
    def program(t: Any) -> Any:
        grads = [t.ones(2, 2), t.full((2,), float("inf"))]
        found = t.zeros(1)
        unscale = t._amp_foreach_non_finite_check_and_unscale_
        unscale(grads, found, t.tensor([0.5]))
        return grads, found

    assert_same(program)


REFUSED = """
F.fractional_max_pool3d(t.ones(1, 0, 5, 6, 7), 3, output_ratio=0.5)
F.fractional_max_pool2d(t.ones(1, 4, 0, 6), 2, 1)
F.fractional_max_pool2d(t.ones(1, 4, 5, 6), 2, 1, _random_samples=t.rand(0, 4, 2))
F.fractional_max_pool2d(t.ones(1, 4, 5, 6), 2, 1, _random_samples=t.rand(1, 3, 2))
F.fractional_max_pool2d(t.ones(1, 4, 5, 6), 2, 1, _random_samples=t.rand(4, 2))
F.fractional_max_pool2d(t.ones(2, 4, 5, 6), 2, 1, _random_samples=t.rand(3, 4, 2))
x.flip()
x.flip(())
t.nonzero(x, as_tuple=True, out=t.empty(3, dtype=t.int64))
[l._get_no_batch_dim() for l in (t.nn.InstanceNorm1d(2), t.nn.InstanceNorm3d(2))]
u = t.nn.parameter.UninitializedParameter(); u.materialize(10); u.shape
s = t.ones(2).byte().to_sparse(); s.add_(t.ones(2).short().to_sparse()).to_dense()
s = t.ones(2).to_sparse(); s.mul_(t.full((2,), 3.0).double().to_sparse()).to_dense()
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_more_rare_calls(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "complex64", "float64"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max", "adaptive_avg", "adaptive_max"])
def test_which_dtypes_are_pooled(kind: str, dims: int, dtype: str):
    def program(t: Any) -> Any:
        x = t.ones(2, 3, *(4, 5, 6)[:dims], dtype=getattr(t, dtype))
        return getattr(t.nn.functional, f"{kind}_pool{dims}d")(x, 2).tolist()

    assert_same(program)
