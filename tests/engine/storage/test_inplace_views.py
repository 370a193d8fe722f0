"""In-place writes, versions and views, side by side with PyTorch."""

from __future__ import annotations

import pytest

import gradtape as gt

from ..oracle import assert_same


def write_through_view(t):
    x = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    row = y[0]
    row.mul_(10)
    y.sum().backward()
    return x.grad, y, row, y._version


def write_through_base(t):
    x = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    v = y.view(2, 2)
    y.mul_(3)
    (v * v).sum().backward()
    return v, x.grad


def setitem(t):
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = t.tensor([5.0], requires_grad=True)
    y = x * 2
    y[1] = w[0] * 3
    (y * y).sum().backward()
    return y, x.grad, w.grad


def setitem_of_a_number(t):
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1:] = 0
    y.sum().backward()
    return y, x.grad


def write_to_plain_buffer(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    out = t.zeros(4)
    out[:2] = x
    out[2:] = x * 2
    (out * out).sum().backward()
    return out, x.grad


def view_made_before_base_needs_grad(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    base = t.zeros(2)
    view = base[:1]
    base.add_(x)
    return view.requires_grad, view


def chain_of_views(t):
    x = t.arange(6.0).requires_grad_()
    y = x * 1
    v = y.view(2, 3)[1:, ::2]
    v.add_(100)
    (y * y).sum().backward()
    return v, y, x.grad


def double_backward_through_copyslices(t):
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y[1].mul_(x[0])
    (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g.tolist(), h


def saved_input_overwritten(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


def saved_output_overwritten(t):
    y = t.tensor([1.0, 2.0], requires_grad=True).exp()
    y.mul_(2)
    y.sum().backward()


def disjoint_slices_share_a_counter(t):
    y = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1
    z = y[0].exp()
    z2 = y[0] * y[0]
    y[1].mul_(2)
    (z.sum() + z2.sum()).backward()


def leaf_written(t):
    t.ones(2, requires_grad=True).add_(1)


def view_of_leaf_written(t):
    t.ones(2, requires_grad=True)[0].add_(1)


def leaf_written_under_no_grad(t):
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        x.add_(1)
    return x


def no_grad_view_written(t):
    y = t.ones(2, requires_grad=True) * 1
    with t.no_grad():
        v = y[0]
    v.add_(1)


def multi_output_view_written(t):
    y = t.ones(4, requires_grad=True) * 1
    a, _ = y.split(2)
    a.add_(1)


def expanded_written(t):
    t.ones(1).expand(3).add_(1)


def result_does_not_fit(t):
    t.ones(2).add_(t.ones(3, 2))


def result_type_does_not_fit(t):
    t.ones(2, dtype=t.int64).add_(1.5)


def integer_divided_in_place(t):
    t.ones(2, dtype=t.int64).div_(2)


def versions(t):
    x = t.zeros(3)
    v, d = x[1:], x.detach()
    data = x.data
    before = x._version
    v.add_(1)
    d.add_(1)
    after = x._version
    data.add_(1)
    return before, after, x._version, v._version, d._version, data._version, x


def detach_shares_memory(t):
    x = t.ones(2)
    x.detach().add_(1)
    return x, x.detach()._is_view()


def inplace_on_clone(t):
    x = t.ones(2, requires_grad=True)
    y = x.clone()
    y.mul_(3)
    y.sum().backward()
    return y, x.grad


def mul_by_itself(t):
    x = t.tensor([2.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    return y, x.grad


def operand_needs_grad_target_does_not(t):
    w = t.tensor([2.0], requires_grad=True)
    out = t.ones(1)
    out.mul_(w)
    out.sum().backward()
    return out, w.grad


def data_assigned(t):
    x = t.ones(2, requires_grad=True)
    x.data = t.zeros(2)
    return x, x.requires_grad


def as_strided_overlap(t):
    x = t.arange(4.0).requires_grad_()
    v = (x * 1).as_strided((3, 2), (1, 1))
    (v * v).sum().backward()
    return v, x.grad


def as_strided_of_a_view(t):
    x = t.arange(6.0).requires_grad_()
    v = (x * 2)[2:].as_strided((2,), (2,), 1)
    (v * v).sum().backward()
    return v, x.grad


def transpose_written(t):
    x = t.ones(2, 3, requires_grad=True)
    y = x * 1
    y.t().mul_(t.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    (y * y).sum().backward()
    return y, x.grad


def dtype_changed_views(t):
    y = t.ones(4, requires_grad=True) * 2 + 0j
    real, pairs = y.real[1:], t.view_as_real(y)
    y.mul_(3)
    pairs[:, 0].mul_(2)
    (real.sum() + pairs.sum()).backward()
    return y, real, pairs, names_to_the_leaf(real.grad_fn)


def complex_view_written(t):
    x = t.ones(4, requires_grad=True)
    y = x * 2
    z = t.view_as_complex(y.view(2, 2))
    z.mul_(3j)
    (y * y).sum().backward()
    return y, z, x.grad, names_to_the_leaf(z.grad_fn)


def parts_assigned(t):
    w = t.ones(2, requires_grad=True)
    x = t.zeros(2, dtype=t.complex64)
    x.real = w * 2
    x.imag = 3
    x.abs().sum().backward()
    return x, x._version, w.grad


def names_to_the_leaf(node):
    names = []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def retained_grad_moves_with_the_tensor(t):
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.grad, x.grad


def retained_grad_of_a_view_whose_base_is_written(t):
    y = t.ones(2, requires_grad=True) * 2
    v = y[:1]
    v.retain_grad()
    y.mul_(3)
    (v * 5).sum().backward()
    return v.grad


def hooks_stay_with_what_was(t):
    seen = []
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    return seen


def view_made_without_grad_carries_none_back(t):
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        v = x[:1]
    y = v * 2
    return v.requires_grad, v.is_leaf, y.grad_fn.next_functions, y


def unsafe_pieces(t):
    x = t.arange(4.0).requires_grad_()
    y = x * 1
    a, b = y.unsafe_split(2)
    b.mul_(3)
    t.cat([a, b]).sum().backward()
    return y._version, b._version, b._is_view(), y, x.grad


def view_of_a_view_made_without_grad(t):
    y = t.ones(4, requires_grad=True) * 1
    with t.no_grad():
        v = y[:2]
    v[:1].add_(1)


def print_what_lost_its_history(t):
    y = t.ones(4, requires_grad=True) * 1
    with t.no_grad():
        piece = y.split(2)[0]
        piece.add_(1)
    return repr(piece)


def inplace_relu_differentiated_twice(t):
    x = t.tensor([[1.0, -1.0], [2.0, 3.0]], requires_grad=True)
    y = (x * x).view(4).relu_() ** 2
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g.tolist(), h


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name != "names_to_the_leaf"
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_write_log_names_op_version_and_line():
    x = gt.zeros(3)
    x.add_(1)
    x[0] = 5
    log = x._storage.writes
    assert [(w.op, w.version) for w in log] == [("add_", 1), ("copy_", 2)]
    assert all("test_inplace_views" in w.site[0].co_filename for w in log)


def test_write_log_is_bounded():
    x = gt.zeros(1)
    for _ in range(1000):
        x.add_(1)
    assert x._version == 1000
    assert len(x._storage.writes) <= 64


WRITES = ("sigmoid_", "tanh_", "exp_", "reciprocal_", "abs_", "square_")


@pytest.mark.parametrize("name", WRITES)
def test_second_derivatives_pass_through_a_view_that_is_gone(name: str) -> None:
    def write(root: gt.Tensor) -> gt.Tensor:
        whole = root.clone()
        getattr(whole.narrow(0, 1, 2), name)()  # the view dies here
        return whole

    root = gt.tensor([1.0, -1.0, 2.0, -2.0], dtype=gt.float64, requires_grad=True)
    assert gt.autograd.gradcheck(write, [root])
    assert gt.autograd.gradgradcheck(write, [root])
