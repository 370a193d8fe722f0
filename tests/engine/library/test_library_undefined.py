"""``torch.library`` where an op is not defined, or not yet, and names that are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import gradtape

from ..oracle import assert_equal, assert_same

pytest.importorskip("torch.library")

_PLACE = re.compile(r" at [^ ]*\.py:\d+")


def said(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {_PLACE.sub('', str(error))}"
    return "nothing"


def copied(x: Any) -> Any:
    return x.detach() + 1


FAKES: dict[str, Callable[[Any], Any]] = {
    "at once": lambda lib: lib.register_fake("undefined_a::op", copied),
    "decorating": lambda lib: lib.register_fake("undefined_a::op")(copied),
    "old name": lambda lib: lib.impl_abstract("undefined_a::op")(copied),
    "by a library": lambda lib: lib.Library("undefined_a", "FRAGMENT")._register_fake(
        "op", copied
    ),
    "no namespace": lambda lib: lib.register_fake("undefined_a.op", copied),
    "built in": lambda lib: lib.register_fake("aten::sin", copied),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("how", FAKES)
def test_shapes_need_an_op(how: str):
    assert_equal(lambda t: said(lambda: FAKES[how](t.library)))


def test_functions_wait_for_their_op():
    def program(torch: Any) -> Any:
        lib = torch.library.Library("undefined_b", "FRAGMENT")
        lib.impl("op", copied, "CPU")
        lib.impl("op", lambda x: x.new_empty(7), "Meta")
        before = said(lambda: torch.ops.undefined_b.op)
        lib.define("op(Tensor x) -> Tensor")
        op, x = torch.ops.undefined_b.op, torch.ones(2)
        return before, op(x), list(op(x.to("meta")).shape)

    assert_same(program)


def test_functions_without_a_library_wait_too():
    def program(torch: Any) -> Any:
        torch.library.impl("undefined_c::op", "cpu")(copied)
        torch.library.register_kernel("undefined_c::other", None, copied)
        torch.library.define("undefined_c::op", "(Tensor x) -> Tensor")
        torch.library.define("undefined_c::other", "(Tensor x) -> Tensor")
        x = torch.ones(2)
        return torch.ops.undefined_c.op(x), torch.ops.undefined_c.other(x)

    assert_same(program)


def test_functions_that_wait_go_with_their_library():
    def program(torch: Any) -> Any:
        gone = torch.library.Library("undefined_d", "FRAGMENT")
        gone.impl("op", lambda x: x * 5, "CPU")
        gone._destroy()
        lib = torch.library.Library("undefined_d", "FRAGMENT")
        lib.define("op(Tensor x) -> Tensor")
        return said(lambda: torch.ops.undefined_d.op(torch.ones(2)))[:40]

    assert_equal(program)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "derivative": lambda t: t.library.register_autograd("undefined_e::op", copied),
    "batches": lambda t: t.library.register_vmap("undefined_e::op", copied),
    "device": lambda t: t.library.impl("undefined_e::op", "gpu", copied),
    "define in IMPL": lambda t: t.library.Library("undefined_e", "IMPL").define(
        "op(Tensor x) -> Tensor"
    ),
    "another namespace": lambda t: t.library.Library("undefined_e", "FRAGMENT").impl(
        "undefined_f::op", copied, "CPU"
    ),
    "reserved": lambda t: t.library.Library("prim", "FRAGMENT"),
    "asked for": lambda t: t.ops.undefined_e.op,
    "no function": lambda t: t.library.Library("undefined_e", "IMPL").impl("op", 3),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_pytorchs(what: str):
    assert_equal(lambda t: said(lambda: REFUSED[what](t)))


def test_keys_that_are_out_of_reach_are_refused_at_once():
    with pytest.raises(NotImplementedError, match="XLA is out of reach"):
        gradtape.library.impl("undefined_g::op", "XLA", copied)
