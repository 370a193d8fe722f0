"""Autocast: its blocks, switches and cache, and what else sees them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gradtape._autocast.autocast import state

from ..oracle import assert_same


def weights(t: Any, *shape: int) -> Any:
    return t.linspace(-1, 1, 4).reshape(shape).requires_grad_()


# ---- the cache ----


def test_a_parameter_is_cast_once_per_block() -> None:
    def program(t: Any) -> Any:
        x = weights(t, 2, 2)

        def casts(**options: Any) -> bool:
            with t.autocast("cpu", **options):
                one, two = x @ x, x @ x
            first = one.grad_fn.next_functions[0][0]
            return first is two.grad_fn.next_functions[0][0]

        return casts(), casts(cache_enabled=False)

    assert_same(program)
    assert not state.cache


def test_an_inner_block_keeps_the_cache_of_the_outer() -> None:
    def program(t: Any) -> Any:
        x = weights(t, 2, 2)
        with t.autocast("cpu"):
            one = x @ x
            with t.autocast("cpu"):
                x @ x
            two = x @ x
        return one.grad_fn.next_functions[0][0] is two.grad_fn.next_functions[0][0]

    assert_same(program)


def test_what_was_cast_without_gradients_is_not_used_with_them() -> None:
    def program(t: Any) -> Any:
        x = weights(t, 2, 2)
        with t.autocast("cpu"):
            with t.no_grad():
                x @ x
            return (x @ x).requires_grad

    assert_same(program)


# ---- blocks ----


def test_blocks_nest_and_end() -> None:
    def program(t: Any) -> Any:
        x, seen = t.eye(2), []

        def note() -> None:
            seen.append((t.is_autocast_enabled("cpu"), (x @ x).dtype))
            seen.append(t.get_autocast_dtype("cpu"))

        note()
        with t.autocast("cpu"):
            note()
            with t.autocast("cpu", enabled=False):
                note()
                with t.autocast("cpu", dtype=t.float16):
                    note()
            note()
        note()
        return seen

    assert_same(program)


def test_an_error_ends_the_block() -> None:
    def program(t: Any) -> Any:
        try:
            with t.autocast("cpu"):
                raise KeyError
        except KeyError:
            return t.is_autocast_enabled("cpu")

    assert_same(program)


def test_it_decorates_functions() -> None:
    def program(t: Any) -> Any:
        @t.autocast("cpu")
        def product(x: Any) -> Any:
            """Multiply."""
            return x @ x

        found = product(t.eye(2))
        return found, product.__name__, product.__doc__, t.is_autocast_enabled("cpu")

    assert_same(program)


def test_threads_begin_without() -> None:
    def program(t: Any) -> Any:
        found: list[Any] = []
        with t.autocast("cpu"):
            run = threading.Thread(
                target=lambda: found.append(t.is_autocast_enabled("cpu"))
            )
            run.start()
            run.join()
        return found

    assert_same(program)


@pytest.mark.parametrize(
    "arguments",
    [("cuda",), ("fpga",), (3,), ("nowhere",), ("meta", "bfloat16")],
    ids=["cuda", "fpga", "number", "nowhere", "meta"],
)
def test_what_cannot_be_on_warns_or_refuses(arguments: Any) -> None:
    def program(t: Any) -> Any:
        kind, *dtype = arguments
        block = t.autocast(kind, *(getattr(t, name) for name in dtype))
        with block:
            return t.is_autocast_enabled(kind)

    assert_same(program)


@pytest.mark.parametrize("kind", ["cpu", "mps"])
def test_other_precisions_leave_it_off(kind: str) -> None:
    def program(t: Any) -> Any:
        with t.autocast(kind, dtype=t.float32):
            return t.is_autocast_enabled(kind), t.get_autocast_dtype(kind)

    assert_same(program)


def test_only_functions_are_decorated() -> None:
    assert_same(lambda t: t.autocast("cpu")(3))


def test_unmanaged_blocks_open_and_close() -> None:
    def program(t: Any) -> Any:
        block = t.amp._enter_autocast("cpu", t.float16, True, True)
        inside = (t.eye(2) @ t.eye(2)).dtype
        t.amp._exit_autocast(block)
        return inside, t.is_autocast_enabled("cpu")

    assert_same(program)


# ---- switches ----


def test_the_switches_answer_alike() -> None:
    def program(t: Any) -> Any:
        seen = [
            t.is_autocast_enabled(),
            t.is_autocast_enabled("cpu"),
            t.get_autocast_dtype("cpu"),
            t.get_autocast_dtype("cuda"),
            t.is_autocast_cache_enabled(),
            t.autocast_increment_nesting(),
            t.autocast_decrement_nesting(),
            t._C._is_any_autocast_enabled(),
            t._C._is_autocast_available("cpu"),
        ]
        t.set_autocast_enabled("cpu", True)
        t.set_autocast_dtype("cpu", t.float16)
        seen += [(t.eye(2) @ t.eye(2)).dtype, t._C._is_any_autocast_enabled()]
        t.set_autocast_dtype("cpu", t.bfloat16)
        t.set_autocast_enabled("cpu", False)
        t.set_autocast_cache_enabled(False)
        seen.append(t.is_autocast_cache_enabled())
        t.set_autocast_cache_enabled(True)
        t.clear_autocast_cache()
        return seen

    assert_same(program)


def test_cuda_can_be_switched_on_without_a_device() -> None:
    def program(t: Any) -> Any:
        t.set_autocast_enabled(True)
        found = t.is_autocast_enabled(), t.is_autocast_enabled("cuda"), t.eye(2).exp()
        t.set_autocast_enabled(False)
        return found

    assert_same(program)


KINDS = ("cpu", "cuda", "fpga", "hip", "hpu", "meta", "mps", "nowhere", "xla")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["amp.is_autocast_available", "get_autocast_dtype", "is_autocast_enabled"]
)
def test_device_types_are_known_alike(name: str, kind: str) -> None:
    def program(t: Any) -> Any:
        *path, last = name.split(".")
        return getattr(getattr(t, path[0]) if path else t, last)(kind)

    assert_same(program)


@pytest.mark.parametrize(
    "name",
    [
        *("get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "get_autocast_ipu_dtype"),
        *("get_autocast_xla_dtype", "is_autocast_cpu_enabled"),
        *("is_autocast_ipu_enabled", "is_autocast_xla_enabled"),
    ],
)
def test_older_switches_warn(name: str) -> None:
    assert_same(lambda t: getattr(t, name)())


# ---- around it ----


def test_backward_inside_a_block_records_in_its_precision() -> None:
    def program(t: Any) -> Any:
        x = weights(t, 2, 2)
        y = (x @ x).sum()
        with t.autocast("cpu"):
            (grad,) = t.autograd.grad(y, x, create_graph=True)
        return grad.dtype, grad.requires_grad

    assert_same(program)


def test_custom_functions_see_it() -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Product(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                seen.append(ctx._fwd_used_autocast)
                seen.append(ctx._dtype)
                return x @ x

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                (x,) = ctx.saved_tensors
                seen.append(t.is_autocast_enabled("cpu"))
                return grad @ x

        x = weights(t, 2, 2)
        Product.apply(x).sum().backward()
        with t.autocast("cpu"):
            y = Product.apply(x)
        y.float().sum().backward()
        return seen, y.dtype, x.grad.dtype

    assert_same(program)


def test_custom_functions_may_have_their_inputs_cast() -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Product(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx: Any, x: Any, rest: Any) -> Any:
                ctx.save_for_backward(x)
                seen.append((ctx._fwd_used_autocast, x.dtype, rest["a"][0].dtype))
                return x @ x

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append(t.is_autocast_enabled("cpu"))
                return grad @ ctx.saved_tensors[0], None

        x = t.eye(2).bfloat16().requires_grad_()
        rest = {"a": (t.ones(1).bfloat16(), "text", 3)}
        with t.autocast("cpu"):
            y = Product.apply(x, rest)
        y.sum().backward()
        seen.append(Product.apply(x, rest).dtype)
        return seen, y.dtype, x.grad.dtype

    assert_same(program)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_compute_again_in_the_same_precision(reentrant: bool) -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        def product(x: Any) -> Any:
            found = x @ x
            seen.append((found.dtype, t.is_autocast_enabled("cpu")))
            return found

        x = weights(t, 2, 2)
        call = t.utils.checkpoint.checkpoint
        with t.autocast("cpu"):
            y = call(product, x * 1, use_reentrant=reentrant)
        y.float().sum().backward()
        z = call(product, x * 1, use_reentrant=reentrant)
        with t.autocast("cpu"):
            z.sum().backward()
        return seen, x.grad.dtype

    assert_same(program)


def test_inference_mode_and_autocast_go_together() -> None:
    def program(t: Any) -> Any:
        x = weights(t, 2, 2)
        with t.inference_mode(), t.autocast("cpu"):
            return (x @ x).dtype, (x @ x).is_inference()

    assert_same(program)
