"""Ops defined by a schema, ``torch.library.Library``, against PyTorch's."""

import re
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import gradtape as gt

from ..oracle import assert_same

pytest.importorskip("torch.library")

SPACE = "gradtape_library"
"""Its ops go with the library that defined them; no two here have the same name."""


def space_of(torch: Any) -> Any:
    return getattr(torch.ops, SPACE)


def error_of(function: Any) -> str:
    with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
        function()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_an_op_is_found_by_its_name_and_overload():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("scaled(Tensor x, float by=2.0, *, str how='up') -> Tensor")
        lib.define("scaled.twice(Tensor x, Tensor y) -> (Tensor, Tensor)")
        lib.impl("scaled", lambda x, by=2.0, how="up": x.detach() * by, "CPU")
        lib.impl("scaled.twice", lambda x, y: (x.detach() * y, y * 1), "CPU")
        op, x = space_of(torch).scaled, torch.ones(2)
        found = op(x), op(x, by=3.0), op.twice(x, x * 5), op(x, x * 7)
        return found, op.overloads(), str(op.default._schema), str(op.twice._schema)

    assert_same(program)


def test_schemas_are_spelled_as_pytorch_spells_them():
    schemas = (
        "a(Tensor x, float y=1.5, *, int[] z=[1,2], bool? b=None, str s='q') -> Tensor",
        "b(Tensor(a!) x, Tensor[] ys, SymInt n) -> Tensor(a!)",
        "c(Tensor?[] x, int[2] k=1, ScalarType? d=None) -> (Tensor, Tensor[])",
        "d() -> ()",
    )

    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        names = [lib.define(schema) for schema in schemas]
        return [
            str(getattr(space_of(torch), name).default._schema) for name in names
        ], repr(lib)

    assert_same(program)


def test_wrong_arguments_are_refused():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("strict(Tensor x, int n, *, int k=1) -> Tensor")
        op, x = space_of(torch).strict.default, torch.ones(2)
        said = [
            error_of(lambda: op()),
            error_of(lambda: op(3, 1)),
            error_of(lambda: op(x, 1, 2)),
            error_of(lambda: op(x, 1, 2, 3)),
            error_of(lambda: op(x, 1, q=2)),
            error_of(lambda: lib.impl("strict", 3, "CPU")),
            error_of(lambda: torch.library.Library(SPACE, "NEW")),
            error_of(lambda: torch.library.define("nothing", "(Tensor x) -> Tensor")),
            error_of(lambda: torch.library.define(f"{SPACE}::q", "nothing")),
        ]
        again = error_of(lambda: lib.define("strict(Tensor x) -> Tensor"))
        unknown = error_of(lambda: lib.define("odd(Tensr x) -> Tensor"))
        return said, again.partition(" Duplicate")[0], unknown.splitlines()[1]

    assert_same(program)


def test_kernels_made_of_ops_are_differentiated_through():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("composite(Tensor x) -> Tensor")
        lib.impl("composite", lambda x: x.sin() * 2)
        x = torch.ones(2, requires_grad=True)
        y = space_of(torch).composite(x)
        y.sum().backward()
        return y, x.grad

    assert_same(program)


def test_without_a_derivative_backward_warns():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("underived(Tensor x) -> (Tensor, Tensor)")
        lib.impl(
            "underived",
            lambda x: (torch.from_numpy(np.sin(x.detach().numpy())), x.cos()),
            "CPU",
        )
        x = torch.ones(2, requires_grad=True)
        results = space_of(torch).underived(x)
        said: list[str] = []
        for each in results:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                each.sum().backward()
            said += [
                str(warning.message).partition(" (Triggered")[0] for warning in caught
            ]
        grads = [str(each).partition("grad_fn")[2] for each in results]
        return [each.detach() for each in results], grads, x.grad, said

    assert_same(program)


def test_a_function_under_the_autograd_key_calls_the_op_below_it():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("derived(Tensor x) -> Tensor")
        lib.impl("derived", lambda x: torch.from_numpy(np.sin(x.numpy())), "CPU")

        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                with torch._C._AutoDispatchBelowAutograd():
                    return space_of(torch).derived(x)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * ctx.saved_tensors[0].cos()

        lib.impl("derived", Sine.apply, "Autograd")
        x = torch.ones(2, requires_grad=True)
        y = space_of(torch).derived(x)
        y.sum().backward()
        return y, x.grad

    assert_same(program)


def test_a_fallthrough_says_that_there_is_no_derivative():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("constant(Tensor x) -> Tensor")
        lib.impl("constant", lambda x: x.detach() * 2, "CPU")
        lib.impl("constant", torch.library.fallthrough_kernel, "Autograd")
        return space_of(torch).constant(torch.ones(2, requires_grad=True))

    assert_same(program)


def test_define_and_impl_need_no_library():
    def program(torch: Any) -> Any:
        name, x = f"{SPACE}::alone", torch.ones(2, requires_grad=True)
        torch.library.define(name, "(Tensor x) -> Tensor")
        torch.library.impl(name, "cpu", lambda x: x.detach() * 2)
        torch.library.register_fake(name, torch.empty_like)
        torch.library.register_autograd(name, lambda ctx, grad: grad * 7)
        op = space_of(torch).alone
        op(x).sum().backward()
        checked = torch.library.opcheck(op, (x,))
        return op(x), x.grad, op(x.to("meta")).shape, checked

    assert_same(program)


def test_an_op_goes_with_its_library():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("passing(Tensor x) -> Tensor")
        there = hasattr(space_of(torch), "passing")
        del lib
        lib = torch.library.Library(SPACE, "FRAGMENT")
        return there, lib.define("passing(Tensor x) -> Tensor")

    assert_same(program)


def test_opcheck_finds_what_a_schema_does_not_say():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("writing(Tensor x) -> Tensor")
        lib.impl("writing", lambda x: x.add_(1).clone(), "CPU")
        lib.define("same(Tensor x) -> Tensor")
        lib.impl("same", lambda x: x, "CPU")
        lib.define("hidden(Tensor x) -> Tensor")
        lib.impl("hidden", lambda x: x.sin(), "CPU")
        space, x = space_of(torch), torch.ones(2, requires_grad=True)
        tests = {
            "writing": "schema",
            "same": "schema",
            "hidden": "autograd_registration",
        }
        said: list[str] = []
        for name, test in tests.items():
            given = x if name == "hidden" else x.detach()
            with pytest.raises(Exception, match="opcheck") as caught:
                torch.library.opcheck(
                    getattr(space, name), (given,), test_utils=f"test_{test}"
                )
            said.append(str(caught.value))
        return said

    assert_same(program)


def test_schemas_are_inferred_from_annotations():
    def program(torch: Any) -> Any:
        def a(
            x: torch.Tensor, n: int = 3, *, k: str = "up", ys: list[torch.Tensor]
        ) -> torch.Tensor:
            return x

        def b(
            x: "list[int] | None", y: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            return y, y

        def c(x: dict) -> torch.Tensor:  # type: ignore[type-arg]
            return x  # type: ignore[return-value]

        def d(x: tuple[int, int]) -> torch.Tensor:
            return x

        def e(x: torch.Tensor, *rest: torch.Tensor) -> None: ...
        def f(x: int) -> dict: ...  # type: ignore[type-arg, empty-body]

        infer = torch.library.infer_schema
        said = [
            error_of(lambda each=each, w=w: infer(each, mutates_args=w))
            for each, w in ((c, ()), (d, ()), (e, ()), (f, ("x",)), (f, ()))
        ]
        return (
            infer(a, mutates_args={"ys"}, op_name="a"),
            infer(a, mutates_args="unknown"),
            infer(b, mutates_args=()),
            [re.split(" Got|The valid", each)[0] for each in said],
        )

    assert_same(program)


def test_tags_are_kept():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("tagged(Tensor x) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
        return str(space_of(torch).tagged.default.tags[0])

    assert_same(program)


def test_a_schema_and_what_is_said_to_be_written_must_agree():
    def program(torch: Any) -> Any:
        return error_of(
            lambda: torch.library.custom_op(
                f"{SPACE}::torn",
                lambda x: x * 2,
                mutates_args=(),
                schema="(Tensor(a!) x) -> Tensor",
            )
        )

    assert_same(program)


def test_opcheck_compares_what_the_meta_device_gives():
    gradtape = sys.modules["gradtape"]
    lib = gradtape.library.Library(SPACE, "FRAGMENT")
    lib.define("faked(Tensor x) -> Tensor")
    lib.impl("faked", lambda x: x.clone(), "CPU")
    lib.impl("faked", lambda x: x.new_empty(3), "Meta")
    with pytest.raises(Exception, match=r"shape \(2,\) .* but its fake impl .*\(3,\)"):
        gradtape.library.opcheck(
            space_of(gradtape).faked, (gradtape.ones(2),), test_utils="test_faketensor"
        )


def test_libraries_are_told_what_they_cannot_do():
    gradtape = sys.modules["gradtape"]
    with pytest.raises(NotImplementedError, match="TorchDispatchMode"):
        gradtape.library.Library("aten", "IMPL")
    lib = gradtape.library.Library(SPACE, "FRAGMENT")
    lib.define("keyed(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="the dispatch key ZeroTensor"):
        lib.impl("keyed", lambda x: x, "ZeroTensor")


def test_a_derivative_learns_what_was_given_by_name_or_left_out():
    def program(torch: Any) -> Any:
        lib, met = torch.library.Library(SPACE, "FRAGMENT"), []
        lib.define("keyed(Tensor w, int x=2, *, int y=3, int z) -> Tensor")
        lib.impl("keyed", lambda w, x=2, *, y=3, z: w * x * y * z, "CPU")

        def setup_context(
            ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any
        ) -> None:
            met.append((inputs[1], keyword_only_inputs, len(ctx.needs_input_grad)))
            ctx.c = inputs[1] * keyword_only_inputs["y"] * keyword_only_inputs["z"]

        torch.library.register_autograd(
            f"{SPACE}::keyed",
            lambda ctx, grad: grad * ctx.c,
            setup_context=setup_context,
            lib=lib,
        )
        w = torch.ones(2, requires_grad=True)
        space_of(torch).keyed(w, z=42).sum().backward()
        return w.grad, [each[:2] for each in met]

    assert_same(program)


def test_a_rule_for_batches_serves_an_op_without_a_derivative():
    def program(torch: Any) -> Any:
        lib, met = torch.library.Library(SPACE, "FRAGMENT"), []
        lib.define("batched(Tensor x, *, float y) -> Tensor")
        lib.impl("batched", lambda x, *, y: x * y, "CPU")

        def rule(info: Any, in_dims: Any, x: Any, *, y: float) -> Any:
            met.append((info.batch_size, in_dims))
            return x * y, 0

        torch.library.register_vmap(f"{SPACE}::batched", rule, lib=lib)
        return torch.vmap(space_of(torch).batched)(torch.ones(3), y=2.5), met

    assert_same(program)


def test_ops_go_with_their_library_and_its_handle():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("handled(Tensor x) -> Tensor")
        lib.impl("handled", lambda x: x + 1, "CPU")
        name = f"{SPACE}::handled"
        before = torch._library.utils.lookup_op(name)(torch.ones(1))
        delattr(torch.ops, SPACE)
        del lib.m
        del lib
        again = torch.library.Library(SPACE, "FRAGMENT")
        again.define("handled(Tensor x, Tensor y) -> Tensor")
        found = torch._custom_op.impl.get_op(name)
        missing = error_of(lambda: torch._custom_op.impl.get_op(f"{SPACE}::gone"))
        return before, str(found._schema), missing

    assert_same(program)


def test_ops_that_hold_their_library_go_with_its_handle():
    lib = gt.library.Library(SPACE, "FRAGMENT")
    lib.define("holding(Tensor x) -> Tensor")
    lib.impl("holding", lambda x, held=lib: x + 1, "CPU")
    del lib.m
    assert not hasattr(getattr(gt.ops, SPACE), "holding")


def test_the_old_name_of_fakes_warns():
    def program(torch: Any) -> Any:
        lib = torch.library.Library(SPACE, "FRAGMENT")
        lib.define("aged(Tensor x) -> Tensor")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.library.impl_abstract(f"{SPACE}::aged", lambda x: x * 1, lib=lib)
        found = space_of(torch).aged(torch.ones(2, 3, device="meta"))
        return tuple(found.shape), [str(each.message) for each in caught]

    assert_same(program)
