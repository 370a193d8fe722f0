"""Dual numbers: levels, packing, views and writes, and both modes at once."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import gradtape as gt
from gradtape.autograd import forward_ad as fw

from ..ops.functions import make
from ..oracle import assert_same


def plain(tensor: Any) -> Any:
    """Return what both engines must agree on; how a tangent was computed is free."""
    if tensor is None:
        return None
    return {
        "dtype": str(tensor.dtype),
        "stride": list(tensor.stride()),
        "requires_grad": tensor.requires_grad,
        "values": tensor.detach().tolist(),
    }


def dual(m: Any, primal: Any, tangent: Any, **options: Any) -> Any:
    return m.autograd.forward_ad.make_dual(
        m.tensor(primal, **options), m.tensor(tangent)
    )


def tangent_of(m: Any, tensor: Any) -> Any:
    return plain(m.autograd.forward_ad.unpack_dual(tensor).tangent)


# ---- levels ----


def test_level_numbers_and_nesting_are_as_in_pytorch():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        said: list[Any] = [forward._current_level]
        with forward.dual_level() as level:
            said += [level, forward._current_level]
            try:
                forward.enter_dual_level()
            except RuntimeError as error:
                said.append(str(error))
        return [*said, forward._current_level]

    assert_same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m, f, x: f.make_dual(x, m.ones(3)),
        lambda m, f, x: f.make_dual(m.ones(2, dtype=m.int64), x),
        lambda m, f, x: f.make_dual(x, m.ones(2, dtype=m.int64)),
        lambda m, f, x: f.make_dual(f.make_dual(x, m.ones(2)), m.ones(2)),
        lambda m, f, x: f.make_dual(x, f.make_dual(x, m.ones(2))),
        lambda m, f, x: f.make_dual(x, m.ones(2), level=1),
        lambda m, f, x: f.exit_dual_level(level=3),
        lambda m, f, x: f.unpack_dual(3),
        lambda m, f, x: m.add(f.make_dual(x, m.ones(2)), 1, out=m.zeros(2)),
        lambda m, f, x: m.add(x, 1, out=f.make_dual(x, m.ones(2))),
    ],
)
def test_refusals_inside_a_level_are_in_pytorch_words(wrong: Any):
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        with forward.dual_level():
            return wrong(m, forward, m.ones(2))

    assert_same(program)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m, f: f.make_dual(m.ones(2), m.ones(2)),
        lambda m, f: f.exit_dual_level(),
    ],
)
def test_refusals_outside_a_level_are_in_pytorch_words(wrong: Any):
    assert_same(lambda m: wrong(m, m.autograd.forward_ad))


def test_tangents_end_with_their_level():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        with forward.dual_level():
            x = dual(m, [1.0, 2.0], [3.0, 4.0])
            y = x * x
            inside = tangent_of(m, y)
        after = forward.unpack_dual(y)
        with forward.dual_level():
            again = [tangent_of(m, x), tangent_of(m, y)]
        return inside, after.tangent, after.primal is y, again

    assert_same(program)


def test_dual_level_decorates():
    @fw.dual_level()
    def slope(x: Any) -> Any:
        return fw.unpack_dual(fw.make_dual(x, gt.ones(2)).exp()).tangent

    assert slope(gt.zeros(2)).tolist() == [1.0, 1.0]
    assert fw._current_level == -1


def test_tangents_can_be_switched_off():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        with forward.dual_level():
            x = dual(m, [1.0], [1.0])
            with forward._set_fwd_grad_enabled(False):
                hidden = [tangent_of(m, x), forward._is_fwd_grad_enabled()]
                y = x * 2
            return hidden, tangent_of(m, x), tangent_of(m, y)

    assert_same(program)


def test_functions_run_with_tangents_switched_off():
    def program(m: Any) -> Any:
        enabled = m.autograd.forward_ad._is_fwd_grad_enabled
        seen = list[bool]()

        def forward(ctx: Any, x: Any) -> Any:
            seen.append(enabled())
            return x * 2

        make(m, forward).apply(m.ones(2))
        return [*seen, enabled()]

    assert_same(program)


# ---- packing ----


def test_a_dual_is_a_view_that_shares_memory_and_version():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        x, v = m.ones(2, requires_grad=True), m.ones(2)
        with forward.dual_level():
            d = forward.make_dual(x, v)
            primal, tangent = forward.unpack_dual(d)
            facts = [d._is_view(), d._base is x, tangent is v]
            facts += [primal._is_view(), primal._base is x, d._version]
            return facts, d, primal, forward.unpack_dual(x).tangent

    assert_same(program)


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda m: (m.ones(2, 2), m.ones(2, 2)), True),
        (lambda m: (m.ones(2, 2).t(), m.ones(2, 2)), False),
        (lambda m: (m.ones(2, 2), m.ones(2, 2).t()), False),
        (lambda m: (m.ones(5)[1:3], m.ones(2)), False),
        (lambda m: (m.ones(5)[1:3], m.zeros(5)[1:3]), True),
        (lambda m: (m.ones(5)[1:3], m.zeros(5)[2:4]), False),
        (lambda m: (m.ones(1, 2), m.ones(2, 1).t()), True),
        (lambda m: (m.ones(0, 3), m.ones(3, 0).t()), True),
    ],
)
def test_a_tangent_that_lies_otherwise_is_copied(make: Any, kept: bool):
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        x, v = make(m)
        with forward.dual_level():
            tangent = forward.unpack_dual(forward.make_dual(x, v)).tangent
            same = tangent is v
            return same, tangent.stride(), tangent.storage_offset(), tangent.tolist()

    assert_same(program)
    assert program(gt)[0] is kept


def test_dual_tensors_print_their_tangent():
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [1.0, 2.0], [3.0, 4.0])
            return repr(x), repr(m.autograd.forward_ad.unpack_dual(x).primal)

    assert_same(program)


def test_detach_leaves_the_tangent_behind():
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [1.0], [1.0], requires_grad=True)
            copy = x.clone()
            copy.detach_()
            return [
                tangent_of(m, each)
                for each in (
                    x.detach(),
                    x.data,
                    copy,
                    x.clone(),
                    x.double(),
                    x.to("cpu"),
                )
            ]

    assert_same(program)


# ---- with reverse mode ----


def test_tangents_are_differentiable_backward():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        x = m.tensor([0.5, 1.5], requires_grad=True)
        v = m.tensor([2.0, -1.0], requires_grad=True)
        with forward.dual_level():
            y = (forward.make_dual(x, v).sin() * x).exp()
            primal, tangent = forward.unpack_dual(y)
            found = m.autograd.grad(tangent.sum(), (x, v), retain_graph=True)
            return plain(tangent), found, m.autograd.grad(primal.sum(), x)

    assert_same(program)


def test_gradients_carry_tangents():
    def program(m: Any) -> Any:
        forward = m.autograd.forward_ad
        x = m.tensor([0.5, 1.5], requires_grad=True)
        with forward.dual_level():
            d = forward.make_dual(x, m.tensor([1.0, 2.0]))
            y = (d.exp() * d.sigmoid()).sum()
            (kept,) = m.autograd.grad(y, x, retain_graph=True)
            (taped,) = m.autograd.grad(y, x, create_graph=True)
            y.backward()
            return [tangent_of(m, t) for t in (kept, taped, x.grad)]

    assert_same(program)


def test_both_hessians_agree():
    x = gt.tensor([0.3, -0.7, 1.1], dtype=gt.float64)

    def f(x: Any) -> Any:
        return (x.exp() * x.roll(1).tanh()).sum() + (x[0] * x[1:]).prod()

    forward_over_reverse = gt.func.jacfwd(gt.func.jacrev(f))(x)
    reverse_over_forward = gt.func.jacrev(gt.func.jacfwd(f))(x)
    reverse_twice = gt.autograd.functional.hessian(f, x)
    assert gt.allclose(forward_over_reverse, reverse_over_forward)
    assert gt.allclose(forward_over_reverse, reverse_twice)


def test_no_grad_does_not_stop_tangents():
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [1.0, 2.0], [1.0, 1.0], requires_grad=True)
            with m.no_grad():
                y = x.exp() * 3
                y += x
            with m.inference_mode():
                z = x * x
            return [tangent_of(m, t) for t in (y, z)]

    assert_same(program)


def test_saved_results_keep_their_tangents():
    # exp, tanh and softmax save what they return, as bare memory.
    def program(m: Any) -> Any:
        x = m.tensor([0.5, 1.5, 2.5], requires_grad=True)
        with m.autograd.forward_ad.dual_level():
            d = m.autograd.forward_ad.make_dual(x, m.tensor([1.0, 2.0, 3.0]))
            y = d.exp().tanh().softmax(0).prod()
            (found,) = m.autograd.grad(y, x)
            return tangent_of(m, found)

    assert_same(program, rtol=1e-4)


def test_a_custom_function_brings_its_own_jvp():
    def program(m: Any) -> Any:
        class Cube(m.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_forward(x)
                return x**3

            @staticmethod
            def jvp(ctx: Any, tangent: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 3 * x**2 * tangent

        class NoRule(m.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

        with m.autograd.forward_ad.dual_level():
            x = dual(m, [1.0, 2.0], [1.0, 10.0])
            return tangent_of(m, Cube.apply(x)), NoRule.apply(x)

    assert_same(program)


def test_an_op_without_a_derivative_refuses_tangents_as_pytorch_does():
    def program(m: Any) -> Any:
        with m.autograd.forward_ad.dual_level():
            x = dual(m, [0.5, 1.5], [1.0, 1.0])
            with pytest.raises(NotImplementedError) as refusal:
                m.igamma(x, x)
        return str(refusal.value).splitlines()[0]

    assert_same(program)


FACTORS = {
    "cholesky": lambda t, x: [t.linalg.cholesky(x)],
    "cholesky, upper": lambda t, x: [t.linalg.cholesky(x, upper=True)],
    "cholesky_ex": lambda t, x: [t.linalg.cholesky_ex(x).L],
    "eigvalsh": lambda t, x: [t.linalg.eigvalsh(x)],
    "eigh": lambda t, x: [t.linalg.eigh(x)[0], t.linalg.eigh(x)[1].abs()],
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", FACTORS)
def test_asymmetric_tangents_are_taken_as_they_come(name: str, kind: str):
    def program(torch: Any) -> Any:
        x = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
        tangent = torch.tensor([[1.0, 2.0, 3.0], [-4.0, 5.0, 6.0], [7.0, -8.0, 9.0]])
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            pair = [each.to(getattr(torch, kind)) for each in (x, tangent)]
            found = FACTORS[name](torch, forward.make_dual(*pair))
            tangents = [forward.unpack_dual(each).tangent for each in found]
            return [each.resolve_conj().tolist() for each in tangents]

    assert_same(program)


@pytest.mark.parametrize("first", [-1000.0, -60.0, 0.5])
def test_tangents_of_logcumsumexp_are_slopes_far_below_the_largest(first: float):
    x = gt.tensor([[first, first - 1], [0.0, 1.0]], dtype=gt.float64)
    t = gt.tensor([[2.0, 3.0], [4.0, -5.0]], dtype=gt.float64)
    with fw.dual_level():
        found = fw.unpack_dual(gt.logcumsumexp(fw.make_dual(x, t), 0)).tangent
    assert found is not None
    assert found[0].tolist() == t[0].tolist()
    assert gt.allclose(found[1], (x.softmax(0) * t).sum(0), rtol=1e-12)


# ---- memory ----


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_of_values_unpooled_into_one_place_the_last_has_a_tangent(dims: int):
    shape = (1, 1, *(2,) * dims)  # where PyTorch's threads race for which is the last
    x = gt.arange(2.0**dims).view(shape)
    places = gt.zeros(shape, dtype=gt.int64)
    unpool = getattr(gt.nn.functional, f"max_unpool{dims}d")
    with fw.dual_level():
        found = fw.unpack_dual(unpool(fw.make_dual(x, x + 3), places, 2))
        assert found.primal.flatten()[:2].tolist() == [2**dims - 1, 0]
        assert found.tangent.flatten()[:2].tolist() == [2**dims + 2, 0]
        assert found.tangent.count_nonzero() == 1


def test_a_level_keeps_no_tangent_alive():
    with fw.dual_level():
        tangent = gt.ones(2)
        seen = weakref.ref(tangent)
        x = fw.make_dual(gt.ones(2), tangent)
        del tangent
        assert seen() is not None
        del x
        assert seen() is None


@pytest.mark.usefixtures("no_collector")
def test_leaving_a_level_frees_graphs_that_tangents_close_into_rings():
    with fw.dual_level():
        v = gt.ones(3, requires_grad=True)
        y = fw.make_dual(gt.ones(3, requires_grad=True), v).exp()
        z = y * y  # y's tangent leads to a node that saves y
        fw.unpack_dual(z)
        seen = [weakref.ref(t) for t in (y, z)]
        del y, z
    assert [each() for each in seen] == [None, None]
