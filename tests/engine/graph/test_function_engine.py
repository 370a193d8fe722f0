"""User-defined Functions in the engine's records: sites, names, events, lifetimes."""

from __future__ import annotations

import pickle
import threading
import weakref
from typing import Any

import pytest

import gradtape as gt
from gradtape._graph.observe import OpCalled, StorageWritten
from gradtape.autograd._function.node import ENGINE_READERS
from gradtape.autograd.function import InplaceFunction, NestedIOFunction
from gradtape.autograd.graph import Node

from ..ops.functions import doubled_in_place, exponential, make, square
from ..oracle import assert_same


def leaf() -> Any:
    return gt.ones(3, requires_grad=True)


# ---- what the node records ---------------------------------------------------------


def test_site_is_the_expression_that_applies() -> None:
    fn = square(gt)
    x = leaf()
    y = 1 + fn.apply(x * 2) * 3
    node = y.grad_fn.nodes[0].nodes[0]
    site = node.site
    assert site.text.encode()[site.column - 1 : site.end_column - 1] == (
        b"fn.apply(x * 2)"
    )
    assert node.op_name == "Fn"


def test_number_is_taken_before_forward_runs() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        with gt.enable_grad():
            inner.append((x * 2).grad_fn)
        return x * 2

    inner: list[Any] = []
    y = make(gt, forward).apply(leaf())
    assert y.grad_fn.seq < inner[0].seq


def test_node_belongs_to_the_module_call() -> None:
    class Layer(gt.nn.Module):
        def forward(self, x: Any) -> Any:
            return square(gt).apply(x)

    assert Layer()(leaf()).grad_fn.scope.kind == "Layer"


def test_observers_see_the_call() -> None:
    events: list[Any] = []
    x = leaf()
    with gt.observe(events.append):
        y = square(gt).apply(x)
        unrecorded = square(gt).apply(gt.ones(2))
    calls = [e for e in events if isinstance(e, OpCalled) and e.name == "Fn"]
    assert [call.node for call in calls] == [y.grad_fn, None]
    assert calls[0].inputs[0] is x
    assert calls[0].outputs[0] is y
    assert calls[1].outputs[0] is unrecorded


def test_write_log_names_the_function() -> None:
    events: list[Any] = []
    a = leaf() * 1
    with gt.observe(events.append):
        doubled_in_place(gt).apply(a)
    written = [e.op for e in events if isinstance(e, StorageWritten)]
    assert written == ["mul_", "Fn"]


def test_saved_slots_tell_outputs_from_inputs() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 2, x * 3
        ctx.save_for_backward(x, None, z)
        return y, z

    y, _ = make(gt, forward).apply(leaf())
    assert y.grad_fn.slots == ("0", "1", "result1")


def test_node_is_a_node() -> None:
    node = square(gt).apply(leaf()).grad_fn
    assert isinstance(node, Node)
    assert repr(node).startswith("<gradtape.autograd.function.FnBackward object at ")


def test_classes_are_found_by_name() -> None:
    for cls in (gt.autograd.Function, InplaceFunction, NestedIOFunction):
        assert pickle.loads(pickle.dumps(cls)) is cls


# ---- names -------------------------------------------------------------------------


RESERVED = [
    "code",
    "extra",
    "foreign",
    "free",
    "lasti",
    "layout",
    "layouts",
    "name",
    "nodes",
    "numbers",
    "op_name",
    "params",
    "register_hook",
    "run",
    "saved",
    "scope",
    "seq",
    "several",
    "site",
    "slots",
    "storage_ids",
    "unpack",
]


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_of_the_engine_on_ctx(name: str) -> None:
    def program(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            setattr(ctx, name, "mine")
            ctx.save_for_backward(x)
            return x * 2

        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(getattr(ctx, name))
            delattr(ctx, name)
            return grad * ctx.saved_tensors[0]

        seen: list[Any] = []
        fn = make(t, forward, backward)
        x = t.ones(3, requires_grad=True)
        y, z = fn.apply(x * 1), fn.apply(x)
        (y + z).backward(t.ones(3))
        return y, x.grad, seen

    assert_same(program)


def test_names_of_one_function_do_not_touch_another() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.params = "mine"
        return x * 2

    mine, other = make(gt, forward), square(gt)
    node = mine.apply(leaf()).grad_fn
    assert node.params == "mine"
    assert other.apply(leaf()).grad_fn.params == ()
    assert "params" not in vars(other._backward_cls)


def test_tools_may_read_what_the_engine_reads() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.params = "mine"
        return x * 2

    node = make(gt, forward).apply(leaf()).grad_fn
    tool: dict[str, Any] = {"__name__": "some_tool.reader"}
    exec("def read(node): return node.params", tool)
    assert tool["read"](node) == "mine"
    ENGINE_READERS.add("some_tool")
    try:
        assert tool["read"](node) == ()
    finally:
        ENGINE_READERS.remove("some_tool")


# ---- lifetimes ---------------------------------------------------------------------


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", [square, exponential])
@pytest.mark.parametrize("after", ["forward", "backward", "create_graph"])
def test_a_graph_is_freed_with_its_last_tensor(kind: Any, after: str) -> None:
    x = leaf()
    y = kind(gt).apply(x)
    node, found = weakref.ref(y.grad_fn), None
    if after != "forward":
        again = after == "create_graph"
        found = gt.autograd.grad(y.sum(), x, create_graph=again)
    del y, found
    assert node() is None


@pytest.mark.usefixtures("no_collector")
def test_saving_a_written_input_makes_no_cycle() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.mul_(2))
        return x

    for part in (slice(None), slice(2)):
        a = leaf() * 1
        target = a if part.stop is None else a[part]
        made: list[Any] = []
        fn = make(gt, lambda ctx, x, made=made: (made.append(ctx), forward(ctx, x))[1])
        fn.apply(target)
        node = weakref.ref(made.pop())
        del a, target
        assert node() is None


@pytest.mark.usefixtures("no_collector")
def test_backward_lets_go_of_what_was_saved() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        between = x * 2
        kept.append(weakref.ref(between))
        ctx.save_for_backward(between)
        return between * 1

    kept: list[Any] = []
    y = make(gt, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf())
    assert kept[0]() is not None
    y.sum().backward()
    assert kept[0]() is None


@pytest.mark.usefixtures("no_collector")
def test_a_long_chain_is_walked_and_freed_without_recursion() -> None:
    step = make(gt, lambda ctx, x: x + 1, lambda ctx, g: g)
    x = leaf()
    y = x
    for _ in range(30_000):
        y = step.apply(y)
    middle = weakref.ref(y.grad_fn.nodes[0])
    y.sum().backward()
    del y
    assert middle() is None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_gradients_that_the_user_keeps_are_not_written_to() -> None:
    constant = gt.ones(5000)
    kept = make(gt, lambda ctx, x: x * 2, lambda ctx, g: constant)
    x = gt.ones(5000, requires_grad=True)
    w = x * 1
    (kept.apply(w) + kept.apply(w) + kept.apply(w)).sum().backward()
    kept.apply(x).sum().backward()
    assert constant.sum().item() == 5000
    assert x.grad[0].item() == 4


def test_threads_do_not_share_a_call() -> None:
    fn, found = square(gt), {}

    def work(number: int) -> None:
        for _ in range(50):
            x = gt.full((3,), float(number), requires_grad=True)
            fn.apply(x).sum().backward()
            found[number] = x.grad.tolist()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [2.0 * n] * 3 for n in range(4)}


def test_profiler_has_the_function_and_its_node() -> None:
    x = leaf()
    with gt.autograd.profiler.profile() as profile:
        square(gt).apply(x).sum().backward()
    events = {event.name: event for event in profile.function_events or ()}
    assert events["Fn"].sequence_nr == events["FnBackward"].sequence_nr
