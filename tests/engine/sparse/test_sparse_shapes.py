"""Sparse tensors over dimensions: sums, products that broadcast, diagonals."""

from __future__ import annotations

import warnings

import pytest

import gradtape

from ..nn.lines import check_line

SETUP = """
d = t.tensor([[0.0, 2, 0], [3, 0, 4]])
s = d.to_sparse()
h = d.unsqueeze(-1).expand(2, 3, 2).contiguous().to_sparse(2)
u = t.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 3))
one = lambda n: t.tensor(n).to_sparse()
diag = t.sparse.spdiags
rows = t.tensor([[1.0, 2, 3], [4, 5, 6]])
"""

DENSE = """
s.sum(0)
s.sum(-1, keepdim=True)
s.sum((0, 1))
h.sum(2)
h.sum((0, 2))
s.sum(0, dtype=t.float64)
t.sum(s, 1)
s * t.tensor([1.0, 2, 3])
t.tensor([1.0, 2, 3]) * s
s * t.tensor([[1.0], [2]])
s * t.ones(4, 2, 3)
h * t.ones(2)
h * t.ones(3, 1) * 2
s * one(2.0)
one(3.0) * d
one(3.0) * one(2.0)
h * h
s.unsqueeze(0)
s.unsqueeze(-1)
h.unsqueeze(-1)
s.clone().transpose_(0, 1)
s.clone().t_()
s.index_select(0, t.tensor([1, 0, 1]))
s.index_select(-1, t.tensor([-1]))
h.index_select(2, t.tensor([1, 1]))
s.index_select(0, t.tensor([], dtype=t.int64))
t.cat([h, h * 2], 2)
s // 2
t.floor_divide(s, t.tensor(2.0))
t.cat([s, s], 1)
diag(rows, t.tensor([0, 1]), (3, 3))
diag(rows, t.tensor([0, -1]), (3, 4))
diag(rows[0], t.tensor(1), (3, 4))
diag(rows[:1], t.tensor([0]), (3, 3), layout=t.sparse_coo)
t.sparse_coo_tensor([[2, 0, 2]], [1.0, 2, 3], (4,)).index_select(0, t.arange(4) // 2)
t.zeros(3, 2, out=s.new())
t.zeros(3, 2, out=s.new(), requires_grad=True).detach()
s.new_empty((2, 2))
s.new_zeros((2, 2), dtype=t.int16)
t.empty_like(s, layout=t.strided) * 0
t.zeros_like(s, layout=t.strided)
t.zeros_like(d, layout=t.sparse_coo)
s.new(t.tensor([[0], [1]]), t.tensor([2.0]), (2, 3))
s.new(t.tensor([[0], [1]]), t.tensor([2.0]))
s.new(2, 3)
t.narrow_copy(s, 1, 1, 2)
t._sparse_broadcast_to(one([[1.0], [2]]), (2, 3))
t._sparse_broadcast_to(one([[1.0], [2]]), (2,))
t._sparse_broadcast_to(one([[1.0], [2]]), (4, 3, 1))
one(2.0) * t.sparse_coo_tensor(t.zeros(0, 2, dtype=t.int64), t.ones(2), ())
t.sparse_coo_tensor(t.zeros(0, 2, dtype=t.int64), t.ones(2), ()) * one(2.0)
t.div(s, 2, rounding_mode="floor")
t.div(-s, t.tensor(2.0), rounding_mode="trunc")
s + t.zeros(2, 3).to_sparse(1)
t.zeros(2, 3, dtype=t.float64).to_sparse(1) - s
t.hspmm(s, d.t())
t.hsmm(u, d.t())
s.smm(d.t())
t.sspaddmm(t.eye(2).to_sparse(), s, d.t(), beta=2, alpha=3)
t.saddmm(t.eye(2).to_sparse(), u, d.t())
"""

PLAIN = """
bool(one([2.0]))
bool(one([[0.0]]))
bool(s)
s * one([[1.0, 0, 3]])
s * one([[1.0], [0]])
s / d
s // d
s.pow(0)
u.clone().asin_()
u.clone().abs_()
u.clone().neg_().to_dense()
s.clone().sin_().to_dense()
t.sparse_coo_tensor([[0, 0], [1, 1]], [1, 2], (2, 3)).log1p_()
s.index_select(0, t.tensor([5]))
s.unsqueeze(0).t_()
h.t_()
diag(rows, t.tensor([0, 0]), (3, 3))
diag(rows, t.tensor([0]), (3, 3))
diag(rows, t.tensor([0.0, 1]), (3, 3))
diag(rows, t.tensor([0, 1]), (3, 3, 3))
diag(t.ones(2, 2, 2), t.tensor([0, 1]), (3, 3))
diag(rows[:1], t.tensor([[0]]), (3, 3))
diag(rows[:1], t.tensor([0]), (3, 3), layout=t.strided)
t.median(d, axis=0)
t.sort(d, axis=0)
d.softmax(axis=1)
t.log_softmax(d, axis=0)
d.topk(1, axis=1)
t.unsqueeze(d, axis=0)
d.squeeze(axis=0)
t.quantile(d, 0.5, axis=1)
t.diff(d, axis=1)
t.chunk(d, 2, axis=1)
d.narrow(axis=0, start=0, length=1)
t.mode(d, axis=1, keepdims=True)
t.argsort(d, axis=1)
t.aminmax(d, axis=0)
s.new().shape
t.ones(2, 3, layout=t.sparse_coo)
t.full((2, 3), 0.0, layout=t.sparse_coo)
t.floor_divide(d, s)
t.sparse.sum(s, 2)
t.sparse.sum(s, (0, 0))
t.sparse.mm(s, s)
"""


@pytest.fixture(autouse=True, scope="module")
def pytorch_has_warned() -> None:
    """Let PyTorch say before, once, that it does not check invariants."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_coo_tensor([[0]], [1.0], (1,))


@pytest.mark.parametrize("line", DENSE.strip().splitlines())
def test_sparse_results_hold_the_same_numbers(line: str) -> None:
    check_line(f"found = {line}; [found.layout, found.to_dense()]", SETUP)


@pytest.mark.parametrize("line", PLAIN.strip().splitlines())
def test_numbers_and_refusals(line: str) -> None:
    check_line(line, SETUP)


def test_gradients_flow_through_sums_and_diagonals() -> None:
    rows = gradtape.tensor([[1.0, 2], [3, 4]], requires_grad=True)
    matrix = gradtape.sparse.spdiags(rows, gradtape.tensor([0, 1]), (2, 2))
    (matrix.sum(0).to_dense() * gradtape.tensor([10.0, 100])).sum().backward()
    assert rows.grad is not None
    assert rows.grad.tolist() == [[10, 100], [0, 100]]
