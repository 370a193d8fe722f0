"""``autograd.graph``: nodes, edges, hooks on several gradients, allowed mutation."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same

Program = Callable[[Any], Any]


# ---- nodes -------------------------------------------------------------------------


def walk(node: Any, depth: int = 0) -> list[tuple[int, str, int]]:
    """Return the graph from a node as depth, name and output number."""
    found = [(depth, node.name(), len(node.next_functions))]
    for following, _number in node.next_functions:
        if following is not None:
            found += walk(following, depth + 1)
    return found


def test_next_functions_lead_to_the_leaves() -> None:
    def program(torch: Any) -> Any:
        w = torch.ones(3, 2, requires_grad=True)
        x, b = torch.ones(4, 3), torch.zeros(2, requires_grad=True)
        loss = torch.nn.functional.mse_loss((x @ w + b).relu(), torch.ones(4, 2))
        return walk(loss.grad_fn)

    assert_same(program)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda torch, x: x.sum(-1, keepdim=True),
    "mean": lambda torch, x: x.mean((0, 1)),
    "view": lambda torch, x: x.view(6),
    "add": lambda torch, x: torch.add(x, x, alpha=-2),
    "mul": lambda torch, x: x * x,
    "mul number": lambda torch, x: x * 2.5,
    "pow": lambda torch, x: x**-2,
    "select": lambda torch, x: x[0],
    "select last": lambda torch, x: x[-1],
    "slice": lambda torch, x: x[:, 1:],
    "index": lambda torch, x: x[:, torch.tensor([0, 1])],
    "gather": lambda torch, x: x.gather(1, torch.tensor([[0], [1]])),
    "permute": lambda torch, x: x.permute(1, 0),
    "transpose": lambda torch, x: x.transpose(-1, 0),
    "expand": lambda torch, x: x.expand(2, 2, 3),
    "repeat": lambda torch, x: x.repeat(2, 2),
    "cat": lambda torch, x: torch.cat([x, x], -1),
    "stack": lambda torch, x: torch.stack([x, x], 1),
    "softmax": lambda torch, x: x.softmax(-1),
    "log_softmax": lambda torch, x: x.log_softmax(0),
    "logsumexp": lambda torch, x: x.logsumexp(0),
    "clamp": lambda torch, x: x.clamp(-1, 2),
    "max": lambda torch, x: x.max(1)[0],
    "amax": lambda torch, x: x.amax(1),
    "sort": lambda torch, x: x.sort(0)[0],
    "topk": lambda torch, x: x.topk(2)[0],
    "cumsum": lambda torch, x: x.cumsum(0),
    "prod": lambda torch, x: x.prod(1),
    "var": lambda torch, x: x.var(0),
    "std": lambda torch, x: x.std(),
    "roll": lambda torch, x: x.roll(-1, 0),
    "flip": lambda torch, x: x.flip(1),
    "triu": lambda torch, x: x.triu(-1),
    "diagonal": lambda torch, x: x.diagonal(1),
    "unfold": lambda torch, x: x.unfold(-1, 2, 1),
    "pad": lambda torch, x: torch.nn.functional.pad(x, (-1, 1)),
    "where": lambda torch, x: torch.where(x > 1, x, 2 * x),
    "masked_fill": lambda torch, x: x.masked_fill(x > 1, -1.0),
    "lerp": lambda torch, x: torch.lerp(x, 2 * x, 0.5),
    "addmm": lambda torch, x: torch.addmm(x, x @ x.t(), x, beta=2, alpha=3),
    "embedding": lambda torch, x: torch.nn.functional.embedding(torch.tensor([1]), x),
    "nll_loss": lambda torch, x: torch.nn.functional.nll_loss(x, torch.tensor([0, 1])),
    "mse_loss": lambda torch, x: torch.nn.functional.mse_loss(x, 2 * x),
    "smooth_l1": lambda torch, x: torch.nn.functional.smooth_l1_loss(x, 2 * x),
    "conv1d": lambda torch, x: torch.nn.functional.conv1d(
        x[None], torch.ones(1, 2, 2), torch.ones(1)
    ),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (3,)),
    "leaky_relu": lambda torch, x: torch.nn.functional.leaky_relu(x, 0.5),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "exp": lambda torch, x: x.exp(),
    "as_strided": lambda torch, x: x.as_strided((2,), (1,), 1),
    "split": lambda torch, x: x.split(2, -1)[0],
    "unbind": lambda torch, x: x.unbind(1)[0],
    "index_select": lambda torch, x: x.index_select(0, torch.tensor([0])),
    "scatter": lambda torch, x: x.scatter(0, torch.tensor([[0, 1, 0]]), 1.0),
    "dtype": lambda torch, x: x.double(),
}


@pytest.mark.parametrize("name", CALLS)
def test_saved_values_have_pytorchs_names_and_contents(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 3, requires_grad=True)
    shown = dir(CALLS[name](torch, x).grad_fn)
    names = [each for each in shown if each.startswith("_saved_")]

    def program(module: Any) -> Any:
        x = module.tensor([[0.5, 1.0, 2.0], [3.0, 0.3, 1.5]], requires_grad=True)
        node = CALLS[name](module, x).grad_fn
        return {each: getattr(node, each) for each in names}

    assert_same(program)


def test_nodes_say_what_gradients_they_take() -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, 3, requires_grad=True)
        nodes = [(x * x).grad_fn, x.double().grad_fn, torch.var_mean(x, 0)[0].grad_fn]
        nodes.append(nodes[0].next_functions[0][0])
        return [
            [
                (list(m.shape), str(m.dtype), str(m.device), m.is_nested_tensor)
                for m in node._input_metadata
            ]
            for node in nodes
        ]

    assert_same(program)


def test_nodes_have_numbers_and_notes() -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        b = a * 3
        node = b.grad_fn
        order = node._sequence_nr() - a.grad_fn._sequence_nr()
        node.metadata["mine"] = 1
        node._set_sequence_nr(7)
        leaf = a.grad_fn.next_functions[0][0]
        return (
            order,
            node._sequence_nr(),
            node.metadata,
            b.grad_fn.metadata,
            leaf._sequence_nr(),
            leaf.variable is x,
            node.requires_grad,
        )

    assert_same(program)


def test_a_changed_number_does_not_break_the_order() -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        order: list[str] = []
        a, b = x * 2, x * 3
        c = a + b
        for name, tensor in (("a", a), ("b", b), ("c", c)):
            tensor.register_hook(lambda _, name=name: order.append(name))
        a.grad_fn._set_sequence_nr(1_000_000_100)
        b.grad_fn._set_sequence_nr(1_000_000_099)
        c.grad_fn._set_sequence_nr(1)
        c.sum().backward()
        return order, x.grad

    assert_same(program)


def test_every_grad_fn_is_a_node() -> None:
    def program(torch: Any) -> Any:
        node_type = torch.autograd.graph.Node
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        found = [
            isinstance(y.grad_fn, node_type),
            isinstance(y.grad_fn.next_functions[0][0], node_type),
            issubclass(type(y.grad_fn), node_type),
            node_type in type(y.grad_fn).mro(),
            isinstance(3, node_type),
            isinstance(node_type, node_type),
            repr(y.grad_fn).partition(" object")[0],
        ]
        return found, node_type()

    assert_same(program)


# ---- edges -------------------------------------------------------------------------


def test_edges_stand_for_tensors() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        edge = torch.autograd.graph.get_gradient_edge
        y = x.sin()
        z = (y * y).sum()
        got = torch.autograd.grad(z, (edge(y), edge(x)), retain_graph=True)
        torch.autograd.backward(edge(y), torch.ones(2))
        return got, x.grad, edge(y).output_nr, edge(y).node is y.grad_fn

    assert_same(program)


def test_an_edge_needs_a_gradient() -> None:
    assert_same(lambda torch: torch.autograd.graph.get_gradient_edge(torch.ones(1)))


def test_an_edge_outlives_its_tensor() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        edge = torch.autograd.graph.get_gradient_edge(y)
        z = (y * y).sum()
        del y
        return torch.autograd.grad(z, edge)

    assert_same(program)


@pytest.mark.parametrize("what", ["tensor", "several", "number", "numbers"])
def test_versions_can_be_counted_up(what: str) -> None:
    def program(torch: Any) -> Any:
        a, b = torch.ones(2), torch.ones(2)
        given = {"tensor": a, "several": [a, b], "number": 3, "numbers": [3]}[what]
        torch.autograd.graph.increment_version(given)
        return a._version, b._version

    assert_same(program)


# ---- hooks on several gradients ----------------------------------------------------


def listed(found: Any) -> Any:
    """Return gradients as lists: those of one library may be views in it alone."""
    if isinstance(found, list):
        return [None if each is None else each.tolist() for each in found]
    return found.tolist()


@pytest.mark.parametrize("mode", ["all", "any", "some"])
def test_one_hook_takes_several_gradients(mode: str) -> None:
    def program(torch: Any) -> Any:
        log: list[Any] = []
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([3.0, 4.0], requires_grad=True)
        c, d = a * b, a * b
        handle = torch.autograd.graph.register_multi_grad_hook(
            (a, b, c, d), lambda found: log.append(listed(found)), mode=mode
        )
        c.sum().backward(retain_graph=True)
        c.sum().backward(inputs=(a,), retain_graph=True)
        (c + d).sum().backward(retain_graph=True)
        handle.remove()
        c.sum().backward()
        return log

    assert_same(program)


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_on_a_tensor_without_gradient(mode: str) -> None:
    def program(torch: Any) -> Any:
        log: list[Any] = []
        a = torch.ones(2, requires_grad=True)
        torch.autograd.graph.register_multi_grad_hook(
            (a, torch.ones(2)), lambda found: log.append(listed(found)), mode=mode
        )
        (a * 2).sum().backward()
        return log

    assert_same(program)


@pytest.mark.usefixtures("no_collector")
def test_multi_grad_hooks_keep_no_graph() -> None:
    x = gradtape.ones(2, requires_grad=True)
    y = x * 2
    gradtape.autograd.graph.register_multi_grad_hook((x, y), print)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


# ---- mutation of what was saved ----------------------------------------------------

MUTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda torch, b: b.sin_(),
    "a view": lambda torch, b: b.view_as(b).sin_(),
    "a part": lambda torch, b: b[:1].mul_(10),
    "an item": lambda torch, b: b.__setitem__((0, 0), 7.0),
    "a fill": lambda torch, b: b.fill_(3.0),
    "a copy": lambda torch, b: b.copy_(torch.ones(2, 2)),
    "out": lambda torch, b: torch.sin(torch.ones(2, 2), out=b.detach()),
    "twice": lambda torch, b: (b.sin_(), b.cos_()),
    "masked": lambda torch, b: b.masked_fill_(b > 1, 0.0),
}


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("allowed", [True, False])
def test_saved_tensors_can_be_overwritten_where_allowed(
    name: str, allowed: bool
) -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

        def run() -> Any:
            b = a.clone()
            out = (b**2).sum()
            MUTATIONS[name](torch, b)
            out.backward()
            return a.grad, b

        if not allowed:
            return run()
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            return run()

    assert_same(program)


def test_only_what_is_overwritten_is_copied() -> None:
    def program(torch: Any) -> Any:
        counts = []
        with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:

            def count() -> None:
                counts.append((len(context.cloned), len(context.tid_to_weakhandle)))

            a = torch.ones(2, 3, requires_grad=True).clone()
            b, c = a**2, a**2
            count()
            a.sin_()
            count()
            d = a**2
            a.sin_()
            count()
            del b, c
            count()
            d.sum().backward()
            a.sin_()
            count()
        return counts

    assert_same(program)


def test_backward_must_run_where_mutation_was_allowed() -> None:
    def outside(torch: Any) -> Any:
        a = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            out = (a**2).sum()
        out.backward()

    def elsewhere(torch: Any) -> Any:
        a = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            out = (a**2).sum()
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            out.backward()

    def nested(torch: Any) -> Any:
        allow = torch.autograd.graph.allow_mutation_on_saved_tensors
        with allow(), allow():
            pass

    for program in (outside, elsewhere, nested):
        assert_same(program)


def test_an_optimizer_may_step_between_forward_and_backward() -> None:
    w = gradtape.tensor([1.0, 2.0], requires_grad=True)
    optimizer = gradtape.optim.SGD([w], 0.1)
    w.grad = gradtape.ones(2)
    with gradtape.autograd.graph.allow_mutation_on_saved_tensors():
        loss = (w * w).sum()
        optimizer.step()
        (grad,) = gradtape.autograd.grad(loss, w)
    assert grad.tolist() == [2.0, 4.0]


# ---- options that change nothing ---------------------------------------------------


@pytest.mark.parametrize("budget", [0.5, 2.0, True, "much"])
def test_a_memory_budget_is_for_compiled_code(budget: Any) -> None:
    assert_same(
        lambda torch: torch.autograd.graph.region_activation_memory_budget(budget)
    )
