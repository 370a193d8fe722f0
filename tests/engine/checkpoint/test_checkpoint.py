"""Checkpoints against PyTorch's: gradients, calls of the function, refusals."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_same
from .checkpoints import counted, run

pytest.importorskip("torch.utils.checkpoint")

Program = Callable[[Any], Any]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_of_the_plain_call(reentrant: bool) -> None:
    def program(torch: Any) -> Any:
        w = torch.tensor([[1.0, 0.5], [0.3, 2.0]], requires_grad=True)
        x = torch.tensor([[0.1, 0.2]], requires_grad=True)
        function, calls = counted(lambda x: ((x @ w).sigmoid() * x.exp()).sin())
        y = run(torch, function, x, use_reentrant=reentrant)
        during = len(calls)
        y.sum().backward()
        return y, w.grad, x.grad, during, len(calls)

    assert_same(program)


@pytest.mark.parametrize("reentrant", [True, False])
def test_random_numbers_repeat_themselves(reentrant: bool) -> None:
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        x = torch.ones(8, requires_grad=True)
        y = run(
            torch,
            lambda x: torch.nn.functional.dropout(x.sin(), 0.5).exp(),
            x,
            use_reentrant=reentrant,
        )
        torch.rand(3)
        before = torch.get_rng_state().sum().item()
        y.sum().backward()
        return y, x.grad, before == torch.get_rng_state().sum().item()

    assert_same(program)


def test_anything_goes_in_and_out() -> None:
    def program(torch: Any) -> Any:
        def function(data: Any, *, scale: float, extra: Any = None) -> Any:
            y = data["x"] * scale
            return {"y": y.sin(), "none": extra, "text": "kept", "list": [y.exp(), 3]}

        x = torch.tensor([0.1, 0.2], requires_grad=True)
        out = run(torch, function, {"x": x}, scale=2.0)
        (out["y"] + out["list"][0]).sum().backward()
        return out, x.grad

    assert_same(program)


def test_no_recording_no_checkpoint() -> None:
    def program(torch: Any) -> Any:
        function, calls = counted(torch.sin)
        with torch.no_grad():
            y = run(torch, function, torch.ones(2, requires_grad=True))
        z = run(torch, function, torch.ones(2))
        return y, z, len(calls)

    assert_same(program)


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_checkpoints_nest(stop: bool, depth: int) -> None:
    def program(torch: Any) -> Any:
        function, calls = counted(lambda x: x.sin().exp())
        steps = [function]
        for _ in range(depth):
            steps.append(functools.partial(run, torch, steps[-1]))
        x = torch.tensor([0.1, 0.2], requires_grad=True)

        def both(x: Any) -> Any:
            return steps[-1](steps[-1](x)) * x

        with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = run(torch, both, x)
        y.sum().backward()
        return y, x.grad, len(calls)

    assert_same(program)


@pytest.mark.parametrize("retain", [True, False])
def test_backward_may_run_inside(retain: bool) -> None:
    def program(torch: Any) -> Any:
        def function(x: Any) -> Any:
            y = x.sin()
            z = y.cos()
            (g,) = torch.autograd.grad(z.sum(), x, retain_graph=retain)
            return x.cos() * g, z if retain else None

        x = torch.tensor([0.1, 0.2], requires_grad=True)
        found = []
        for stop in (True, False):
            out, z = run(torch, function, x, early_stop=stop)
            (out if z is None else out + z).sum().backward()
            found.append((out, x.grad.clone()))
        return found

    assert_same(program)


def test_second_derivatives_and_kept_graphs() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        function, calls = counted(lambda x: x.sin().exp())
        y = run(torch, function, x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, retain_graph=True)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return g, h, x.grad, len(calls)

    assert_same(program)


def test_a_graph_is_used_up_as_usual() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = run(torch, lambda x: x.sin().exp(), x)
        y.sum().backward()
        y.sum().backward()

    assert_same(program)


def test_saved_values_can_be_looked_at() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        function, calls = counted(lambda x: x.sin().exp())
        y = run(torch, function, x)
        shown = y.grad_fn._saved_result, y.grad_fn._saved_result
        return shown, len(calls)

    assert_same(program)


def test_a_user_function_saves_through_a_checkpoint() -> None:
    def program(torch: Any) -> Any:
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                y = x.exp()
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                x, y = ctx.saved_tensors
                return grad * y * x

        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = run(torch, lambda x: Double.apply(x.sin()).sin(), x)
        y.sum().backward()
        return y, x.grad

    assert_same(program)


def test_an_argument_that_was_overwritten_is_refused() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True) * 1
        y = run(torch, lambda x: x.sin(), x)
        x.mul_(2)
        y.sum().backward()

    assert_same(program)


def test_hooks_around_a_checkpoint_see_its_arguments() -> None:
    def program(torch: Any) -> Any:
        log: list[Any] = []
        a = torch.tensor([0.1, 0.2], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x: (log.append(x.tolist()), x.detach())[1], lambda x: x
        ):
            h = a.sin()
            y = run(torch, lambda x: x.exp().sin(), h)
        y.sum().backward()
        return len(log), a.grad

    assert_same(program)


@pytest.mark.parametrize("reentrant", [True, False, None])
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_a_sequence_is_checkpointed_in_parts(
    reentrant: bool | None, segments: int
) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([[0.1, 0.2]], requires_grad=True)
        steps = [torch.sin, torch.exp, torch.cos, torch.tanh, torch.sigmoid]
        functions = [counted(step) for step in steps]
        y = torch.utils.checkpoint.checkpoint_sequential(
            [function for function, _ in functions], segments, x, reentrant
        )
        y.sum().backward()
        return y, x.grad, [len(calls) for _, calls in functions]

    assert_same(program)


def test_a_module_sequence_is_checkpointed() -> None:
    def program(torch: Any) -> Any:
        model = torch.nn.Sequential(
            torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Softplus()
        )
        x = torch.tensor([[0.1, 0.2]], requires_grad=True)
        y = torch.utils.checkpoint.checkpoint_sequential(
            model, 3, x, use_reentrant=False
        )
        y.sum().backward()
        return y, x.grad

    assert_same(program)


def test_contexts_go_around_both_calls() -> None:
    def program(torch: Any) -> Any:
        log: list[str] = []

        @contextlib.contextmanager
        def named(name: str) -> Any:
            log.append(f"enter {name}")
            yield
            log.append(f"leave {name}")

        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = run(
            torch,
            lambda x: (log.append("call"), x.sin().exp())[1],
            x,
            context_fn=lambda: (named("forward"), named("again")),
            early_stop=False,
        )
        y.sum().backward()
        return log, x.grad

    assert_same(program)


def test_one_recomputation_serves_a_group_of_passes() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        function, calls = counted(lambda x: (x.sin().exp(), x.cos().exp()))
        a, b = run(torch, function, x, early_stop=False)
        with torch.utils.checkpoint.GraphExecGroup():
            a.sum().backward()
            b.sum().backward()
        return x.grad, len(calls)

    def overlap(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = run(torch, lambda x: x.sin().exp(), x)
        with torch.utils.checkpoint.GraphExecGroup():
            y.sum().backward(retain_graph=True)
            y.sum().backward()

    def nested(torch: Any) -> Any:
        group = torch.utils.checkpoint.GraphExecGroup
        with group():
            try:
                group().__enter__()
            except RuntimeError as error:
                return str(error).partition("Already")[0]

    for each in (program, overlap, nested):
        assert_same(each)


REFUSALS: dict[str, Program] = {
    "check": lambda torch: run(torch, torch.sin, torch.ones(1), determinism_check="x"),
    "keyword": lambda torch: (
        run(torch, torch.sin, torch.ones(1), 3, use_reentrant=True) and None
    ),
    "reentrant keyword": lambda torch: run(
        torch, torch.sin, torch.ones(1), use_reentrant=True, scale=3
    ),
    "reentrant debug": lambda torch: run(
        torch, torch.sin, torch.ones(1), use_reentrant=True, debug=True
    ),
    "debug and context": lambda torch: run(
        torch, torch.sin, torch.ones(1), debug=True, context_fn=lambda: (None, None)
    ),
    "sequence keyword": lambda torch: torch.utils.checkpoint.checkpoint_sequential(
        [torch.sin], 1, torch.ones(1), use_reentrant=False, scale=3
    ),
    "not a tuple": lambda torch: torch.utils.checkpoint.detach_variable([1]),
    "no gradient": lambda torch: torch.utils.checkpoint.check_backward_validity(
        [torch.ones(1), 3]
    ),
    "says nothing": lambda torch: run(
        torch, torch.sin, torch.ones(1, requires_grad=True), use_reentrant=None
    ),
    "grad of reentrant": lambda torch: _grad_of_reentrant(torch),
    "output without gradient": lambda torch: run(
        torch,
        lambda x: x.detach(),
        torch.ones(1, requires_grad=True),
        use_reentrant=True,
    ).backward(),
}


def _grad_of_reentrant(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)
    y = run(torch, torch.sin, x, use_reentrant=True)
    return torch.autograd.grad(y.sum(), x)


@pytest.mark.parametrize("name", REFUSALS)
def test_misuse_is_refused_in_pytorchs_words(name: str) -> None:
    assert_same(REFUSALS[name])


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_autocast_is_that_of_the_first_call(reentrant: bool, inside: bool) -> None:
    """On in forward and off in backward, or the other way round."""

    def program(torch: Any) -> Any:
        w = torch.tensor([[1.0, 0.5], [0.3, 2.0]], requires_grad=True)
        x = torch.tensor([[0.1, 0.2]], requires_grad=True)
        kinds: list[Any] = []

        def function(x: Any) -> Any:
            hidden = (x @ w).sigmoid() @ w
            kinds.append(hidden.dtype)
            return hidden.exp()

        with torch.autocast("cpu", enabled=inside):
            y = run(torch, function, x, use_reentrant=reentrant, early_stop=False)
        with torch.autocast("cpu", enabled=not inside):
            y.sum().backward()
            kept = torch.is_autocast_enabled("cpu")
        return y, w.grad, x.grad, kinds, kept, torch.is_autocast_enabled("cpu")

    assert_same(program, rtol=1e-2)  # bfloat16


def test_an_error_inside_leaves_nothing_switched_on() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([0.1, 0.2], requires_grad=True)

        def fail(x: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            run(torch, fail, x)
        y = x.exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
        return y

    assert_same(program)
