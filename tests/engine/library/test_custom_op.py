"""Ops of the user's own, ``torch.library.custom_op``, against PyTorch's.

PyTorch reads the annotations of functions, which must be no strings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ..oracle import assert_same

pytest.importorskip("torch.library")

SPACE = "gradtape_tests"
"""Ops stay for good: no two here have the same name."""


def sine(torch: Any, name: str) -> Any:
    def sin(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    return torch.library.custom_op(f"{SPACE}::{name}", sin, mutates_args=())


def with_derivative(torch: Any, name: str) -> Any:
    op = sine(torch, name)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0].cos()

    op.register_autograd(backward, setup_context=setup_context)
    return op


def test_an_op_has_the_derivative_that_was_registered():
    def program(torch: Any) -> Any:
        op = with_derivative(torch, "sin")
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = op(x)
        y.sum().backward()
        return y, x.grad

    assert_same(program)


def test_gradcheck_accepts_it_and_transforms_go_through():
    def program(torch: Any) -> Any:
        op = with_derivative(torch, "checked")
        x = torch.rand(3, dtype=torch.float64, requires_grad=True)
        return torch.autograd.gradcheck(op, x), torch.vmap(op)(torch.ones(2, 3)).clone()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # how slow PyTorch's is
        assert_same(program)


def test_backward_without_a_derivative_says_so():
    def program(torch: Any) -> Any:
        op = sine(torch, "underived")
        y = op(torch.ones(2, requires_grad=True))
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            y.sum().backward()
        return y.requires_grad

    assert_same(program)


def test_it_is_found_under_ops_and_by_its_name():
    def program(torch: Any) -> Any:
        op = sine(torch, "found")
        space = getattr(torch.ops, SPACE)
        found = space.found
        torch.library.register_autograd(op._qualname, lambda ctx, grad: grad * 2)
        x = torch.ones(2, requires_grad=True)
        found.default(x).sum().backward()
        missing = hasattr(space, "nothing_of_the_kind")
        return found(torch.ones(2)), x.grad, missing

    assert_same(program)


def test_lists_of_tensors_and_several_results_have_derivatives():
    def program(torch: Any) -> Any:
        pair = tuple[torch.Tensor, torch.Tensor]

        def both(x: torch.Tensor, ys: Sequence[torch.Tensor], k: float) -> pair:
            return x * ys[0] * k, ys[1] * 2

        seen: list[Any] = []

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ys, ctx.k = inputs
            ctx.save_for_backward(x, *ys)

        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y, _ = ctx.saved_tensors
            seen.append(str(ctx.needs_input_grad))
            return g * y * ctx.k, [g * x * ctx.k, h * 2], None

        op = torch.library.custom_op(f"{SPACE}::both", both, mutates_args=())
        op.register_autograd(backward, setup_context=setup_context)
        x, y, z = (torch.full((1,), v, requires_grad=True) for v in (2.0, 3.0, 4.0))
        a, b = op(x, [y, z], 2.0)
        (a + b).sum().backward()
        return a, b, x.grad, y.grad, z.grad, seen

    assert_same(program)


def test_what_it_writes_to_counts_as_written():
    def program(torch: Any) -> Any:
        def double_(x: torch.Tensor, by: float = 2.0) -> None:
            x.numpy()[...] *= by

        op = torch.library.custom_op(f"{SPACE}::double_", double_, mutates_args=("x",))
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y * y
        plain = torch.ones(2)
        op(plain)
        op(plain, by=3.0)
        op(y.detach())
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
        return plain, plain._version

    assert_same(program)


def test_results_may_not_be_operands():
    def program(torch: Any) -> Any:
        def same(x: torch.Tensor) -> torch.Tensor:
            return x.view(-1)

        op = torch.library.custom_op(f"{SPACE}::same", same, mutates_args=())
        with pytest.raises(RuntimeError, match="must not also be an input to this"):
            op(torch.ones(2))

    assert_same(program)


def test_meta_tensors_ask_for_what_was_registered():
    def program(torch: Any) -> Any:
        op = sine(torch, "meta")
        with pytest.raises(RuntimeError, match="There was no fake impl registered"):
            op(torch.ones(2, device="meta"))
        op.register_fake(torch.empty_like)
        found = op(torch.ones(2, device="meta"))
        return found.shape, str(found.device)

    assert_same(program)


def test_signatures_are_read_as_pytorch_reads_them():
    def program(torch: Any) -> Any:
        def bare(x) -> torch.Tensor:  # type: ignore[no-untyped-def]
            return x

        def quiet(x: torch.Tensor):  # type: ignore[no-untyped-def]
            return x

        def fine(x: torch.Tensor, *, k: float = 2.0) -> torch.Tensor:
            return x * k

        def named(x: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
            return x * y

        said: list[str] = []
        cases = (bare, ()), (quiet, ()), (fine, ("q",)), (fine, "x"), (named, ())
        for function, written in cases:
            try:
                torch.library.custom_op(
                    f"{SPACE}::{function.__name__}_", function, mutates_args=written
                )
            except (NotImplementedError, ValueError) as error:
                said.append(str(error).partition(" Got")[0])
        op = torch.library.custom_op(f"{SPACE}::fine", fine, mutates_args=())
        bared = torch.library.custom_op(
            f"{SPACE}::bare",
            bare,
            mutates_args=(),
            schema="(Tensor x) -> Tensor",
        )
        return said, op(torch.ones(2), k=3.0), type(bared).__name__

    assert_same(program)


def test_a_mode_sees_it_as_one_op():
    def program(torch: Any) -> Any:
        seen: list[str] = []

        class Log(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        op = sine(torch, "seen")
        x = torch.ones(2)
        with Log():
            y = op(x)
        return seen[:1], y

    assert_same(program)


def test_without_gradients_nothing_is_set_up():
    def program(torch: Any) -> Any:
        called: list[str] = []
        op = sine(torch, "unset")
        op.register_autograd(
            lambda ctx, grad: grad,
            setup_context=lambda ctx, inputs, output: called.append("set up"),
        )
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            y = op(x)
        op(x.detach())
        return called, y.requires_grad

    assert_same(program)
