"""vmap refuses what PyTorch cannot compute for all examples at once, in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from .._engines import OURS, Engine, needs_torch, theirs
from ..ops.functions import make

pytestmark = pytest.mark.filterwarnings(
    "ignore:There is a performance drop", "ignore:.torch.jit.script. is deprecated"
)
"""What PyTorch says of batching rules that it lacks, and of its forward mode."""

Program = Callable[[Any, Any, Any], Any]
"""From the module, one example and a tensor from outside to a result."""

READS: dict[str, Program] = {
    "item": lambda t, x, z: x * x.sum().item(),
    "item of a detached tensor": lambda t, x, z: x * x.sum().detach().item(),
    "bool": lambda t, x, z: x if x.sum() > 0 else -x,
    "any": lambda t, x, z: x if (x > 0).any() else -x,
    "max": lambda t, x, z: max(x[0], x[1]),
    "float": lambda t, x, z: x * float(x.sum()),
    "int": lambda t, x, z: x * int(x.sum()),
    "index": lambda t, x, z: x * [1, 2, 3][x.sum().long()],
    "range": lambda t, x, z: x * len(range(x.sum().long())),
    "tolist": lambda t, x, z: t.tensor(x.tolist()),
    "numpy": lambda t, x, z: t.tensor(x.numpy()),
    "data": lambda t, x, z: x.data * 2,
    "data =": lambda t, x, z: setattr(x, "data", z) or x,
    "mask": lambda t, x, z: x[x > 0],
    "nonzero": lambda t, x, z: x.nonzero(),
    "nonzero by dimension": lambda t, x, z: x.nonzero(as_tuple=True),
    "nonzero in a gradient": lambda t, x, z: t.func.grad(
        lambda y: y.sum() * y.nonzero().sum()
    )(x),
    "where": lambda t, x, z: t.where(x > 0),
    "unique": lambda t, x, z: x.unique(),
    "unique slices": lambda t, x, z: x.unique(dim=0),
    "runs": lambda t, x, z: t.unique_consecutive(x),
    "masked_select": lambda t, x, z: z.masked_select(x > 0),
    "equal": lambda t, x, z: x * t.equal(x, z),
    "allclose": lambda t, x, z: x * t.allclose(x, z),
    "item in a nested vmap": lambda t, x, z: t.vmap(lambda y: y * y.item())(x),
    "item in a gradient": lambda t, x, z: t.func.grad(
        lambda y: y.sum() * y.sum().item()
    )(x),
    "bool in a gradient": lambda t, x, z: t.func.grad(
        lambda y: y.sum() if y.sum() > 0 else -y.sum()
    )(x),
    "item of a gradient": lambda t, x, z: (
        x * t.func.grad(lambda y: (y * y).sum())(x).sum().item()
    ),
    "clone in a format": lambda t, x, z: x.clone(memory_format=t.channels_last),
    "contiguous in a format": lambda t, x, z: x.contiguous(
        memory_format=t.channels_last_3d
    ),
    "contiguous in its own order": lambda t, x, z: x.contiguous(
        memory_format=t.preserve_format
    ),
    "is_contiguous in a format": lambda t, x, z: x.is_contiguous(
        memory_format=t.channels_last
    ),
    "a format of the rank of an example": lambda t, x, z: x[None, None, None].double(
        memory_format=t.channels_last
    ),
    "another dtype in a format": lambda t, x, z: x[None, None, None].to(
        t.int32, memory_format=t.channels_last
    ),
    "zeros in a format": lambda t, x, z: t.zeros_like(
        x[None, None, None], memory_format=t.channels_last
    ),
    "a Jacobian in forward mode": lambda t, x, z: t.autograd.functional.jacobian(
        t.sum, x, strategy="forward-mode", vectorize=True
    ),
    "out=": lambda t, x, z: t.add(z, x, out=t.zeros(2)),
    "out= of what is mapped": lambda t, x, z: t.abs(z, out=x),
}

WRITES: dict[str, Program] = {
    "add_": lambda t, x, z: z.add_(x),
    "+=": lambda t, x, z: t.zeros(2).__iadd__(x),
    "mul_": lambda t, x, z: z.mul_(x),
    "copy_": lambda t, x, z: z.copy_(x),
    "fill_": lambda t, x, z: z.fill_(x[0]),
    "setitem": lambda t, x, z: t.zeros(2).__setitem__(0, x[0]),
    "setitem of a slice": lambda t, x, z: t.zeros(2).__setitem__(slice(0, 1), x[0]),
    "setitem at an index": lambda t, x, z: z.__setitem__(t.tensor([0]), x[0]),
    "index_add_": lambda t, x, z: z.index_add_(0, t.tensor([0]), x[:1]),
    "scatter_": lambda t, x, z: t.zeros(2).scatter_(0, t.tensor([0]), x[:1]),
    "scatter_add_": lambda t, x, z: z.scatter_add_(0, t.tensor([0]), x[:1]),
    "lerp_": lambda t, x, z: t.zeros(2).lerp_(x, 0.5),
    "pow_": lambda t, x, z: z.pow_(x),
    "clamp_": lambda t, x, z: t.ones(2).clamp_(x),
    "a view": lambda t, x, z: z[0].add_(x[0]),
    "nested": lambda t, x, z: t.vmap(lambda y: t.zeros(()).pow_(y))(x),
}

TAKEN: dict[str, Program] = {
    "own copy": lambda t, x, z: x.clone().add_(z),
    "own zeros": lambda t, x, z: t.zeros_like(x).add_(x),
    "new zeros": lambda t, x, z: x.new_zeros(2).copy_(x),
    "a detached tensor": lambda t, x, z: x.clone().detach().mul_(x),
    "what is looked up": lambda t, x, z: z[x.long() * 0].add_(x),
    "a gradient": lambda t, x, z: t.func.grad(lambda y: (y * y).sum())(x).add_(x),
    "in a gradient": lambda t, x, z: t.func.grad(
        lambda y: (y * 2).clone().mul_(x).sum()
    )(x),
    "in a tangent": lambda t, x, z: t.func.jvp(
        lambda y: (y * 2).clone().mul_(x), (x,), (x,)
    )[1],
    "a write through a view in a tangent": lambda t, x, z: t.func.jvp(
        lambda y, w: y[:1].copy_(w[:1]), (x.clone(), x), (x.clone(), x)
    )[1],
    "a Function with a rule": lambda t, x, z: doubling(t, generate_vmap_rule=True)(x),
    "NumPy in a Function with a rule": lambda t, x, z: _doubling_by_numpy(t)(x),
    "NumPy in the gradient of one": lambda t, x, z: t.func.grad(
        lambda y: _doubling_by_numpy(t)(y * y).sum()
    )(x),
    "shapes from outside": lambda t, x, z: x * z.nonzero().sum() + z.unique(),
    "selected with a mask from outside": lambda t, x, z: x.masked_select(z > 0),
    "item from outside": lambda t, x, z: x * z.sum().item(),
    "the gradient of what is scattered": lambda t, x, z: t.func.vjp(
        lambda y: z.masked_scatter(x > 2, y), x
    )[1](x)[0],
    "a format of what is not mapped": lambda t, x, z: (
        x + t.ones(1, 2, 2, 2).clone(memory_format=t.channels_last)
    ),
    "formats that vmap knows": lambda t, x, z: x.clone(
        memory_format=t.preserve_format
    ).contiguous(memory_format=t.contiguous_format),
    "the format of what a derivative is taken by": lambda t, x, z: t.func.grad(
        lambda y: y.sum() * y.is_contiguous(memory_format=t.channels_last)
    )(x),
    "repr": lambda t, x, z: x * len(repr(x.shape)),
    "iteration": lambda t, x, z: sum(x),
}

FUNCTIONS: dict[str, Program] = {
    "without a rule": lambda t, x, z: doubling(t)(x),
    "without a rule, in a gradient": lambda t, x, z: t.func.grad(
        lambda y: doubling(t)(y).sum()
    )(x),
    "without a rule, of what is not mapped": lambda t, x, z: x + doubling(t)(z),
    "with two rules": lambda t, x, z: doubling(
        t, generate_vmap_rule=True, vmap=staticmethod(lambda info, dims, x: (x, 0))
    )(x),
    "by name": lambda t, x, z: doubling(t, forward=staticmethod(lambda *, x: x * 2))(
        x=x
    ),
}


def doubling(t: Any, forward: Any = lambda x: x * 2, **members: Any) -> Any:
    """Return a Function's apply, and let the Function have more members."""
    members.setdefault("setup_context", staticmethod(lambda ctx, inputs, output: None))
    return make(t, forward, lambda ctx, grad: grad * 2, **members).apply


def _doubling_by_numpy(t: Any) -> Any:
    def forward(x: Any) -> Any:
        return t.tensor(x.numpy() * 2)

    def rule(info: Any, dims: Any, x: Any) -> Any:
        return apply(x), dims[0]

    apply = doubling(t, staticmethod(forward), vmap=staticmethod(rule))
    return apply


def outcome(e: Engine, program: Program, **options: Any) -> Any:
    t = e.module
    x, z = t.arange(6.0).reshape(3, 2) + 1, t.ones(2)
    try:
        return t.vmap(lambda each: program(t, each, z), **options)(x).tolist()
    except RuntimeError as error:
        return str(error)


@needs_torch
@pytest.mark.parametrize("name", READS)
def test_numbers_of_an_example_are_refused(name: str):
    found, wanted = (outcome(e, READS[name]) for e in (OURS, theirs()))
    assert isinstance(wanted, str)
    assert found == wanted


@needs_torch
@pytest.mark.parametrize("name", ["nonzero", "unique", "unique_consecutive"])
def test_functions_that_are_mapped_themselves_are_refused(name: str):
    said: list[str] = []
    for t in (OURS.module, theirs().module):
        with pytest.raises(RuntimeError) as caught:
            t.vmap(getattr(t, name))(t.ones(3, 2))
        said.append(str(caught.value))
    assert said[0] == said[1]


@needs_torch
@pytest.mark.parametrize("name", WRITES)
def test_writing_examples_into_one_tensor_is_refused(name: str):
    found, wanted = (outcome(e, WRITES[name]) for e in (OURS, theirs()))
    assert isinstance(wanted, str)
    assert found == wanted


@needs_torch
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_one_rule_for_batches(name: str):
    found, wanted = (outcome(e, FUNCTIONS[name]) for e in (OURS, theirs()))
    assert isinstance(wanted, str)
    assert found.split("Got")[0] == wanted.split("Got")[0]


@needs_torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", TAKEN)
def test_what_pytorch_takes_is_taken(name: str):
    found, wanted = (outcome(e, TAKEN[name]) for e in (OURS, theirs()))
    assert not isinstance(wanted, str)
    assert found == wanted


@needs_torch
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_different_draws_into_one_tensor_are_refused(where: str):
    def program(t: Any, x: Any, z: Any) -> Any:
        return x + (z if where == "outside" else t.zeros(2)).uniform_()

    found, wanted = (
        outcome(e, program, randomness="different") for e in (OURS, theirs())
    )
    assert isinstance(wanted, str)
    assert found == wanted


DRAWS: dict[str, Program] = {
    "bernoulli": lambda t, x, z: t.bernoulli(x / 9),
    "bernoulli with p": lambda t, x, z: t.bernoulli(x, 0.5),
    "bernoulli_": lambda t, x, z: x.clone().bernoulli_(x / 9),
    "bernoulli_ of shared": lambda t, x, z: z.bernoulli_(x / 9),
    "poisson": lambda t, x, z: t.poisson(x),
    "multinomial": lambda t, x, z: t.multinomial(x, 1),
    "normal mean": lambda t, x, z: t.normal(x, 1.0),
    "normal deviation": lambda t, x, z: t.normal(1.0, x),
    "normal": lambda t, x, z: t.normal(z, x),
    "binomial": lambda t, x, z: t.binomial(x, z / 2),
    "gamma": lambda t, x, z: t._standard_gamma(x),
    "dirichlet": lambda t, x, z: t._sample_dirichlet(x),
}


@needs_torch
@pytest.mark.parametrize("name", DRAWS)
def test_one_draw_cannot_serve_examples_that_differ(name: str):
    found, wanted = (
        outcome(e, DRAWS[name], randomness="same") for e in (OURS, theirs())
    )
    assert isinstance(wanted, str)
    assert found == wanted


@needs_torch
def test_draws_from_what_is_shared_are_taken():
    def program(t: Any, x: Any, z: Any) -> Any:
        return x * 0 + t.poisson(z * 0) + t.zeros(2).bernoulli_(z) + t.normal(z, 0.0)

    found, wanted = (outcome(e, program, randomness="same") for e in (OURS, theirs()))
    assert found == wanted == [[2.0, 2.0]] * 3


@needs_torch
def test_draws_for_each_example_need_a_tensor_for_each():
    found, wanted = (
        outcome(e, DRAWS["bernoulli_ of shared"], randomness="different")
        for e in (OURS, theirs())
    )
    assert isinstance(wanted, str)
    assert found == wanted


def test_after_vmap_nothing_is_watched():
    with pytest.raises(RuntimeError, match=r"\.item\(\)"):
        gradtape.vmap(lambda x: x * x.item())(gradtape.ones(2))
    x = gradtape.ones(3)
    assert gradtape.vmap(lambda y: y * 2)(x).sum().item() == 6.0
    assert x.sum().item() == 3.0


def test_examples_are_watched_where_classes_may_answer_for_methods():
    class Answering(gradtape.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs or {})

    assert gradtape.ones(2).as_subclass(Answering).sum().item() == 2.0
    with pytest.raises(RuntimeError, match=r"\.item\(\)"):
        gradtape.vmap(lambda x: x * x.item())(gradtape.ones(2))
