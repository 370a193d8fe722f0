"""Gradients of and through sparse tensors, beside PyTorch's."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same
from ._sparse_programs import repeated, settle, table

settle()

INDICES = [1, 2, 1]

# ---- through sparse tensors --------------------------------------------------------


def factor(torch: Any) -> Any:
    return torch.arange(1.0, 7.0).reshape(3, 2)


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "dense": lambda torch, x: x.to_dense().pow(2).sum(),
    "all dense": lambda torch, x: (x.to_dense(masked_grad=False) + 1).pow(2).sum(),
    "coalesced": lambda torch, x: x.coalesce().to_dense().pow(2).sum(),
    "mm": lambda torch, x: torch.sparse.mm(x, factor(torch)).pow(2).sum(),
    "operator": lambda torch, x: (x @ factor(torch)).pow(2).sum(),
    "vector": lambda torch, x: (x @ torch.tensor([1.0, 2.0, 3.0])).pow(2).sum(),
    "addmm": lambda torch, x: (
        torch.sparse.addmm(torch.ones(2, 2), x, factor(torch), beta=0.5, alpha=2.0)
        .pow(2)
        .sum()
    ),
    "plus another": lambda torch, x: (x + repeated(torch)).to_dense().pow(2).sum(),
    "dense plus": lambda torch, x: (torch.ones(2, 3) + x).pow(2).sum(),
    "times 3": lambda torch, x: (x * 3).to_dense().pow(2).sum(),
    "divided": lambda torch, x: (x / 3).to_dense().pow(2).sum(),
    "negated": lambda torch, x: (-x).to_dense().pow(2).sum(),
    "times dense": lambda torch, x: (x * factor(torch).t()).to_dense().pow(2).sum(),
    "transposed": lambda torch, x: x.t().to_dense().pow(2).sum(),
    "swapped": lambda torch, x: x.transpose(0, 1).to_dense().pow(2).sum(),
    "clone": lambda torch, x: x.clone().to_dense().pow(2).sum(),
    "double": lambda torch, x: x.double().to_dense().pow(2).sum(),
    "total": lambda torch, x: x.sum(),
    "column sums": lambda torch, x: torch.sparse.sum(x, 0).to_dense().pow(2).sum(),
    "row sums": lambda torch, x: torch.sparse.sum(x, 1).to_dense().pow(2).sum(),
    "softmax": lambda torch, x: torch.sparse.softmax(x, 1).to_dense().pow(2).sum(),
    "log softmax": lambda torch, x: (
        torch.sparse.log_softmax(x, 1).to_dense().pow(2).sum()
    ),
    "squares": lambda torch, x: x.pow(2).to_dense().sum(),
    "sines": lambda torch, x: x.sin().to_dense().sum(),
    "there and back": lambda torch, x: x.to_dense().to_sparse().to_dense().pow(2).sum(),
}

# PyTorch keeps its knowledge of order through these, this engine does not.
IN_ANY_FORM: dict[str, Callable[[Any, Any], Any]] = {
    "values": lambda torch, x: x.coalesce().values().pow(2).sum(),
    "plus itself": lambda torch, x: (x + x).to_dense().pow(2).sum(),
    "minus": lambda torch, x: (x - x * 3).to_dense().pow(2).sum(),
    "times itself": lambda torch, x: (x * x).to_dense().sum(),
    "sparse total": lambda torch, x: torch.sparse.sum(x),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_sparse_leaf_gets_pytorchs_gradient(name: str) -> None:
    def program(torch: Any) -> Any:
        leaf = repeated(torch).requires_grad_()
        loss = LOSSES[name](torch, leaf)
        loss.backward()
        return loss, leaf.grad

    assert_same(program)


@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize("name", [*LOSSES, *IN_ANY_FORM])
def test_a_sparse_leafs_gradient_has_pytorchs_elements(
    name: str, coalesced: bool
) -> None:
    def program(torch: Any) -> Any:
        leaf = repeated(torch)
        leaf = (leaf.coalesce() if coalesced else leaf).requires_grad_()
        (LOSSES | IN_ANY_FORM)[name](torch, leaf).backward()
        return leaf.grad.to_dense() if leaf.grad.is_sparse else leaf.grad

    assert_same(program)


@pytest.mark.parametrize("name", [*LOSSES, *IN_ANY_FORM])
def test_values_get_the_gradient_of_their_place(name: str) -> None:
    """Of two values at one place each gets all of its gradient, not twice or half."""

    def program(torch: Any) -> Any:
        values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
        at = torch.tensor([[1, 0, 1], [2, 0, 2]])
        x = torch.sparse_coo_tensor(at, values, (2, 3))
        (LOSSES | IN_ANY_FORM)[name](torch, x).backward()
        return x, values.grad

    assert_same(program)


def test_both_factors_of_a_product_get_gradients() -> None:
    def program(torch: Any) -> Any:
        values = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
        weight = factor(torch).requires_grad_()
        at = torch.tensor([[1, 0, 1], [2, 0, 2]])
        y = torch.sparse.mm(torch.sparse_coo_tensor(at, values, (2, 3)), weight)
        y.pow(2).sum().backward()
        return y, values.grad, weight.grad

    assert_same(program)


def test_a_dense_source_gets_a_dense_gradient() -> None:
    def program(torch: Any) -> Any:
        dense = factor(torch).requires_grad_()
        dense.to_sparse().to_dense().pow(2).sum().backward()
        return dense.grad

    assert_same(program)


def test_formulas_agree_with_slopes_and_can_be_differentiated() -> None:
    at = gradtape.tensor([[1, 0, 1], [2, 0, 2]])
    values = gradtape.tensor([3.0, 4.0, 5.0], dtype=gradtape.float64)
    weight = factor(gradtape).double()

    def product(values: Any, weight: Any) -> Any:
        x = gradtape.sparse_coo_tensor(at, values, (2, 3))
        return gradtape.sparse.mm(x, weight)

    def cubes(values: Any) -> Any:
        x = gradtape.sparse_coo_tensor(at, values, (2, 3)).coalesce()
        return x.to_dense().pow(3)

    inputs = (values.requires_grad_(), weight.requires_grad_())
    assert gradtape.autograd.gradcheck(product, inputs)
    assert gradtape.autograd.gradcheck(cubes, inputs[:1])
    assert gradtape.autograd.gradgradcheck(product, inputs)
    assert gradtape.autograd.gradgradcheck(cubes, inputs[:1])


# ---- of embeddings -----------------------------------------------------------------


def looked_up(torch: Any, *rows: int, **options: Any) -> tuple[Any, Any]:
    layer = table(torch, **options)
    return layer, layer(torch.tensor(rows))


def _accumulated(torch: Any, first: str, then: str) -> Any:
    layer = table(torch)
    losses = {
        "sparse": lambda: layer(torch.tensor(INDICES)).pow(2).sum(),
        "other sparse": lambda: layer(torch.tensor([3, 1])).pow(2).sum(),
        "expanded": lambda: layer(torch.tensor([0, 1])).sum(),
        "dense": lambda: layer.weight.pow(2).sum(),
    }
    losses[first]().backward()
    before = layer.weight.grad
    losses[then]().backward()
    apart = layer.weight.grad, layer.weight.grad is before
    layer.weight.grad = None
    (losses[first]() + losses[then]()).backward()
    return apart, layer.weight.grad


KINDS = ("sparse", "other sparse", "expanded", "dense")


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("then", KINDS)
def test_gradients_add_up_in_pytorchs_order(first: str, then: str) -> None:
    assert_same(lambda torch: _accumulated(torch, first, then))


EMBEDDINGS: dict[str, Callable[[Any], Any]] = {
    "padding": lambda torch: _grad(*looked_up(torch, 1, 2, 0, padding_idx=1)),
    "padding from the end": lambda torch: _grad(
        *looked_up(torch, 1, 4, 0, padding_idx=-1)
    ),
    "frequency": lambda torch: _grad(
        *looked_up(torch, 1, 2, 1, scale_grad_by_freq=True)
    ),
    "limited": lambda torch: _grad(*looked_up(torch, 1, 2, 1, max_norm=0.5)),
    "nothing": lambda torch: _grad(*_of(torch, torch.zeros(0, dtype=torch.int64))),
    "one": lambda torch: _grad(*_of(torch, torch.tensor(2))),
    "matrix": lambda torch: _grad(*_of(torch, torch.tensor([[1, 2], [0, 1]]))),
    "int": lambda torch: _grad(*_of(torch, torch.tensor([1, 2], dtype=torch.int32))),
    "pretrained": lambda torch: _pretrained(torch),
    "grad": lambda torch: torch.autograd.grad(
        table(torch)(torch.tensor(INDICES)).sum(), table(torch).weight, None, True
    ),
    "create graph": lambda torch: _differentiated(torch),
    "times 1": lambda torch: _through(torch, lambda w: w * 1),
    "doubled": lambda torch: _through(torch, lambda w: w + w),
    "exponential": lambda torch: _through(torch, lambda w: w.exp()),
    "transposed": lambda torch: _through(torch, lambda w: w.t()),
    "clone": lambda torch: _through(torch, lambda w: w.clone()),
    "retained": lambda torch: _retained(torch),
}


def _of(torch: Any, indices: Any) -> tuple[Any, Any]:
    layer = table(torch)
    return layer, layer(indices)


def _grad(layer: Any, y: Any) -> Any:
    y.pow(2).sum().backward()
    return y, layer.weight.grad, layer.weight


def _pretrained(torch: Any) -> Any:
    layer = torch.nn.Embedding.from_pretrained(
        torch.ones(3, 2), freeze=False, sparse=True
    )
    return _grad(layer, layer(torch.tensor([1, 1])))


def _differentiated(torch: Any) -> Any:
    layer, y = looked_up(torch, *INDICES, padding_idx=2)
    (first,) = torch.autograd.grad(y.pow(3).sum(), layer.weight, create_graph=True)
    second = torch.autograd.grad(first.to_dense().sum(), layer.weight)
    y.pow(2).sum().backward(create_graph=True)
    return first, second, layer.weight.grad


def _through(torch: Any, function: Any) -> Any:
    weight = (torch.arange(15.0).reshape(5, 3) / 10).requires_grad_()
    at = torch.tensor(INDICES)
    y = torch.nn.functional.embedding(at, function(weight), sparse=True)
    y.sum().backward()
    return weight.grad


def _retained(torch: Any) -> Any:
    weight = table(torch).weight * 1
    weight.retain_grad()
    at = torch.tensor(INDICES)
    torch.nn.functional.embedding(at, weight, sparse=True).sum().backward()
    return weight.grad


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embeddings_get_pytorchs_gradient(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of create_graph, in PyTorch
        assert_same(EMBEDDINGS[name])


HOOKS: dict[str, Callable[[Any], Any]] = {
    "doubles": lambda grad: grad * 2,
    "coalesces": lambda grad: grad.coalesce(),
    "makes dense": lambda grad: grad.to_dense(),
    "changes the dtype": lambda grad: grad.double(),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_see_and_replace_sparse_gradients(name: str) -> None:
    def program(torch: Any) -> Any:
        layer, y = looked_up(torch, *INDICES)
        seen: list[Any] = []

        def hook(grad: Any) -> Any:
            seen.append(grad)
            return HOOKS[name](grad)

        layer.weight.register_hook(hook)
        layer.weight.register_post_accumulate_grad_hook(
            lambda weight: seen.append(weight.grad.clone())
        )
        y.pow(2).sum().backward()
        return seen

    assert_same(program)


AFTERWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "cleared": lambda torch, layer: layer.zero_grad(),
    "zeroed": lambda torch, layer: layer.zero_grad(set_to_none=False),
    "scaled": lambda torch, layer: layer.weight.grad.mul_(0.5),
    "divided": lambda torch, layer: layer.weight.grad.div_(2),
    "clipped": lambda torch, layer: torch.nn.utils.clip_grad_norm_(
        layer.parameters(), 0.5
    ),
    "subtracted": lambda torch, layer: layer.weight.data.sub_(layer.weight.grad),
    "added": lambda torch, layer: layer.weight.data.add_(layer.weight.grad, alpha=-2),
    "set": lambda torch, layer: setattr(layer.weight, "grad", layer.weight.grad * 2),
    "set to another size": lambda torch, layer: setattr(
        layer.weight, "grad", torch.sparse_coo_tensor((2, 3))
    ),
    "deep copy": lambda torch, layer: copy.deepcopy(layer.weight.grad),
    "repr": lambda torch, layer: repr(layer.weight.grad),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_is_done_to_a_sparse_gradient_follows_pytorch(name: str) -> None:
    def program(torch: Any) -> Any:
        layer, y = looked_up(torch, *INDICES)
        y.pow(2).sum().backward()
        found = AFTERWARDS[name](torch, layer)
        return found, layer.weight.grad, layer.weight

    assert_same(program)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    "options",
    [{}, {"padding_idx": 2}, {"max_norm": 0.4}, {"scale_grad_by_freq": True}],
    ids=["plain", "padding", "limited", "frequency"],
)
def test_bags_get_pytorchs_gradient(mode: str, options: dict[str, Any]) -> None:
    def program(torch: Any) -> Any:
        weight = torch.arange(15.0).reshape(5, 3) / 10
        bags = torch.nn.EmbeddingBag(
            5, 3, mode=mode, sparse=True, _weight=weight, **options
        )
        y = bags(torch.tensor([1, 2, 1, 4, 3]), torch.tensor([0, 0, 2]))
        y.pow(2).sum().backward()
        return y.detach(), bags.weight.grad

    assert_same(program)


def test_weighted_bags_get_pytorchs_gradient() -> None:
    def program(torch: Any) -> Any:
        weight = torch.arange(15.0).reshape(5, 3) / 10
        bags = torch.nn.EmbeddingBag(5, 3, mode="sum", sparse=True, _weight=weight)
        shares = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = bags(torch.tensor([[1, 2], [1, 4]]), per_sample_weights=shares)
        y.pow(2).sum().backward()
        return y.detach(), bags.weight.grad, shares.grad

    assert_same(program)


def test_checkpoints_and_anomaly_mode_know_sparse_gradients() -> None:
    def program(torch: Any) -> Any:
        layer = table(torch)
        y = torch.utils.checkpoint.checkpoint(
            lambda at: layer(at).sin(), torch.tensor(INDICES), use_reentrant=False
        )
        with torch.autograd.detect_anomaly():
            y.sum().backward()
        return layer.weight.grad

    pytest.importorskip("torch.utils.checkpoint")
    assert_same(program)


def test_anomaly_mode_finds_a_nan_in_a_sparse_gradient() -> None:
    def program(torch: Any) -> Any:
        with torch.autograd.detect_anomaly():
            y = table(torch)(torch.tensor(INDICES))
            y.backward(torch.full_like(y, float("nan")))

    assert_same(program)


def test_checkpoints_keep_sparse_tensors() -> None:
    def program(torch: Any) -> Any:
        weight = torch.ones(3, 3, requires_grad=True)

        def function(weight: Any) -> Any:
            at = torch.tensor([[1, 0, 1], [2, 0, 2]])
            x = torch.sparse_coo_tensor(at, weight[0] * 2, (2, 3))
            return torch.sparse.mm(x, weight).sin()

        y = torch.utils.checkpoint.checkpoint(function, weight, use_reentrant=False)
        y.sum().backward()
        return weight.grad

    pytest.importorskip("torch.utils.checkpoint")
    assert_same(program)


def test_sparse_tensors_are_saved_and_loaded() -> None:
    def program(torch: Any) -> Any:
        file = io.BytesIO()
        torch.save({"x": repeated(torch)}, file)
        file.seek(0)
        return torch.load(file, weights_only=False)["x"]

    assert_same(program)
