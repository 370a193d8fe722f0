"""Making sparse tensors by older names, of others, and by copying and joining them."""

from __future__ import annotations

import pytest

import gradtape

from ..nn.lines import check_line
from ._sparse_programs import settle

settle()

SETUP = """
at, values = t.tensor([[0, 1], [1, 2]]), t.tensor([3.0, 4.0])
d = t.tensor([[0.0, 2, 0], [3, 0, 4]])
s, h = d.to_sparse(), d.to_sparse(1)
none = t.zeros(2, 3).to_sparse()
b = t.arange(24.0).view(2, 3, 4).remainder(3).sub(1)
batch, image = b.to_sparse(), b[None].to_sparse()
one = t.sparse_coo_tensor([[0], [1]], [1.0], (2, 3))
"""

MADE = """
t.sparse.FloatTensor(at, values, t.Size([2, 3]))
t.sparse.FloatTensor(at, values)
t.sparse.DoubleTensor(indices=at, values=values.double(), size=(3, 3))
t.sparse.FloatTensor(2, 3)
t.sparse.HalfTensor(t.Size([2, 3]))
t.sparse.IntTensor()
s.type(t.sparse.DoubleTensor)
s.clone().copy_(t.eye(5).to_sparse())
s.clone().copy_(one.double())
none.clone().copy_(t.eye(2).to_sparse())
none.clone().copy_(h)
h.clone().copy_(t.ones(3, 4).to_sparse(1))
one.t()
none.t()
none.permute(1, 0)
none.permute(-2, -1)
batch.permute(0, 2, 1)
batch.permute(2, 0, 1)
one.clone()
s.new(at, values)
s.new(size=(2, 3))
s.clone().sparse_resize_((4, 4), 2, 0)
h.clone().sparse_resize_and_clear_((1, 2), 2, 0)
s.new().resize_as_(h)
s.unbind(1)[2]
h.unbind()[1]
h.unbind(1)[0]
b.add(1).to_sparse().select(1, 2)
batch * t.ones(2, 3, 1).to_sparse(2)
h * t.tensor([[2.0], [0.0]]).to_sparse(1)
t.cat([h, h], 1)
"""

PLAIN = """
t.sparse.FloatTensor
t.sparse.FloatTensor.dtype
t.sparse.FloatTensor([2, 3])
t.sparse.FloatTensor(at.int(), values)
t.sparse.FloatTensor(values)
t.sparse.FloatTensor(1.5)
[isinstance(x, k) for x in (d, s) for k in (t.FloatTensor, t.sparse.FloatTensor)]
d.type('torch.sparse.DoubleTensor')
s.type('torch.FloatTensor').layout
s.clone().copy_(d)
s.clone().copy_(t.ones(5, 5))
d.clone().copy_(s)
s.clone().copy_(t.eye(2).to_sparse())
s.clone().copy_(h)
h.clone().copy_(t.ones(2, 2).to_sparse(1))
h.clone().copy_(t.ones(2, 3, 1).to_sparse(1))
t.cat([s, t.ones(2, 4).to_sparse()])
t.cat([s, t.ones(3).to_sparse()])
t.cat([s, h])
t.cat([s, s], 2)
t.empty_like(batch, layout=t.strided).stride()
t.empty_like(s, layout=t.strided, memory_format=t.preserve_format).stride()
t.empty_like(image, layout=t.strided, memory_format=t.channels_last).stride()
t.empty_like(s, memory_format=t.contiguous_format)
t.empty_like(d, layout=t.sparse_coo)
t.zeros_like(s, memory_format=t.preserve_format)
t.zeros_like(s, layout=t.strided)
t.ones_like(s, layout=t.strided)
t.ones_like(d, layout=t.sparse_coo)
t.full_like(s, 2.0, layout=t.strided)
t.rand_like(s, layout=t.strided)
t.sparse_coo_tensor(at, values, check_invariants=True, is_coalesced=True).is_coalesced()
t.sparse_coo_tensor(at.flip(1), values, check_invariants=True, is_coalesced=True)
t.sparse_coo_tensor(at * 0, values, check_invariants=True, is_coalesced=True)
s.new([6])
s.new(values)
s.clone().sparse_resize_((2, 2), 2, 0)
s.clone().sparse_resize_((2, 3, 1), 2, 1)
s.clone().sparse_resize_((4, 4), 3, 0)
d.sparse_resize_((2, 3), 2, 0)
s.requires_grad_().sparse_resize_((4, 4), 2, 0)
t.set_default_tensor_type(t.sparse.DoubleTensor)
t.set_default_tensor_type("torch.sparse.FloatTensor")
d.sparse_resize_and_clear_((2, 3), 2, 0)
t.sparse.mm(s, s.t().double())
t.sparse.mm(s, d.t().double())
[float(t.tensor([3.0]).to_sparse()), t.tensor(2.0).to_sparse().item()]
h.clone().sparse_resize_((2, 5), 1, 1).to_dense().flatten()[:6]
t.sparse_coo_tensor([[0, 0]], [-1.0, 1.0], (1,)).is_nonzero()
t.bmm(batch, t.ones(2, 4, 2))
t.bmm(batch, t.ones(2, 4, 2), out=t.empty(2, 3, 2))
t.bmm(batch, batch)
batch.bmm(t.ones(2, 5, 2))
batch.bmm(t.ones(3, 4, 2))
batch.bmm(t.ones(4, 2))
b.to_sparse(2).bmm(t.ones(2, 4, 2))
s.bmm(d)
s.mv(t.ones(3))
s.mv(t.ones(2))
s @ t.ones(4)
s.mv(t.ones(3, 1))
s.narrow_copy(1, 1, 2).to_dense()
h.narrow_copy(1, 3, 0).to_dense()
s.narrow_copy(-1, 0, 1)
s.narrow_copy(2, 0, 1)
s.narrow_copy(0, -1, 1)
s.narrow_copy(0, 3, 1)
s.narrow_copy(1, 1, 3)
s.narrow_copy(0, 0, -1)
[s.norm(), s.norm(1), s.norm(0), s.norm(3.5), s.norm(p=None)]
[s.norm(t.inf), s.norm(-t.inf), s.norm(dim=(1, 0)), t.norm(s, dim=())]
t.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).norm(1)
none.norm(2)
s.norm(dim=0)
s.norm(1, dim=1, keepdim=True)
s.norm(keepdim=True)
s.norm(2, dtype=t.float64)
s.norm(dtype=t.float64)
t._validate_sparse_coo_tensor_args(at, values, (2, 3))
t._validate_sparse_coo_tensor_args(at, values, t.Size([2, 3]), True)
t._validate_sparse_coo_tensor_args(at, values, (2, 2))
t._validate_sparse_coo_tensor_args(-at, values, (2, 3))
t._validate_sparse_coo_tensor_args(t.ones_like(at), values, (2, 3), True)
"""

SLOPES = """
y, z = h.requires_grad_(); (y * 2 - z).to_dense().sum().backward(); h.grad.to_dense()
x = s.requires_grad_(); x.unbind(1)[1].grad_fn.name()
y = t.ones(2, 4, 2).requires_grad_(); batch.bmm(y).sum().backward(); y.grad
x = batch.requires_grad_(); x.bmm(t.ones(2, 4, 2)).sum().backward(); x.grad.to_dense()
"""


@pytest.mark.parametrize("line", MADE.strip().splitlines())
def test_made_tensors_hold_the_same(line: str):
    check_line(
        f"found = {line}; [found.to_dense(), found.dtype, found.sparse_dim(), "
        "found.is_coalesced()]",
        SETUP,
    )


@pytest.mark.parametrize("line", PLAIN.strip().splitlines())
def test_what_is_dense_or_refused(line: str):
    check_line(line, SETUP)


@pytest.mark.parametrize("line", SLOPES.strip().splitlines())
def test_gradients_of_products_and_rows(line: str):
    check_line(line, SETUP)


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_real_parts_of_complex_values_are_copied():
    numbers = gradtape.tensor([0, 2 + 1j]).to_sparse()
    assert numbers.float().to_dense().tolist() == [0, 2]
    into = gradtape.zeros(2).to_sparse()
    assert into.copy_(numbers).to_dense().tolist() == [0, 2]
