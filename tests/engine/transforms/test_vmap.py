"""vmap and trees side by side with PyTorch's."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same
from .test_func import Point, data, same

GOOD: dict[str, Callable[[Any, Any], Any]] = {
    "one input": lambda m, x: m.vmap(m.sin)(x),
    "last dimension": lambda m, x: m.vmap(m.sum, in_dims=-1)(x),
    "two inputs": lambda m, x: m.vmap(m.dot)(x, x + 1),
    "other dimensions": lambda m, x: m.vmap(m.mul, in_dims=(0, 1))(x, x.t() * 2),
    "one shared": lambda m, x: m.vmap(m.add, in_dims=(0, None))(x, x[0]),
    "number shared": lambda m, x: m.vmap(m.mul, in_dims=(0, None))(x, 3),
    "keyword": lambda m, x: m.vmap(lambda a, k: a @ k)(x, k=x.t()),
    "tree in": lambda m, x: m.vmap(lambda d, t: d["a"] * d["b"][0] + t[0])(
        {"a": x, "b": [x]}, (x,)
    ),
    "tree of dimensions": lambda m, x: m.vmap(
        lambda d: d["a"].sum() * d["b"], in_dims=({"a": 1, "b": None},)
    )({"a": x, "b": x[0]}),
    "prefix": lambda m, x: m.vmap(lambda p, q: p[0] * p[1] + q, in_dims=((0, 0), None))(
        (x, x), x[0]
    ),
    "tree out": lambda m, x: m.vmap(lambda a: {"s": a.sum(), "t": (a, [a * 2])})(x),
    "out dimension": lambda m, x: m.vmap(lambda a: a.outer(a), out_dims=2)(x),
    "out dimension -1": lambda m, x: m.vmap(m.exp, out_dims=-1)(x),
    "out dimensions": lambda m, x: m.vmap(lambda a: (a, a.outer(a)), out_dims=(1, 2))(
        x
    ),
    "out of one": lambda m, x: m.vmap(m.exp, out_dims=(1,))(x),
    "nothing batched out": lambda m, x: m.vmap(lambda a: (a, x), out_dims=(0, None))(x),
    "no tensor out": lambda m, x: m.vmap(lambda a: (a, 3), out_dims=(0, None))(x),
    "constant": lambda m, x: m.vmap(lambda a: m.ones(2))(x),
    "nested": lambda m, x: m.vmap(m.vmap(m.mul, (0, None)), (None, 0))(x[0], x[1]),
    "no examples": lambda m, x: m.vmap(lambda a: (a.sum(), a.exp()))(x[:0]),
    "chunks": lambda m, x: m.vmap(m.exp, chunk_size=2)(x),
    "differentiated": lambda m, x: m.func.grad(
        lambda y: m.vmap(lambda a: (a * y).sum())(x).prod()
    )(x[0]),
    "writes inside": lambda m, x: m.vmap(lambda a: a.clone().mul_(2))(x),
    "partial": lambda m, x: m.vmap(functools.partial(m.mul, x[0]))(x),
    "named tuples": lambda m, x: m.vmap(lambda p: Point(p.y, p.x))(Point(x, x * 2)),
    "several results": lambda m, x: m.vmap(lambda a: a.max(0))(x),
}


VIEWS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "transposed": lambda m, x, y: m.vmap(m.t)(x),
    "a column": lambda m, x, y: m.vmap(lambda a: a[:, 1], in_dims=1, out_dims=1)(x),
    "parts": lambda m, x, y: m.vmap(lambda a: a.chunk(2))(x)[1],
    "of a view": lambda m, x, y: m.vmap(lambda a: a[1:])(x[1]),
    "expanded": lambda m, x, y: m.vmap(lambda a: a.expand(5, 4))(y),
    "real parts": lambda m, x, y: m.vmap(m.view_as_real)(m.view_as_complex(x)),
    "shared": lambda m, x, y: m.vmap(lambda a, b: b, in_dims=(0, None))(x, y),
    "part of shared": lambda m, x, y: m.vmap(lambda a, b: b[0], (0, None))(x, y),
    "nested": lambda m, x, y: m.vmap(m.vmap(lambda a: a[1:]))(x),
    "of one": lambda m, x, y: m.vmap(m.t)(x[:1]),
    "written in place": lambda m, x, y: m.vmap(lambda a: a[:1].mul_(3))(x),
    "new": lambda m, x, y: m.vmap(lambda a: a * 2)(x),
    "uneven": lambda m, x, y: m.vmap(lambda a: a.take(m.tensor([0])))(x),
}


@pytest.mark.parametrize("name", VIEWS)
def test_results_that_look_at_inputs_are_views_of_them(name: str):
    def program(m: Any) -> Any:
        x, y = m.ones(3, 2, 2), m.ones(2, 4)[:, :1].clone()
        found = VIEWS[name](m, x, y)
        facts = [found.stride(), found.storage_offset()]
        facts += [found._base is x, found._base is y]
        if "shared" not in name and name != "expanded":
            found.add_(1)
        return facts, found, x, y

    same(program)


ITSELF: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda m, x: m.vmap(lambda a: a)(x),
    "other dimensions": lambda m, x: m.vmap(lambda a: a, 1, 1)(x),
    "the last": lambda m, x: m.vmap(lambda a: a, -1, -1)(x),
    "moved": lambda m, x: m.vmap(lambda a: a, 1, 0)(x),
    "in a tree": lambda m, x: m.vmap(lambda d: (1 * d["a"], d["a"]))({"a": x})[1],
    "written to": lambda m, x: m.vmap(lambda a: a.mul_(2))(x),
    "nested": lambda m, x: m.vmap(m.vmap(lambda a: a))(x),
    "by chunks": lambda m, x: m.vmap(lambda a: a, chunk_size=2)(x),
    "another tensor": lambda m, x: m.vmap(lambda a: a.detach())(x),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ITSELF)
def test_an_input_that_comes_out_as_it_is_is_the_same_tensor(name: str, grad: bool):
    def program(m: Any) -> Any:
        x = m.ones(3, 2).requires_grad_(grad) * 1
        found = ITSELF[name](m, x)
        return found is x, found.stride(), found

    same(program)


DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda m, x: x + m.randn(20),
    "few normal": lambda m, x: m.randn(5),
    "two": lambda m, x: m.rand(3) + m.rand(3) + m.rand(()),
    "around each": lambda m, x: m.normal(x, x.abs()),
    "integers": lambda m, x: m.randint(0, 9, (4,)) + m.randint_like(x[:4], 9),
    "dropout": lambda m, x: m.nn.functional.dropout(m.nn.functional.dropout(x)),
    "in place": lambda m, x: x.clone().exponential_() + x.clone().bernoulli_(0.5),
    "complex": lambda m, x: m.randn(9, dtype=m.complex64).real,
    "nested": lambda m, x: m.vmap(
        lambda y: m.randn(2) + m.rand(()) + y, randomness="different"
    )(x),
    "the same inside": lambda m, x: m.vmap(lambda y: y + m.randn(2), randomness="same")(
        x
    ),
    "with permutations": lambda m, x: m.randperm(4),
}


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("name", DRAWS)
def test_different_draws_are_pytorchs(name: str, chunk_size: int | None):
    def program(m: Any) -> Any:
        m.manual_seed(0)
        options = {"randomness": "different", "chunk_size": chunk_size}
        found = m.vmap(lambda x: DRAWS[name](m, x), **options)(m.ones(3, 20))
        return found, m.rand(2)

    same(program)


def test_an_example_may_draw_what_the_first_did_not():
    calls: list[int] = []

    def draw(x: Any) -> Any:
        calls.append(1)
        return sum((gt.rand(4) for _ in calls), x)

    found = gt.vmap(draw, randomness="different")(gt.zeros(3, 4))
    assert found.unique().numel() == found.numel()


@pytest.mark.parametrize("program", GOOD.values(), ids=GOOD.keys())
def test_vmap_is_as_in_pytorch(program: Callable[[Any, Any], Any]):
    same(lambda m: program(m, data(m, 3, 2)))


BAD: dict[str, Callable[[Any, Any], Any]] = {
    "no inputs": lambda m, x: m.vmap(m.sin)(),
    "nothing to map": lambda m, x: m.vmap(m.sin, in_dims=None)(x),
    "nothing batched": lambda m, x: m.vmap(m.mul, in_dims=(None, None))(x, x),
    "sizes": lambda m, x: m.vmap(m.mul)(x, x.t()),
    "in_dims a float": lambda m, x: m.vmap(m.sin, in_dims=0.5)(x),
    "in_dims of floats": lambda m, x: m.vmap(m.sin, in_dims=(0.5,))(x),
    "in_dims too many": lambda m, x: m.vmap(m.sin, in_dims=(0, 0))(x),
    "in_dims a list": lambda m, x: m.vmap(m.sin, in_dims=[0])(x),
    "in_dims other tree": lambda m, x: m.vmap(m.sin, in_dims=({"a": 0},))([x]),
    "in_dim too big": lambda m, x: m.vmap(m.sin, in_dims=2)(x),
    "in_dim too small": lambda m, x: m.vmap(m.sin, in_dims=-3)(x),
    "in_dim of a number": lambda m, x: m.vmap(m.mul)(x, 3),
    "in_dim of a scalar": lambda m, x: m.vmap(m.sin)(x[0, 0]),
    "out_dims a string": lambda m, x: m.vmap(m.sin, out_dims="a")(x),
    "out_dims of strings": lambda m, x: m.vmap(m.sin, out_dims=("a",))(x),
    "out_dims too many": lambda m, x: m.vmap(m.sin, out_dims=(0, 0))(x),
    "out_dims too few": lambda m, x: m.vmap(lambda a: (a, a), out_dims=(0,))(x),
    "out_dims other tree": lambda m, x: m.vmap(
        lambda a: {"a": a}, out_dims=({"b": 0},)
    )(x),
    "out_dim None": lambda m, x: m.vmap(m.sin, out_dims=None)(x),
    "returns a number": lambda m, x: m.vmap(lambda a: 1)(x),
    "returns nothing": lambda m, x: m.vmap(lambda a: None)(x),
    "returns a mix": lambda m, x: m.vmap(lambda a: (a, "b"))(x),
    "chunk size": lambda m, x: m.vmap(m.sin, chunk_size=0)(x),
    "randomness": lambda m, x: m.vmap(m.sin, randomness="some")(x),
    "random": lambda m, x: m.vmap(lambda a: a + m.rand(2))(x),
    "random in place": lambda m, x: m.vmap(lambda a: a.clone().uniform_())(x),
    "dropout": lambda m, x: m.vmap(m.nn.Dropout())(x),
    "random outside": lambda m, x: m.vmap(
        m.vmap(lambda a: a + m.rand(()), randomness="same")
    )(x),
    "backward": lambda m, x: m.vmap(lambda a: a.sum().backward())(x),
    "partial": lambda m, x: m.vmap(functools.partial(m.mul, 2), out_dims=None)(x),
}


@pytest.mark.parametrize("program", BAD.values(), ids=BAD.keys())
def test_refusals_are_in_pytorch_words(program: Callable[[Any, Any], Any]):
    same(lambda m: program(m, data(m, 3, 2)))


def test_randomness_same_and_different():
    gt.manual_seed(0)
    x = gt.zeros(4)
    same_draws = gt.vmap(lambda a: a + gt.rand(()), randomness="same")(x)
    different = gt.vmap(lambda a: a + gt.rand(()), randomness="different")(x)
    assert len(set(same_draws.tolist())) == 1
    assert len(set(different.tolist())) == 4
    generator = gt.Generator().manual_seed(3)
    drawn = gt.vmap(lambda a: gt.randn(3, generator=generator) + a, randomness="same")(
        x
    )
    assert gt.equal(drawn, drawn[:1].expand(4, 3))


def test_a_failing_function_leaves_no_mode_behind():
    def fails(x: Any) -> Any:
        raise KeyError("ours")

    for transform in (gt.vmap, gt.func.grad, gt.func.jacrev, gt.func.jacfwd):
        with pytest.raises(KeyError, match="ours"):
            transform(fails)(gt.ones(2))
    x = gt.ones(2).requires_grad_()
    gt.rand(2).mul(x).sum().backward()
    assert gt.autograd.forward_ad._current_level == -1


def test_the_wrapper_looks_like_the_function():
    def documented(x: Any) -> Any:
        """Do nothing."""
        return x

    for transform in (gt.vmap, gt.func.grad, gt.func.jacrev, gt.func.jacfwd):
        assert transform(documented).__name__ == "documented"
        assert transform(documented).__doc__ == "Do nothing."


# ---- trees ----

TREES: dict[str, Any] = {
    "leaf": 1,
    "none": None,
    "tuple": (1, (2, 3)),
    "list": [1, [], (2,)],
    "dict": {"b": 1, "a": [2, {"c": 3}]},
    "ordered": OrderedDict(b=1, a=2),
    "default": defaultdict(list, a=1),
    "deque": deque([1, 2], maxlen=3),
    "named": Point(1, (2, 3)),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_trees_flatten_print_and_come_back(tree: Any):
    def program(m: Any) -> Any:
        trees = _pytree(m)
        leaves, spec = trees.tree_flatten(tree)
        back = trees.tree_unflatten(leaves, spec)
        doubled = trees.tree_map(lambda x: x and x * 2, tree)
        spread = trees._broadcast_to_and_flatten(7, spec)
        paths = [(trees.keystr(path), leaf) for path, leaf in _paths(trees, tree)]
        mapped = trees.tree_map_with_path(lambda p, x, y: (str(p), x, y), tree, tree)
        return [
            [paths, str(mapped), trees.tree_is_leaf(tree), trees.is_namedtuple(tree)],
            [leaves, str(spec), spec.num_leaves, spec.is_leaf(), spread],
            [back == tree, type(back) is type(tree), str(doubled)],
            trees.treespec_pprint(spec),
        ]

    same(program)


@pytest.mark.parametrize(
    ("tree", "other"),
    [
        ((1, 2), (1, 2, 3)),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"b": 1}),
        ((1, (2, 3)), (1, 2)),
        ([0], 3),
    ],
)
def test_trees_that_do_not_fit_are_refused(tree: Any, other: Any):
    def program(m: Any) -> Any:
        trees = _pytree(m)
        found: list[Any] = [
            trees._broadcast_to_and_flatten(tree, trees.tree_structure(other)),
            trees.tree_structure(tree) == trees.tree_structure(other),
        ]
        for call in (
            lambda: trees.tree_map(lambda a, b: a, tree, other),
            lambda: trees.tree_unflatten([], trees.tree_structure(tree)),
        ):
            try:
                call()
            except ValueError as error:
                found.append(str(error))
        return found[:2] + found[3:]

    same(program)


def test_a_registered_class_is_a_tree():
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    def apart(pair: Any) -> Any:
        return [pair.a, pair.b], None

    def together(children: Any, _context: Any) -> Any:
        return Pair(*children)

    trees = _pytree(gt)
    trees.register_pytree_node(Pair, apart, together)
    with pytest.raises(ValueError, match="pass a flatten_with_keys_fn"):
        trees.tree_leaves_with_path(Pair(1, 2))
    doubled = trees.tree_map(lambda x: x * 2, [Pair(1, 2), 3])
    assert (doubled[0].a, doubled[0].b, doubled[1]) == (2, 4, 6)
    with pytest.raises(ValueError, match="already registered"):
        trees.register_pytree_node(Pair, apart, together)


def test_a_shape_equals_one_made_by_hand():
    trees = _pytree(gt)
    made = trees.TreeSpec(list, None, [trees.LeafSpec()])
    assert made == trees.tree_structure([1])


def _paths(trees: Any, tree: Any) -> Any:
    """Return the leaves with their paths, which lead to them."""
    found, spec = trees.tree_flatten_with_path(tree)
    assert spec == trees.tree_structure(tree)
    assert all(trees.key_get(tree, path) is leaf for path, leaf in found)
    return found


def _pytree(m: Any) -> Any:
    import importlib

    return importlib.import_module(f"{m.__name__}.utils._pytree")


@pytest.mark.parametrize("out_dims", [0, 1, 2, -1])
def test_examples_lie_as_in_pytorch(out_dims: int) -> None:
    def program(t: Any) -> Any:
        outputs = t.vmap(lambda x: x * 2, out_dims=out_dims)(t.ones(4, 2, 3))
        return outputs, outputs.is_contiguous()

    assert_same(program)


def test_a_cotangent_that_is_no_tensor_is_refused() -> None:
    assert_same(lambda t: t.func.vjp(lambda x: x * 2, t.ones(2))[1](3))


# ---- backward passes through a graph from outside ----


def squares(t: Any) -> tuple[Any, Any]:
    x = t.tensor([1.0, 2.0], requires_grad=True)
    return x, x**2


def test_rows_of_a_jacobian_are_mapped_without_keeping_the_graph():
    def program(t: Any) -> Any:
        x, y = squares(t)
        return t.vmap(lambda v: t.autograd.grad(y, x, v)[0])(t.eye(2))

    assert_same(program)


@pytest.mark.parametrize("chunk", [None, 2])
def test_the_graph_is_freed_with_the_last_example(chunk: int | None):
    def program(t: Any) -> Any:
        x, y = squares(t)
        t.vmap(lambda v: t.autograd.grad(y, x, v)[0], chunk_size=chunk)(t.eye(2))
        return t.autograd.grad(y.sum(), x)

    assert_same(program)


def test_the_graph_is_freed_with_each_chunk():
    def program(t: Any) -> Any:
        x, y = squares(t)
        return t.vmap(lambda v: t.autograd.grad(y, x, v)[0], chunk_size=1)(t.eye(2))

    assert_same(program)


def test_mapped_in_two_ways_the_graph_is_kept_until_the_last_pair():
    def program(t: Any) -> Any:
        x, y = squares(t)
        row = t.vmap(lambda v: t.autograd.grad(y, x, v)[0])
        return t.vmap(row)(t.ones(3, 2, 2))

    assert_same(program)
