"""What backward() and autograd.grad() accept, refuse and return, beside PyTorch."""

from __future__ import annotations

import pytest

import gradtape as gt

from ..oracle import assert_same


def leaf(t, *values):
    return t.tensor([float(v) for v in values], requires_grad=True)


def edge(t, tensor):
    return t.autograd.graph.get_gradient_edge(tensor)


# ---- arguments that are refused, or taken in another shape ----

ARGUMENTS = {
    "text as tensors": lambda t: t.autograd.backward("abc"),
    "texts as tensors": lambda t: t.autograd.backward(["a"]),
    "nothing as tensors": lambda t: t.autograd.backward(None),
    "no tensors": lambda t: t.autograd.backward([]),
    "text as gradient": lambda t: t.autograd.backward(leaf(t, 1), "abc"),
    "texts as gradients": lambda t: t.autograd.backward([leaf(t, 1)], ["a"]),
    "a number as gradient": lambda t: leaf(t, 1).backward(1.0),
    "more gradients than tensors": lambda t: t.autograd.backward(
        [leaf(t, 1)], [None, None]
    ),
    "fewer gradients than tensors": lambda t: t.autograd.backward(
        [leaf(t, 1), leaf(t, 1)], [None]
    ),
    "no inputs for grad": lambda t: t.autograd.grad(leaf(t, 1), []),
    "no inputs for backward": lambda t: leaf(t, 1).backward(inputs=[]),
    "text as input": lambda t: t.autograd.grad(leaf(t, 1), ["a"]),
    "nothing as inputs": lambda t: t.autograd.grad(leaf(t, 1), None),
    "nothing as outputs": lambda t: t.autograd.grad(None, leaf(t, 1)),
    "a number among inputs": lambda t: t.autograd.grad(leaf(t, 1), [leaf(t, 1), 3]),
    "two elements, no gradient": lambda t: leaf(t, 1, 2).backward(),
    "integers": lambda t: t.tensor([1]).backward(),
    "a complex number": lambda t: (t.tensor(1 + 1j, requires_grad=True) * 2).backward(),
    "real for complex": lambda t: (t.tensor(1 + 1j, requires_grad=True) * 2).backward(
        t.tensor(1.0)
    ),
    "complex for real": lambda t: (leaf(t, 1) * 2).backward(t.tensor([1 + 0j])),
    "another shape": lambda t: (leaf(t, 1, 2) * 2).backward(t.ones(3)),
    "one element for a number": lambda t: leaf(t, 1, 2).sum().backward(t.ones(1)),
    "an input that is not used": lambda t: t.autograd.grad(leaf(t, 1) * 2, leaf(t, 1)),
    "the second input is not used": lambda t: (
        lambda x: t.autograd.grad(x * 2, [x, leaf(t, 1)])
    )(leaf(t, 1)),
    "zeros and refusal at once": lambda t: t.autograd.grad(
        leaf(t, 1) * 2, leaf(t, 1), allow_unused=False, materialize_grads=True
    ),
    "an output without graph": lambda t: t.autograd.grad(t.ones(1), leaf(t, 1)),
    "a second output without graph": lambda t: t.autograd.backward(
        [leaf(t, 1), t.ones(1)]
    ),
    "an input that needs no gradient": lambda t: t.autograd.grad(
        leaf(t, 1) * 2, t.ones(1)
    ),
    "such an input of backward": lambda t: (leaf(t, 1) * 2).backward(inputs=t.ones(1)),
    "a keyword that is none": lambda t: leaf(t, 1).backward(gradients=None),
    "both names of the gradient": lambda t: t.autograd.backward(
        leaf(t, 1) * 2, t.ones(1), grad_variables=t.ones(1)
    ),
    "the old name of the gradient": lambda t: (
        lambda x: (t.autograd.backward(x * 2, grad_variables=t.ones(1)), x.grad)
    )(leaf(t, 1)),
    "only_inputs": lambda t: (lambda x: t.autograd.grad(x * 2, x, only_inputs=False))(
        leaf(t, 1)
    ),
    "a batch of another shape": lambda t: (
        lambda x: t.autograd.grad(x * 2, x, t.ones(3, 3), is_grads_batched=True)
    )(leaf(t, 1, 2)),
    "a number as a batch": lambda t: (
        lambda x: t.autograd.grad(x * 2, x, t.tensor(1.0), is_grads_batched=True)
    )(leaf(t, 1, 2)),
    "an edge of what needs no gradient": lambda t: edge(t, t.ones(1)),
    "a vector's edge without gradient": lambda t: t.autograd.backward(
        edge(t, leaf(t, 1, 2) * 2)
    ),
    "a wrong shape for an edge": lambda t: t.autograd.backward(
        edge(t, leaf(t, 1, 2) * 2), t.ones(3)
    ),
    "complex for a real edge": lambda t: t.autograd.backward(
        edge(t, leaf(t, 1, 2) * 2), t.ones(2) * 1j
    ),
    "an edge that is not used": lambda t: (
        lambda x: t.autograd.grad(x * 2, edge(t, x * 3))
    )(leaf(t, 1)),
    "zeros for an edge": lambda t: (
        lambda x: t.autograd.grad(x * 2, edge(t, x * 3), materialize_grads=True)
    )(leaf(t, 1)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    assert_same(ARGUMENTS[name])


# ---- results ----


def dtypes_given(t):
    found = []
    for dtype in (t.float64, t.int64, t.bool):
        x = leaf(t, 1, 2)
        (x * 2).backward(t.ones(2, dtype=dtype))
        found.append(x.grad)
    return found


def kinds_of_inputs(t):
    x = leaf(t, 1)

    def run(inputs):
        return t.autograd.grad((x * 2).sum(), inputs)

    named = {"a": x}
    return run({x}), run(named), run(named.values()), run(each for each in [x])


def inputs_of_backward_as_dict(t):
    x, w = leaf(t, 2), leaf(t, 3)
    (x * w).backward(inputs={"w": w})
    return x.grad, w.grad


def edges_as_roots_and_inputs(t):
    x = leaf(t, 1, 2)
    t.autograd.backward(edge(t, (x * 2).sum()))
    t.autograd.backward(edge(t, x * 2), t.ones(2, dtype=t.float64))
    found = t.autograd.grad((x * 3).sum(), edge(t, x))
    (x * 5).sum().backward(inputs=[edge(t, x)])
    return x.grad, found


def an_edge_outlives_its_tensor(t):
    x = leaf(t, 1, 2)
    y = x * 3
    at = edge(t, y)
    z = (y * y).sum()
    del y
    return t.autograd.grad(z, at)


def old_and_new_value_of_a_written_tensor(t):
    x = leaf(t, 1, 2).clone()
    old = edge(t, x)
    x *= 2
    return [g.tolist() for g in t.autograd.grad(x.sum(), (old, x))]


def gradient_of_a_batch(t):
    x = leaf(t, 1, 2)
    return t.autograd.grad(x * x, x, t.eye(2), is_grads_batched=True)


def gradients_of_batches(t):
    x, unused = leaf(t, 1, 2), leaf(t, 1)
    y, z = x * x, x * 3
    found = [
        t.autograd.grad(
            [y, z],
            [x, unused],
            [t.eye(2)] * 2,
            True,
            is_grads_batched=True,
            allow_unused=True,
        ),
        t.autograd.grad(y.sum(), x, t.arange(3.0), is_grads_batched=True),
    ]
    (g,) = t.autograd.grad(x * x, x, t.eye(2), is_grads_batched=True, create_graph=True)
    return found, t.autograd.grad(g.sum(), x)


def batches_of_unlike_length(t):
    x = leaf(t, 1, 2)
    given = [t.ones(3, 2), t.eye(2)]
    t.autograd.grad([x * x, x * 3], x, given, is_grads_batched=True)


def a_batch_without_gradients(t):
    x = leaf(t, 1)
    t.autograd.grad((x * x).sum(), x, is_grads_batched=True)


def outputs_that_need_no_gradient_given(t):
    x = leaf(t, 1)
    return t.autograd.grad([x * 2, x * 3], x, [None, t.ones(1)])


def inputs_at_every_depth(t):
    x = leaf(t, 2)
    y = x * x
    z = y * y
    return t.autograd.grad(z, [x, y, z])


def an_output_is_its_own_input(t):
    x = leaf(t, 2)
    return t.autograd.grad(x, x)


def one_input_twice(t):
    x = leaf(t, 1, 2)
    a, b = t.autograd.grad((x * x).sum(), [x, x])
    return a, a is b


def a_gradient_that_comes_through_is_the_given_one(t):
    x, given = leaf(t, 1, 2), t.ones(2)
    (found,) = t.autograd.grad(x + 0, x, given)
    return found is given


def a_view_of_the_given_gradient_shares_its_version(t):
    x, given = leaf(t, 1, 2), t.ones(2, 1)
    (found,) = t.autograd.grad(x.view(2, 1), x, given)
    given.add_(1)
    return found.tolist(), found._version, found.data_ptr() == given.data_ptr()


def inputs_that_are_no_leaves(t):
    x = leaf(t, 2)
    y = x * 3
    z = y * y
    (z * 2).backward(inputs=[y, z])
    return x.grad, y.grad, z.grad, y.retains_grad


def the_root_among_the_inputs(t):
    x = leaf(t, 2)
    y = x * 3
    y.backward(inputs=[y, x])
    return y.grad, x.grad


def an_input_that_is_not_reached(t):
    x, w = leaf(t, 2), leaf(t, 3)
    (x * 2).backward(inputs=[w])
    return x.grad, w.grad


def a_root_that_leads_to_another(t):
    x, seen = leaf(t, 2), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    t.autograd.backward([y * y, y])
    return seen, x.grad


def a_leaf_as_root_and_in_use(t):
    x = leaf(t, 2, 3)
    t.autograd.backward([(x * x).sum(), x, x], [None, t.ones(2), t.ones(2) * 2])
    return x.grad


def zeros_can_be_differentiated(t):
    x, unused = leaf(t, 1), leaf(t, 1, 2)
    found = t.autograd.grad(
        x * 2, [x, unused], materialize_grads=True, create_graph=True
    )
    return found, [each.requires_grad for each in found]


def create_graph_keeps_the_graph(t):
    x = leaf(t, 2)
    y = x * x
    t.autograd.grad(y, x, create_graph=True)
    return t.autograd.grad(y, x)


def create_graph_without_keeping_it(t):
    x = leaf(t, 2)
    y = x * x
    t.autograd.grad(y, x, create_graph=True, retain_graph=False)
    t.autograd.grad(y, x)


def create_graph_under_no_grad(t):
    x = leaf(t, 2)
    y = x * x
    with t.no_grad():
        (found,) = t.autograd.grad(y, x, create_graph=True)
    return found


def a_node_called_as_a_function(t):
    x, node = leaf(t, 3), (leaf(t, 1) * 2).grad_fn
    y = x * 2
    accumulate = y.grad_fn.next_functions[0][0]
    found = [node(t.ones(1)), y.grad_fn(t.ones(1)), accumulate(t.ones(1))]
    return found, x.grad


def a_node_called_with_too_much(t):
    (leaf(t, 1) * 2).grad_fn(t.ones(1), t.ones(1))


def a_node_called_with_text(t):
    (leaf(t, 1) * 2).grad_fn("a")


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("leaf", "edge", "test_arguments")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_a_batch_walks_the_graph_once_per_entry_and_frees_it_last():
    x = gt.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    gt.autograd.grad(y, x, gt.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="a second time"):
        gt.autograd.grad(y, x, gt.ones(2))


# ---- what saved nothing may run twice ----

TWICE = {
    "addcmul": lambda t, x: x.addcmul(t.ones(2), t.ones(2)),
    "addcmul_": lambda t, x: x.clone().addcmul_(t.ones(2), t.ones(2)),
    "index_add": lambda t, x: x.index_add(0, t.arange(2), t.ones(2)),
    "addmm": lambda t, x: t.addmm(x, t.ones(2, 3), t.ones(3, 2)),
    "addr": lambda t, x: t.addr(x, t.ones(2), t.ones(2)),
    "addmm of another": lambda t, x: t.addmm(t.ones(2), x[None], t.ones(2, 2)),
    "mul": lambda t, x: x * t.ones(2),
    "add": lambda t, x: x + t.ones(2),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_second_backward_is_refused_where_something_was_saved(name: str):
    def program(t):
        x = leaf(t, 1, 2)
        y = TWICE[name](t, x).sum()
        y.backward()
        y.backward()
        return x.grad.tolist()

    assert_same(program)
