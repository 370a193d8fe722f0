"""Saved tensors: hooks that pack and unpack them, and what nodes show of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same

Program = Callable[[Any], Any]


def traced(torch: Any, log: list[str], names: dict[str, Any]) -> Any:
    """Return hooks that write down, in order, what is packed and unpacked."""

    def pack(tensor: Any) -> Any:
        known = [name for name, each in names.items() if each is tensor]
        node = None if tensor.grad_fn is None else tensor.grad_fn.name()
        name = known[0] if known else f"{tuple(tensor.shape)} {node}"
        log.append(f"pack {name} {tensor.requires_grad} {torch.is_grad_enabled()}")
        return name, tensor.detach()

    def unpack(packed: Any) -> Any:
        log.append(f"unpack {packed[0]} {torch.is_grad_enabled()}")
        return packed[1]

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "add": lambda torch, a, b, c: a + b,
    "mul": lambda torch, a, b, c: a * b,
    "mul number": lambda torch, a, b, c: a * 3,
    "div": lambda torch, a, b, c: a / b,
    "pow": lambda torch, a, b, c: a**b,
    "pow number": lambda torch, a, b, c: a**3,
    "atan2": lambda torch, a, b, c: torch.atan2(a, b),
    "mm": lambda torch, a, b, c: a @ c,
    "addmm": lambda torch, a, b, c: torch.addmm(torch.ones(2, 2), a, c),
    "exp": lambda torch, a, b, c: a.exp(),
    "relu": lambda torch, a, b, c: a.relu(),
    "softmax": lambda torch, a, b, c: a.softmax(1),
    "where": lambda torch, a, b, c: torch.where(a > 0, a, b),
    "lerp": lambda torch, a, b, c: torch.lerp(a, b, b),
    "norm": lambda torch, a, b, c: a.norm(),
    "prod": lambda torch, a, b, c: a.prod(),
    "var": lambda torch, a, b, c: a.var(),
    "max": lambda torch, a, b, c: a.max(0)[0],
    "sort": lambda torch, a, b, c: a.sort()[0],
    "view": lambda torch, a, b, c: a.view(6),
    "in place": lambda torch, a, b, c: a.clone().mul_(b),
    "in place result": lambda torch, a, b, c: a.clone().exp_(),
    "linear": lambda torch, a, b, c: torch.nn.functional.linear(a, b, torch.ones(2)),
    "cross entropy": lambda torch, a, b, c: torch.nn.functional.cross_entropy(
        a, torch.tensor([0, 1])
    ),
    "layer norm": lambda torch, a, b, c: torch.nn.functional.layer_norm(
        a, (3,), b[0], b[1]
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_hooks_see_what_pytorch_saves_in_its_order(name: str) -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.3, 1.5]], requires_grad=True)
        b = torch.tensor([[2.0, 1.0, 0.5], [0.7, 2.3, 1.1]], requires_grad=True)
        c = torch.ones(3, 2, requires_grad=True)
        log: list[str] = []
        with traced(torch, log, {"a": a, "b": b, "c": c}):
            y = CALLS[name](torch, a, b, c)
        y.sum().backward()
        return log, a.grad, b.grad, c.grad

    assert_same(program)


def test_unpacked_values_are_the_ones_differentiated() -> None:
    def program(torch: Any) -> Any:
        found = []
        for pack, unpack in (
            (lambda x: 2 * x, lambda x: x / 2),
            (lambda x: 2 * x, lambda x: x),
            (lambda x: x.detach().numpy(), torch.from_numpy),
        ):
            a = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                y = (a * a * 2).exp().sin()
            y.sum().backward()
            found.append(a.grad)
        return found

    assert_same(program)


@pytest.mark.parametrize("inner", [True, False])
def test_second_derivatives_go_through_what_hooks_gave_back(inner: bool) -> None:
    def program(torch: Any) -> Any:
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x)
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        differentiate = torch.autograd.grad
        with hooks:
            y = (a**3).sum()
            first = differentiate(y, a, create_graph=True) if inner else None
        (g,) = first or differentiate(y, a, create_graph=True)
        g.sum().backward()
        return a.grad, g

    assert_same(program)


def test_the_innermost_pair_is_used() -> None:
    def program(torch: Any) -> Any:
        graph, log = torch.autograd.graph, []

        def named(name: str) -> Any:
            return graph.saved_tensors_hooks(
                lambda x: (log.append(name), x.detach())[1], lambda x: x
            )

        a = torch.ones(2, requires_grad=True)
        with named("outer"):
            a.exp()
            with named("inner"):
                a.exp()
            a.sin()
        a.exp()
        return log

    assert_same(program)


MISUSES: dict[str, Program] = {
    "unpack gives no tensor": lambda torch: _used(torch, lambda x: x, lambda x: 1),
    "unpack raises": lambda torch: _used(torch, lambda x: x, lambda x: {}["missing"]),
    "pack raises": lambda torch: _used(torch, lambda x: {}["missing"], lambda x: x),
    "pack writes": lambda torch: _used(torch, lambda x: x.add_(1), lambda x: x),
    "no functions": lambda torch: _used(torch, 1, 2),
}


def _used(torch: Any, pack: Any, unpack: Any) -> Any:
    a = torch.ones(2, requires_grad=True) * 2
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = a * a
    y.sum().backward()


@pytest.mark.parametrize("name", MISUSES)
def test_misused_hooks_are_refused_in_pytorchs_words(name: str) -> None:
    assert_same(MISUSES[name])


def test_hooks_can_be_forbidden() -> None:
    def program(torch: Any) -> Any:
        graph, said = torch.autograd.graph, []

        def attempt(make: Any) -> None:
            try:
                with make():
                    said.append("allowed")
            except RuntimeError as error:
                said.append(str(error))

        def hooks() -> Any:
            return graph.saved_tensors_hooks(lambda x: x, lambda x: x)

        with graph.disable_saved_tensors_hooks("outer"):
            attempt(hooks)
            with graph.disable_saved_tensors_hooks("inner"):
                attempt(hooks)
            attempt(graph.save_on_cpu)
        attempt(hooks)
        with hooks():
            attempt(lambda: graph.disable_saved_tensors_hooks("too late"))
        attempt(hooks)
        return said

    assert_same(program)


def test_a_version_is_not_checked_where_a_hook_keeps_the_value() -> None:
    def program(torch: Any) -> Any:
        a = torch.ones(2, requires_grad=True) * 2
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            y = a * a
        a.add_(1)
        y.sum().backward()
        return y

    assert_same(program)


def test_a_leaf_that_was_packed_keeps_its_place_in_the_graph() -> None:
    def program(torch: Any) -> Any:
        a = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            y = a * a
        found = y.grad_fn._saved_self
        (found * 2).sum().backward()
        return found is a, found, a.grad, found.grad

    assert_same(program)


def test_hooks_that_a_pass_leaves_on_are_off_after_it() -> None:
    def program(torch: Any) -> Any:
        hooks = torch.autograd.graph.saved_tensors_hooks
        other = hooks(lambda x: x.detach(), lambda x: x)

        def unpack(x: Any) -> Any:
            other.__enter__()
            return x

        a = torch.ones(2, requires_grad=True)
        with hooks(lambda x: x.detach(), unpack):
            y = a.exp()
        y.sum().backward()
        z = a.exp()
        z.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
        return z

    assert_same(program)


def test_hooks_are_those_of_the_thread() -> None:
    def program(torch: Any) -> Any:
        log: list[str] = []
        a = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x: (log.append("packed"), x.detach())[1], lambda x: x
        ):
            thread = threading.Thread(target=lambda: a.exp())
            thread.start()
            thread.join()
        return log

    assert_same(program)


# ---- one slot ----------------------------------------------------------------------


def test_a_slot_takes_hooks_once() -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        y = a * a
        slot = y.grad_fn._raw_saved_self
        seen = []
        slot.register_hooks(
            lambda x: seen.append((x.requires_grad, x.is_leaf)) or 3 * x, lambda x: x
        )
        shown = slot.data, slot.unpack(), y.grad_fn._saved_self, y.grad_fn._saved_other
        y.sum().backward()
        return seen, shown, a.grad

    assert_same(program)


def slot_of(use: Callable[[Any], Any], make: Callable[[Any], Any]) -> Program:
    """Return a program that keeps a node alive while it uses one of its slots."""

    def program(torch: Any) -> Any:
        node = make(torch)
        return use(node)

    return program


def squared(torch: Any) -> Any:
    a = torch.ones(2, requires_grad=True)
    return (a * a).grad_fn


def exponential(torch: Any) -> Any:
    return (torch.ones(2, requires_grad=True) * 1).exp().grad_fn


def halved(torch: Any) -> Any:
    return (torch.ones(2, requires_grad=True) * torch.ones(2)).grad_fn


def freed(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * torch.ones(2, requires_grad=True)
    y.sum().backward()
    return y.grad_fn


def hook(slot: Any, pack: Any = lambda x: x) -> None:
    slot.register_hooks(pack, lambda x: x)


SLOTS: dict[str, Program] = {
    "twice": slot_of(
        lambda n: [hook(n._raw_saved_self), hook(n._raw_saved_self)], squared
    ),
    "none": slot_of(lambda n: hook(n._raw_saved_self), halved),
    "writes": slot_of(
        lambda n: hook(n._raw_saved_result, lambda x: x.add_(1)), exponential
    ),
    "made": lambda torch: torch.autograd.SavedTensor(),
    "output": slot_of(lambda n: n._raw_saved_result.unpack(), exponential),
    "freed hooks": slot_of(lambda n: hook(n._raw_saved_self), freed),
    "freed": slot_of(lambda n: n._saved_self, freed),
    "unknown": slot_of(lambda n: n._saved_nothing, freed),
}


@pytest.mark.parametrize("name", SLOTS)
def test_a_slot_refuses_in_pytorchs_words(name: str) -> None:
    assert_same(SLOTS[name])


@pytest.mark.parametrize("hooked", [True, False])
def test_a_freed_slot_keeps_nothing(hooked: bool) -> None:
    def program(torch: Any) -> Any:
        y = torch.tensor([0.1, 0.2], requires_grad=True).exp()
        slot = y.grad_fn._raw_saved_result
        if hooked:
            slot.register_hooks(lambda x: x * 2, lambda x: x / 2)
        before = slot.data, slot.unpack_hook is None
        y.sum().backward()
        return before, slot.data, slot.unpack_hook

    assert_same(program)


def test_hooks_of_a_slot_must_be_two_functions() -> None:
    y = gradtape.ones(2, requires_grad=True).exp()
    slot = y.grad_fn._raw_saved_result
    for hooks in ((len,), (1, 1)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            slot.register_hooks(*hooks)


def test_hooks_on_one_use_of_a_leaf_leave_its_other_uses_alone() -> None:
    def program(torch: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y, z = w * w, w * w
        y.grad_fn._raw_saved_self.register_hooks(lambda x: 10 * x, lambda x: x)
        (y + z).sum().backward()
        return w.grad

    assert_same(program)


def test_inputs_are_saved_as_themselves_and_outputs_are_not() -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a * a
        c, d = a * b, torch.exp(a)
        saved = d.grad_fn._saved_result
        return (
            b.grad_fn._saved_self is a,
            c.grad_fn._saved_other is b,
            saved is d,
            saved,
            saved.grad_fn is d.grad_fn,
            saved._version == d._version,
        )

    assert_same(program)


def test_an_input_that_was_detached_in_place_is_refused() -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor(1.0, requires_grad=True).clone()
        b = a.sin()
        a.detach_()
        b.backward()

    def output(torch: Any) -> Any:
        a = torch.tensor(1.0, requires_grad=True).clone()
        b = a.exp()
        b.detach_()
        return a.exp().backward()

    def afterwards(torch: Any) -> Any:
        w, h = torch.ones(2, requires_grad=True), torch.ones(2)
        for _ in range(3):
            h = h * w
            h.sum().backward()
            h.detach_()
        return w.grad

    for each in (program, output, afterwards):
        assert_same(each)
