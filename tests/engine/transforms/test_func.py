"""Transforms of functions side by side with PyTorch's, and nested in each other."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import gradtape as gt

from ..ops.functions import square
from ..oracle import assert_same


class Point(NamedTuple):
    """A tree, as users write them."""

    x: Any
    y: Any


def plain(value: Any) -> Any:
    """Return numbers and flags; which nodes computed a derivative is free."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *[plain(each) for each in value]]
    if hasattr(value, "detach"):
        tensor = value.detach()
        return [str(tensor.dtype), value.requires_grad, tensor.tolist()]
    return value


def same(program: Callable[[Any], Any], *, rtol: float = 1e-5) -> None:
    def quiet(m: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.jit is deprecated, it says
            return plain(program(m))

    assert_same(quiet, rtol=rtol)


def data(m: Any, *shape: int, **options: Any) -> Any:
    count = 1
    for n in shape:
        count *= n
    values = [((7 * i) % 11) / 5 - 0.9 for i in range(count)]
    return m.tensor(values, dtype=m.float64, **options).reshape(shape)


def weird(m: Any) -> Callable[..., Any]:
    return lambda x, y=2.0: (x.sin() * y + (x * x).exp()).sum()


# ---- one transform ----


@pytest.mark.parametrize("name", ["grad", "grad_and_value"])
def test_grad_of_trees_and_argnums(name: str):
    def program(m: Any) -> Any:
        transform = getattr(m.func, name)
        x, y = data(m, 3), data(m, 3) + 2

        def f(a: Any, b: Any, *, scale: float = 1.0) -> Any:
            return (a["u"] * b.exp() * scale + a["v"][0]).sum()

        tree = {"u": x, "v": [y]}
        return [
            transform(weird(m))(x),
            transform(f)(tree, y),
            transform(f, argnums=1)(tree, y, scale=3.0),
            transform(f, argnums=(1, 0))(tree, y),
            transform(f, argnums=-1)(tree, y),
            transform(lambda p: (p.x * p.y).sum())(Point(x, y)),
            transform(lambda d: (d["a"] ** 2).sum())(OrderedDict(a=x)),
            transform(lambda x: (x.sum(), (x * 2, [y])), has_aux=True)(x),
            transform(lambda x: y.sum())(x),
        ]

    same(program)


def test_vjp_of_trees_of_outputs():
    def program(m: Any) -> Any:
        x, y = data(m, 3), data(m, 2, 3)
        output, pull = m.func.vjp(lambda x, y: {"a": x * y, "b": (y.sum(),)}, x, y)
        first = pull({"a": m.ones_like(y), "b": (m.tensor(2.0, dtype=m.float64),)})
        again = pull({"a": y, "b": (m.tensor(0.0, dtype=m.float64),)})
        value, pull, aux = m.func.vjp(lambda x: (x.exp(), x * 3), x, has_aux=True)
        return output, first, again, value, pull(x), aux

    same(program)


def test_jvp_of_trees():
    def program(m: Any) -> Any:
        x, v = data(m, 3), data(m, 3) * 2
        jvp = m.func.jvp
        return [
            jvp(weird(m), (x,), (v,)),
            jvp(lambda a, b: (a * b, [a.exp()]), (x, v), (v, x)),
            jvp(lambda d: d["a"] * 2, ({"a": x},), ({"a": v},)),
            jvp(lambda x: (x.sin(), x * 5), (x,), (v,), has_aux=True),
            jvp(lambda x: m.ones(2), (x,), (v,)),
            jvp(lambda x: x, (x,), (v,)),
        ]

    same(program)


def test_linearize_is_the_jvp():
    def program(m: Any) -> Any:
        x, v = data(m, 3), data(m, 3) * 2
        output, push = m.func.linearize(lambda a, b: a.sin() * b + a[0], x, v)
        return output, push(v, x), push(x, x), push(m.zeros_like(x), v)

    same(program)


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_of_trees(name: str):
    def program(m: Any) -> Any:
        jacobian = getattr(m.func, name)
        x, y = data(m, 3), data(m, 2, 2)

        def f(x: Any, y: Any) -> Any:
            return {"a": x.outer(y[0]) * y.sum(), "b": (y @ y, x.prod())}

        return [
            jacobian(m.sin)(x),
            jacobian(f)(x, y),
            jacobian(f, argnums=1)(x, y),
            jacobian(f, argnums=(0, 1))(x, y),
            jacobian(lambda t: t["p"] * t["q"][0])({"p": x, "q": [x.exp()]}),
            jacobian(lambda x: (x.exp(), (x * 2,)), has_aux=True)(x),
            jacobian(lambda x: x.sum())(data(m)),
            jacobian(lambda x: m.ones(2, dtype=m.float64))(x),
        ]

    same(program)


def test_jacrev_in_chunks_is_the_same():
    x = data(gt, 5)
    whole = gt.func.jacrev(weird(gt))(x)
    for chunk_size in (1, 2, 7):
        assert gt.equal(gt.func.jacrev(weird(gt), chunk_size=chunk_size)(x), whole)


def test_hessians():
    def program(m: Any) -> Any:
        x, y = data(m, 3), data(m, 2)

        def f(x: Any, y: Any) -> Any:
            return (x.exp().outer(y.sin()) ** 2).sum()

        return [
            m.func.hessian(weird(m))(x),
            m.func.hessian(f, argnums=1)(x, y),
            m.func.hessian(f, argnums=(0, 1))(x, y),
        ]

    same(program)


# ---- refusals ----

WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vector output": lambda f, m, x: f.grad(m.sin)(x),
    "no tensor output": lambda f, m, x: f.grad(lambda x: 3.0)(x),
    "no aux": lambda f, m, x: f.grad(lambda x: x.sum(), has_aux=True)(x),
    "aux is a number": lambda f, m, x: f.grad(lambda x: (x.sum(), 3), has_aux=True)(x),
    "argnum too big": lambda f, m, x: f.grad(m.sum, argnums=1)(x),
    "argnum no int": lambda f, m, x: f.grad(m.sum, argnums=0.5)(x),
    "argnums a list": lambda f, m, x: f.grad(m.sum, argnums=[0])(x),
    "argnums empty": lambda f, m, x: f.grad(m.sum, argnums=())(x),
    "argnums twice": lambda f, m, x: f.grad(m.add, argnums=(0, 0))(x, x),
    "argnums of strings": lambda f, m, x: f.grad(m.add, argnums=("a",))(x, x),
    "grad of a number": lambda f, m, x: f.grad(lambda x: x)(3.0),
    "grad of integers": lambda f, m, x: f.grad(m.sum)(m.arange(3)),
    "vjp no output": lambda f, m, x: f.vjp(lambda x: None, x),
    "vjp empty output": lambda f, m, x: f.vjp(lambda x: (), x),
    "vjp number": lambda f, m, x: f.vjp(lambda x: (x, 1), x),
    "vjp integers": lambda f, m, x: f.vjp(lambda x: x.argmax(), x),
    "vjp no aux": lambda f, m, x: f.vjp(m.sin, x, has_aux=True),
    "cotangent tree": lambda f, m, x: f.vjp(m.sin, x)[1]((x,)),
    "jvp list": lambda f, m, x: f.jvp(m.sin, [x], (x,)),
    "jvp trees": lambda f, m, x: f.jvp(m.sin, (x,), (x, x)),
    "jvp nothing": lambda f, m, x: f.jvp(m.sin, (), ()),
    "jvp number": lambda f, m, x: f.jvp(m.sin, (3.0,), (x,)),
    "jvp number tangent": lambda f, m, x: f.jvp(m.sin, (x,), (3.0,)),
    "jvp shape": lambda f, m, x: f.jvp(m.sin, (x,), (x[:1],)),
    "jvp output": lambda f, m, x: f.jvp(lambda x: 3, (x,), (x,)),
    "jvp no output": lambda f, m, x: f.jvp(lambda x: None, (x,), (x,)),
    "jvp no aux": lambda f, m, x: f.jvp(m.sin, (x,), (x,), has_aux=True),
    "jvp aux number": lambda f, m, x: f.jvp(
        lambda x: (x, "a"), (x,), (x,), has_aux=True
    ),
    "jvp strict": lambda f, m, x: f.jvp(lambda x: m.ones(1), (x,), (x,), strict=True),
    "jacrev chunk": lambda f, m, x: f.jacrev(m.sin, chunk_size=0),
    "jacrev complex": lambda f, m, x: f.jacrev(m.sin)(x * 1j),
    "jacrev complex out": lambda f, m, x: f.jacrev(lambda x: x * 1j)(x),
    "jacfwd complex": lambda f, m, x: f.jacfwd(m.sin)(x, x * 1j),
    "jacfwd complex out": lambda f, m, x: f.jacfwd(lambda x: x * 1j)(x),
    "linear tree": lambda f, m, x: f.linearize(m.sin, x)[1](x, x),
    "linear shape": lambda f, m, x: f.linearize(m.sin, x)[1](x[:1]),
    "linear dtype": lambda f, m, x: f.linearize(m.sin, x)[1](x.float()),
    "backward inside": lambda f, m, x: f.grad(lambda x: x.sum().backward())(x),
    "retain_grad inside": lambda f, m, x: f.grad(lambda x: x.exp().retain_grad())(x),
    "requires_grad_ inside": lambda f, m, x: f.vjp(lambda x: x.requires_grad_(), x),
    "functionalize of an old Function": lambda f, m, x: f.functionalize(
        square(m).apply
    )(x),
    "write to the input": lambda f, m, x: f.grad(lambda x: x.mul_(2).sum())(x),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_refusals_are_in_pytorch_words(wrong: Callable[[Any, Any, Any], Any]):
    same(lambda m: wrong(m.func, m, data(m, 2)))


# ---- transforms in transforms ----

NESTED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad grad": lambda f, m, x: f.grad(f.grad(m.sin))(x[0]),
    "grad thrice": lambda f, m, x: f.grad(f.grad(f.grad(lambda x: x**4)))(x[0]),
    "jvp jvp": lambda f, m, x: f.jvp(
        lambda x: f.jvp(m.exp, (x * 2,), (x,))[1], (x,), (x,)
    ),
    "grad of jvp": lambda f, m, x: f.grad(
        lambda x: f.jvp(m.sin, (x,), (x * 2,))[1].sum()
    )(x),
    "jvp of grad": lambda f, m, x: f.jvp(f.grad(weird(m)), (x,), (x + 1,)),
    "vjp of vjp": lambda f, m, x: f.vjp(lambda x: f.vjp(m.exp, x)[1](x)[0], x)[1](x),
    "vjp by cotangent": lambda f, m, x: f.grad(
        lambda v: (f.vjp(m.exp, x)[1](v)[0] ** 2).sum()
    )(x),
    "rev rev": lambda f, m, x: f.jacrev(f.jacrev(weird(m)))(x),
    "fwd fwd": lambda f, m, x: f.jacfwd(f.jacfwd(weird(m)))(x),
    "rev fwd": lambda f, m, x: f.jacrev(f.jacfwd(weird(m)))(x),
    "fwd rev fwd": lambda f, m, x: f.jacfwd(f.jacrev(f.jacfwd(m.exp)))(x[:2]),
    "grad in vmap": lambda f, m, x: f.vmap(f.grad(lambda x: x.sin()))(x),
    "vmap in grad": lambda f, m, x: f.grad(lambda x: f.vmap(m.exp)(x).prod())(x),
    "jvp in vmap": lambda f, m, x: f.vmap(lambda a: f.jvp(m.exp, (a,), (a,)))(x),
    "vmap in jvp": lambda f, m, x: f.jvp(f.vmap(lambda a: a * a), (x,), (x,)),
    "hessian in vmap": lambda f, m, x: f.vmap(f.hessian(weird(m)))(x.reshape(2, 2)),
    "linearize in grad": lambda f, m, x: f.grad(
        lambda x: f.vjp(lambda y: y * x.exp(), x)[1](x)[0].sum()
    )(x),
    "confusion of grads": lambda f, m, x: f.grad(
        lambda a: a * f.grad(lambda b: a + b)(x[1])
    )(x[0]),
    "confusion of jvps": lambda f, m, x: f.jvp(
        lambda a: a * f.jvp(lambda b: a + b, (x[1],), (x[2],))[1], (x[0],), (x[3],)
    ),
    "captured constant": lambda f, m, x: f.grad(
        lambda a: f.grad(lambda b: b * b * a)(x[1]) * a
    )(x[0]),
    "no_grad inside": lambda f, m, x: f.grad(
        lambda x: (x**2 - m.no_grad()(lambda: x**2)()).sum()
    )(x),
    "views and writes": lambda f, m, x: f.jacfwd(_writes)(x),
    "views and writes back": lambda f, m, x: f.jacrev(_writes)(x),
}


def _writes(x: Any) -> Any:
    y = x.clone()
    y[1:] *= y[:-1].clone()
    y.view(2, 2).t()[0].add_(x[0])
    return y


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED.keys())
def test_nested_transforms(nested: Callable[[Any, Any, Any], Any]):
    same(lambda m: nested(m.func, m, data(m, 4)), rtol=1e-4)


# ---- what is recorded outside ----


def test_results_are_recorded_only_for_what_is_differentiated_outside():
    def program(m: Any) -> Any:
        x, w = data(m, 3), data(m, 3, requires_grad=True)
        f = m.func
        found = [
            f.grad(lambda x: (x * x).sum())(x),
            f.grad(lambda x: (x * w).sum())(x),
            f.grad(lambda x: (x * w.detach()).sum())(x),
            f.grad(lambda x: (x * x).sum())(w),
            f.grad_and_value(lambda x: (x * w).sum())(x),
            f.vjp(lambda x: x * w, x)[0],
            f.vjp(m.exp, x)[1](w),
            f.jvp(lambda x: x * w, (x,), (x,)),
            f.jacrev(lambda x: x * w)(x),
            f.linearize(m.exp, x)[1](x),
        ]
        with m.no_grad():
            found += [
                f.grad(lambda x: (x * w).sum())(w),
                f.vjp(m.exp, w)[0],
                f.vjp(m.exp, w)[1](x),
            ]
        return found

    same(program)


def test_gradients_flow_through_transforms_to_outside():
    def program(m: Any) -> Any:
        x, w = data(m, 3), data(m, 3, requires_grad=True)
        inner = m.func.grad(lambda x: (x * w.exp()).pow(2).sum())(x)
        jacobian = m.func.jacrev(lambda w: w.sin() * w)(w)
        pushed = m.func.jvp(m.exp, (w,), (x,))[1]
        total = inner.sum() + jacobian.pow(2).sum() + pushed.sum()
        total.backward()
        return w.grad, x.grad

    same(program)


def test_saved_tensor_hooks_are_refused_inside():
    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            with m.autograd.graph.save_on_cpu():
                return x.sin().sum()

        return m.func.grad(f)(data(m, 2))

    same(program)
