"""The order of hooks, what they see, what they may return: beside PyTorch."""

from __future__ import annotations

from functools import partial

import pytest

from ..oracle import assert_same


def leaf(t, *values):
    return t.tensor([float(v) for v in values], requires_grad=True)


def plain(value):
    """Return gradients, None and tuples of them as lists."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return None if value is None else value.tolist()


def nothing_comes_back(t):
    """Return a function through which no gradient comes."""

    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    return Nothing.apply


# ---- order ----


def around_a_node(t):
    x, seen = leaf(t, 1, 2), []
    y = x * 2
    y.retain_grad()
    node = y.grad_fn
    node.register_prehook(lambda g: seen.append(("pre", plain(g))))
    y.register_hook(lambda g: seen.append(("tensor", plain(g))) or g * 3)
    node.register_prehook(lambda g: (g[0] * 5,))
    node.register_hook(lambda i, o: seen.append(("post", plain(i), plain(o))))
    y.sum().backward()
    return seen, y.grad, x.grad


def around_a_leaf(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(lambda i, o: seen.append(("post", plain(i), plain(o))))
    accumulate.register_prehook(lambda o: seen.append(("pre", plain(o))))
    x.register_hook(lambda g: seen.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    y.backward()
    return seen


def around_a_leaf_whose_gradient_is_taken_out(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(lambda i, o: seen.append("post"))
    accumulate.register_prehook(lambda o: seen.append("pre"))
    x.register_hook(lambda g: seen.append("tensor") or g * 7)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    return t.autograd.grad(y, x), seen


def around_a_node_whose_gradient_is_taken_out(t):
    found = []
    for inputs in ("y", "yx"):
        x, seen = leaf(t, 1, 2), []
        y = x * 2
        y.retain_grad()
        y.grad_fn.register_prehook(lambda g, seen=seen: seen.append("pre"))
        y.register_hook(lambda g, seen=seen: seen.append("tensor") or g * 10)
        wanted = [y] if inputs == "y" else [y, x]
        found.append([*map(plain, t.autograd.grad(y.sum(), wanted)), seen, y.grad])
    return found


def leaves_that_are_ready_at_once(t):
    found = []
    for count in range(2, 12):
        for step in (1, 2, 3):
            leaves, seen = [leaf(t, i) for i in range(count)], []
            for i, each in enumerate(leaves):
                each.register_hook(lambda g, i=i, seen=seen: seen.append(i))
            parts = [x * 2 if i % step else x for i, x in enumerate(leaves)]
            t.cat(parts).sum().backward()
            found.append(seen)
    return found


def parameters_of_a_layer(t):
    layer, seen = t.nn.Linear(3, 2), []
    x = t.ones(2, 3, requires_grad=True)
    for name, each in [("weight", layer.weight), ("bias", layer.bias), ("x", x)]:
        each.register_hook(lambda g, name=name: seen.append(name))
    layer(x).sum().backward()
    return seen


def later_nodes_first(t):
    x, seen = leaf(t, 1), []
    a, b = x * 2, x * 3
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b"))
    t.autograd.backward([a, b])
    return seen


def only_where_inputs_lead(t):
    x, w, seen = leaf(t, 1), leaf(t, 2), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: seen.append("w"))
    (x * w).backward(inputs=[w])
    return seen


# ---- absent gradients ----


def an_output_without_gradient(t):
    x, seen = leaf(t, 1, 2, 3, 4), []
    a, b = x.split(2)
    a.grad_fn.register_prehook(lambda g: seen.append(plain(g)))
    b.register_hook(seen.append)
    a.sum().backward()
    return seen, x.grad


def a_node_without_gradient(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda g: seen.append(("pre", g)))
    y.grad_fn.register_hook(lambda i, o: seen.append(("post", i, o)))
    nothing_comes_back(t)(y).backward()
    return seen, y.grad, x.grad


def a_leaf_without_gradient(t):
    x, seen = leaf(t, 1), []
    x.register_hook(seen.append)
    x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    nothing_comes_back(t)(x).backward()
    return seen, x.grad


def absence_replaced(t):
    x = leaf(t, 1, 2, 3, 4)
    a, b = x.split(2)
    b.register_hook(lambda g: t.ones(2))
    a.sum().backward()


def one_of_several_outputs_replaced(t):
    x = leaf(t, 1, 2, 3)
    a, _, c = x.unbind()
    a.grad_fn.register_prehook(
        lambda g: tuple(None if each is None else each * 5 for each in g)
    )
    (a + c).backward()
    return x.grad


def a_gradient_dropped(t):
    x = leaf(t, 1, 2)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (None,))
    y.sum().backward()
    return x.grad


# ---- what hooks return ----

RETURNED = {
    "tensor: text": ("tensor", lambda t, g: "s"),
    "tensor: another dtype": ("tensor", lambda t, g: g.double()),
    "tensor: another shape": ("tensor", lambda t, g: g[:1]),
    "pre: a tensor": ("pre", lambda t, g: g[0]),
    "pre: a list": ("pre", lambda t, g: [g[0]]),
    "pre: too many": ("pre", lambda t, g: (g[0], g[0])),
    "pre: another shape": ("pre", lambda t, g: (g[0][:1],)),
    "post: a tensor": ("post", lambda t, g: g[0] * 2),
    "post: too few": ("post", lambda t, g: (g[0],)),
    "post: for an absent one": ("post", lambda t, g: (g[0], g[0])),
    "post: as it should be": ("post", lambda t, g: (g[0] * 100, None)),
    "accumulated: a gradient": ("accumulated", lambda t, p: p.grad),
    "accumulated: the tensor": ("accumulated", lambda t, p: p),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_hooks_return(name):
    kind, returned = RETURNED[name]

    def program(t):
        x = leaf(t, 1, 2)
        y = x * 2
        if kind == "tensor":
            x.register_hook(lambda g: returned(t, g))
        elif kind == "accumulated":
            x.register_post_accumulate_grad_hook(lambda p: returned(t, p))
        elif kind == "pre":
            y.grad_fn.register_prehook(lambda g: returned(t, g))
        else:
            y.grad_fn.register_hook(lambda i, o: returned(t, i))
        y.sum().backward()
        return x.grad

    assert_same(program)


def a_hook_without_a_name(t):
    x = leaf(t, 1)
    x.register_hook(partial(lambda k, g: g.double(), 1))
    (x * 2).backward()


def each_hook_sees_what_the_last_returned(t):
    x, seen = leaf(t, 1), []
    x.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: seen.append(plain(g)))
    x.register_hook(lambda g: g + 1)
    (x * 1).backward()
    return seen, x.grad


def a_hook_writes_in_place(t):
    x = leaf(t, 1, 2)
    y = x * 2

    def tenfold(g):
        g.mul_(10)

    y.register_hook(tenfold)
    (y * t.ones(2)).sum().backward()
    return x.grad


def a_leaf_hook_returns_something_to_nobody(t):
    x = leaf(t, 1)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda i, o: (t.ones(1),))
    y.backward()


def hooks_are_differentiated(t):
    x, seen = leaf(t, 2), []
    y = x**3
    y.register_hook(lambda g: g * x)
    x.register_hook(lambda g: seen.append(g.requires_grad))
    y.grad_fn.register_hook(lambda i, o: (i[0] * x,))
    (g,) = t.autograd.grad(y, x, create_graph=True)
    return g.tolist(), t.autograd.grad(g, x), seen


# ---- adding and removing ----


def added_while_running(t):
    x, seen = leaf(t, 1), []
    y = x * 2

    def hook(g):
        seen.append("first")
        y.register_hook(lambda g: seen.append("late"))

    y.register_hook(hook)
    y.backward(retain_graph=True)
    seen.append("again")
    y.backward()
    return seen


def removed_while_running(t):
    x, seen, handles = leaf(t, 1), [], []
    y = x * 2

    def hook(g):
        seen.append("first")
        for handle in handles:
            handle.remove()

    handles.append(y.register_hook(hook))
    handles.append(y.register_hook(lambda g: seen.append("second")))
    y.backward(retain_graph=True)
    y.backward()
    return seen


def hung_on_a_leaf_on_the_way(t):
    x, seen = leaf(t, 1), []
    y = x * 2
    y.register_hook(lambda g: x.register_hook(lambda g: seen.append("x")) and None)
    y.backward()
    return seen


def the_accumulator_is_not_kept_for_its_hooks(t):
    x, seen = leaf(t, 1), []
    (x * 2).grad_fn.next_functions[0][0].register_hook(lambda i, o: seen.append(1))
    (x * 2).backward()
    kept = x.expand_as(x).grad_fn.next_functions[0][0]
    kept.register_hook(lambda i, o: seen.append(2))
    (x * 2).backward()
    return seen


def raised_by_a_hook(t):
    x = leaf(t, 1)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    found = []
    for _ in range(2):
        try:
            (y * 3).backward()
        except (ZeroDivisionError, RuntimeError) as error:
            found.append(str(error)[:20])
        handle.remove()
    return found, t.is_grad_enabled(), x.grad


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("leaf", "plain", "nothing_comes_back", "test_what_hooks_return")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


GROWN = {
    "expand": lambda t, x: x.expand(3, 2),
    "mul": lambda t, x: x * t.ones(3, 2),
    "add": lambda t, x: t.ones(3, 2) + x,
    "promotion": lambda t, x: x * t.ones(3, 2, dtype=t.float64),
}


@pytest.mark.parametrize("name", GROWN)
def test_hooks_after_a_node_see_gradients_as_they_go_on(name: str):
    def program(t):
        x = t.ones(2, requires_grad=True)
        y = GROWN[name](t, x)
        seen = []

        def hook(inputs, outputs):
            seen.extend(g for g in inputs if g is not None)
            return tuple(None if g is None else g + 1 for g in inputs)

        y.grad_fn.register_hook(hook)
        y.sum().backward()
        return [(g.dtype, g.tolist()) for g in seen], x.grad.tolist()

    assert_same(program)


def test_the_node_of_expand_sums_when_called_alone():
    def program(t):
        x = t.ones(2, requires_grad=True)
        return x.expand(3, 2).grad_fn(t.ones(3, 2)).tolist()

    assert_same(program)
