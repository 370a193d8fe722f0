"""Looking up, combining at indices, stepping by one: beside PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ..nn.lines import check_line
from ..oracle import assert_same

SETUP = """
s = t.tensor([1.0, 3, 5, 7])
S = t.tensor([[1.0, 3, 5], [2.0, 4, 6]])
v = t.tensor([3.0, 6])
nan = float("nan")
x = t.tensor([[0.0, 2, 3], [4, 0, 0], [1, 5, 0]], dtype=t.float64, requires_grad=True)
y = t.tensor([[2.0, 0, 0], [3, 4, 0]], dtype=t.float64, requires_grad=True)
i = t.tensor([1, 1])
I = t.tensor([[1, 1, 1], [1, 1, 1]])
"""

LOOKUPS = """
t.searchsorted(s, v)
t.searchsorted(s, v, right=True)
t.searchsorted(s, v, side="right", out_int32=True)
t.searchsorted(s, v, side="left")
t.searchsorted(s, 3)
t.searchsorted(s, 3.5, right=True)
t.searchsorted(s.long(), 3.5)
t.searchsorted(s.long(), t.tensor([3, 4]))
t.searchsorted(s, t.tensor(3.))
t.searchsorted(S, t.tensor([[3.],[3.]]))
t.searchsorted(S, t.tensor([[3.,4,5],[3.,4,9]]), right=True)
t.searchsorted(S, t.tensor([3.,3.]))
t.searchsorted(S, 3)
t.searchsorted(S, t.tensor(3.))
t.searchsorted(t.tensor(3.), t.tensor(3.))
t.searchsorted(t.tensor(3.), t.tensor([3.]))
t.searchsorted(s, t.tensor([3,6]))
t.searchsorted(s.double(), v)
t.searchsorted(s, v, side="middle")
t.searchsorted(s, v, side="left", right=True)
t.searchsorted(s.flip(0), v, sorter=t.tensor([3,2,1,0]))
t.searchsorted(s, v, sorter=t.tensor([3,2,1]))
t.searchsorted(s, v, sorter=t.tensor([3,2,1,9]))
t.searchsorted(s, v, sorter=t.tensor([3,2,1,0], dtype=t.int32))
t.searchsorted(s, t.tensor([nan]))
t.searchsorted(s, t.zeros(0))
t.searchsorted(t.zeros(0), t.zeros(2))
t.searchsorted(s, v, out=t.empty(2, dtype=t.int64))
t.searchsorted(s, v, out=t.empty(2, dtype=t.int32))
t.searchsorted(s, v, out=t.empty(2, dtype=t.int64), out_int32=True)
t.searchsorted(s.requires_grad_(), v)
t.searchsorted(s + 0j, v + 0j)
t.searchsorted(s > 3, v > 4)
t.bucketize(t.tensor([[3.,6]]), s)
t.bucketize(t.tensor([[3.,6]]), s, right=True, out_int32=True)
t.bucketize(3, s)
t.bucketize(v, S)
t.bucketize(t.tensor([3,6]), s)
t.isin(s, t.tensor([1.,7]))
t.isin(s, 1)
t.isin(1, s)
t.isin(s, t.tensor([1,7]), invert=True, assume_unique=True)
t.isin(s, t.tensor([]))
t.isin(S, s, assume_unique=True)
t.isin(s + 0j, s + 0j)
t.isin(s > 3, s > 3)
t.isin(t.tensor([nan]), t.tensor([nan]))
t.isin(elements=s, test_elements=s)
t.nextafter(s, t.tensor(9.)) - s
t.nextafter(s, s.double())
t.nextafter(s.half(), t.tensor(0.).half())
t.nextafter(s.long(), s.long())
t.nextafter(s > 1, s > 1)
t.nextafter(s, 2.0)
t.nextafter(s.requires_grad_(), s)
t.nextafter(s.requires_grad_(), s).sum().backward()
s.clone().nextafter_(s + 1)
x.index_reduce(0, i, y, "sum")
x.index_reduce(0, i.float(), y, "prod")
x.index_reduce(0, i, y.float(), "prod")
x.index_reduce(3, i, y, "prod")
x.index_reduce(0, i[:1], y, "prod")
x.index_reduce(0, i + 5, y, "prod")
x.index_reduce(0, i[None], y, "prod")
x.index_reduce(0, i, y[:, :1], "prod")
x.index_reduce(0, i, y[0], "prod")
t.zeros(3, dtype=t.int64).index_reduce(0, i, t.tensor([1, 2]), "mean")
t.zeros(3, dtype=t.bool).index_reduce(0, i, t.tensor([True, False]), "amax")
t.zeros(3, dtype=t.cfloat).index_reduce(0, i, t.zeros(2, dtype=t.cfloat), "prod")
t.tensor(2.).index_reduce(0, t.tensor(0), t.tensor(3.), "prod")
t.tensor(2.).index_reduce(0, t.tensor([0]), t.tensor([3.]), "prod")
t.ones(3).index_reduce_(0, i, t.tensor([4., 5.]), "amax")
t.pow(-1, t.tensor([1 + 2j]))
"""


@pytest.fixture(autouse=True, scope="module")
def _warmed_up() -> None:
    """Let PyTorch give the warning that it gives once per process."""
    torch = pytest.importorskip("torch")
    x, at = torch.ones(1), torch.zeros(1, dtype=torch.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.index_reduce(x, 0, at, x, "prod")


@pytest.mark.parametrize("line", LOOKUPS.strip().splitlines())
def test_results_and_refusals_are_those_of_pytorch(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_gradients_of_combined_zeros(name: str, reduce: str, include_self: bool):
    def program(t: Any) -> Any:
        scope: dict[str, Any] = {"t": t}
        exec(SETUP, scope)
        x, y = scope["x"], scope["y"]
        index = scope["I" if name == "scatter_reduce" else "i"]
        found = getattr(x, name)(0, index, y, reduce, include_self=include_self)
        weights = t.arange(1.0, 10.0, dtype=t.float64).reshape(3, 3)
        gradients = t.autograd.grad((found * weights).sum(), (x, y))
        return found, [each * 1 for each in gradients]

    assert_same(program)


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_several_zeros_at_one_place_have_no_second_derivative(name: str):
    def program(t: Any) -> Any:
        x = t.ones(1, dtype=t.float64, requires_grad=True)
        y = t.zeros(2, dtype=t.float64, requires_grad=True)
        found = getattr(x, name)(0, t.tensor([0, 0]), y, "prod")
        gradients = t.autograd.grad(found.sum(), (x, y), create_graph=True)
        return t.autograd.grad(sum(g.sum() for g in gradients), (x, y))

    assert_same(program)


def test_powers_of_negative_numbers_have_complex_slopes():
    def program(t: Any) -> Any:
        z = t.tensor([0.3 + 1j, -0.5j], dtype=t.complex128, requires_grad=True)
        found = [t.pow(-1, z), t.pow(2.5, z), t.pow(1 + 1j, z), t.pow(0, z)]
        return [t.view_as_real(t.autograd.grad(f.abs().sum(), z)[0]) for f in found]

    assert_same(program)
