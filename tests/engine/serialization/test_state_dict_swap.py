"""Loading a checkpoint where parameters are swapped, and onto the meta device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gradtape

from ..oracle import assert_same


@pytest.fixture
def swapping() -> Iterator[None]:
    """Let both engines swap parameters instead of writing to them."""
    torch = pytest.importorskip("torch")
    switches = [m.__future__ for m in (torch, gradtape)]
    for each in switches:
        each.set_swap_module_params_on_conversion(True)
    yield
    for each in switches:
        each.set_swap_module_params_on_conversion(False)


def norm_state(t: Any) -> dict[str, Any]:
    ones = {name: t.ones(2) for name in ("weight", "running_mean", "running_var")}
    bias = t.nn.Parameter(t.ones(2), requires_grad=False)
    return {**ones, "bias": bias, "num_batches_tracked": t.tensor(4)}


@pytest.mark.usefixtures("swapping")
@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_parameters_stay_the_objects_they_are(assign: bool, device: str) -> None:
    def program(t: Any) -> Any:
        layer = t.nn.BatchNorm1d(2, device=device)
        before = [*layer.parameters(), *layer.buffers()]
        layer.load_state_dict(norm_state(t), assign=assign)
        after = [*layer.parameters(), *layer.buffers()]
        same = [a is b for a, b in zip(before, after, strict=True)]
        grads = [each.requires_grad for each in after]
        values = [] if layer.weight.is_meta else [each.tolist() for each in after]
        return same, grads, [type(each).__name__ for each in after], values

    assert_same(program)


def loads(t: Any, made: Any) -> Any:
    """Return a subclass whose tensors give ``made(own, given)`` when loaded."""

    class Loaded(t.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is t.Tensor.module_load:
                return made(*args)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Loaded


@pytest.mark.usefixtures("swapping")
@pytest.mark.parametrize(
    "made",
    [
        lambda own, given: given.detach(),
        lambda own, given: given,
        lambda own, given: own,
    ],
)
def test_a_subclass_says_what_is_loaded(made: Any) -> None:
    def program(t: Any) -> Any:
        layer, kind = t.nn.Linear(2, 2), loads(t, made)
        weight = t.ones(2, 2).as_subclass(kind)
        layer.load_state_dict({"weight": weight, "bias": t.ones(2)})
        kept = isinstance(layer.weight, t.nn.Parameter)
        return type(layer.weight).__name__, kept, layer.weight.tolist()

    assert_same(program)


def test_module_load_copies_or_hands_over() -> None:
    def program(t: Any) -> Any:
        own, given = t.zeros(2), t.ones(2)
        copied, assigned = own.module_load(given), own.module_load(given, assign=True)
        shared = copied.data_ptr() == own.data_ptr()
        return copied, assigned, shared, assigned.data_ptr() == given.data_ptr()

    assert_same(program)


def test_what_is_copied_onto_the_meta_device_is_lost_with_a_warning() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(2, 2, device="meta")
        layer.load_state_dict({"weight": t.ones(2, 2), "bias": t.ones(2)})
        return layer.weight.device.type

    assert_same(program)
