"""What a checkpoint notices when its function does not compute the same again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape.utils.checkpoint import CheckpointError

from ..oracle import assert_same
from .checkpoints import changing, run

pytest.importorskip("torch.utils.checkpoint")


def kind_of_error(torch: Any, first: Any, then: Any, **options: Any) -> Any:
    """Run both ways; return the lines of the error that PyTorch has, too."""
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    y = run(torch, changing(first, then), x, **options)
    try:
        y.sum().backward()
    except torch.utils.checkpoint.CheckpointError as error:
        return str(error).partition("\nTip")[0].splitlines()
    return x.grad


OTHERWISE: dict[str, tuple[Any, Any]] = {
    "another op": (lambda x: x.sin().sin(), lambda x: x.cos()[:1].cos()),
    "another shape": (lambda x: x.sin().sin(), lambda x: (x[:1] * 1).sin().sin()),
    "another dtype": (lambda x: x.sin().sin(), lambda x: x.double().sin().sin()),
    "fewer tensors": (lambda x: x.sin().sin().sin(), lambda x: x.sin()),
    "more tensors": (lambda x: x.sin(), lambda x: x.sin().sin().sin()),
}


@pytest.mark.parametrize("name", OTHERWISE)
@pytest.mark.parametrize("stop", [True, False])
def test_other_tensors_are_refused_in_pytorchs_words(name: str, stop: bool) -> None:
    first, then = OTHERWISE[name]
    assert_same(lambda torch: kind_of_error(torch, first, then, early_stop=stop))


@pytest.fixture
def quiet_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep PyTorch's own log of ops from pytest, which cannot format its lines."""
    monkeypatch.setattr(logging.getLogger("LoggingTensor"), "disabled", True)


@pytest.mark.usefixtures("quiet_log")
@pytest.mark.parametrize("name", ["another shape", "fewer tensors"])
def test_debug_lists_the_ops_of_both_calls(name: str) -> None:
    first, then = OTHERWISE[name]

    def program(torch: Any) -> Any:
        found = []
        for debug, everywhere in ((True, None), (False, True), (True, False)):
            with torch.utils.checkpoint.set_checkpoint_debug_enabled(everywhere):
                lines = kind_of_error(torch, first, then, debug=debug)
            found.append(
                [line for line in lines if "non-determ" in line or "`debug" in line]
            )
        return found

    assert_same(program)


def test_debug_names_ops_and_lines() -> None:
    x = gradtape.ones(2, requires_grad=True)
    y = run(gradtape, changing(lambda t: t.sin().exp(), lambda t: t.cos()), x, debug=1)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "$1: torch.float32[2] = torch._ops.aten.sin.default($0)" in text
    assert "(1 of 2 in original)" in text
    assert "(1 of 1 in recompute)" in text
    assert f"{__file__}:" in text


def test_a_difference_is_placed() -> None:
    x = gradtape.ones(2, requires_grad=True)
    y = run(gradtape, changing(lambda t: t.sin().exp().sin(), lambda t: t.cos()), x)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    notes = " ".join(caught.value.__notes__)
    assert "SinBackward0 at" in notes
    assert "CosBackward0 at" in notes
    assert __file__ in notes


# ---- values ------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [True, False])
def test_other_values_are_refused_with_op_and_line(reentrant: bool) -> None:
    state = {"scale": 2.0}

    def function(x: Any) -> Any:
        hidden = x * state["scale"]
        return hidden.sin()  # saves what it is given

    x = gradtape.tensor([0.1, 0.2], requires_grad=True)
    y = run(gradtape, function, x, use_reentrant=reentrant)
    state["scale"] = 3.0
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)
    line = function.__code__.co_firstlineno + 2
    assert f"SinBackward0 at {__file__}:{line}" in text
    assert "different from those of the forward pass" in text
    if not reentrant:
        assert "tensor at position 0" in text
        values = "forward saw [0.2, 0.4], recomputation [0.3, 0.6]"
        assert f"first at index [0]: {values}" in text


def test_other_values_are_refused_in_a_view_without_a_gradient_of_its_own() -> None:
    def first_row(scale: float) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            hidden = x * scale
            row, _ = hidden.unbind(0)
            hidden.add_(1)
            return row

        return function

    x = gradtape.ones(2, 3, requires_grad=True)
    function = changing(first_row(2.0), first_row(3.0))
    y = run(gradtape, function, x, use_reentrant=True)
    with pytest.raises(CheckpointError, match="output 0, made by UnbindBackward0 at"):
        y.sum().backward()


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize(
    "options", [{"determinism_check": "none"}, {"preserve_rng_state": False}]
)
def test_values_go_unchecked_where_that_is_asked_for(
    reentrant: bool, options: dict[str, Any]
) -> None:
    def program(torch: Any) -> Any:
        function = changing(lambda x: (x * 2).sin(), lambda x: (x * 3).sin())
        x = torch.tensor([0.1, 0.2], requires_grad=True)
        y = run(torch, function, x, use_reentrant=reentrant, **options)
        y.sum().backward()
        return y, x.grad

    assert_same(program)


@pytest.mark.parametrize("size", [5, 5_000, 200_000])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "int64", "bool"]
)
def test_a_change_is_seen_in_every_dtype_and_size(size: int, dtype: str) -> None:
    kind = getattr(gradtape, dtype)
    base = (gradtape.arange(size) % 7).to(kind)
    mask = gradtape.arange(size) % 3 == 0
    x = gradtape.ones(size, requires_grad=True)

    def multiplied(factor: Any) -> Callable[[Any], Any]:
        return lambda x: x * factor

    other = ~base if dtype == "bool" else gradtape.where(mask, base + 1, base).to(kind)
    same = run(gradtape, changing(multiplied(base), multiplied(base.clone())), x)
    same.sum().abs().backward()
    y = run(gradtape, changing(multiplied(base), multiplied(other)), x)
    with pytest.raises(CheckpointError, match="saved by MulBackward0 at"):
        y.sum().abs().backward()


@pytest.mark.parametrize(
    ("shape", "index"), [((10,), [7]), ((4, 5), [3, 1]), ((40, 30), None)]
)
def test_one_changed_element_is_seen(
    shape: tuple[int, ...], index: list[int] | None
) -> None:
    """Of a small tensor its place is told; of a large one only that there is one."""
    x = gradtape.ones(shape, requires_grad=True)
    other = gradtape.ones(shape)
    other[tuple(index or [31, 17])] = 2.0
    y = run(
        gradtape, changing(lambda x: x * gradtape.ones(shape), lambda x: x * other), x
    )
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    told = "forward saw a mean of 1," if index is None else f"first at index {index}:"
    assert told in str(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_another_layout_is_no_change(dtype: str) -> None:
    factor = (
        (gradtape.arange(90_000) % 1000).view(300, 300).to(getattr(gradtape, dtype))
    )
    mixed = factor.t().contiguous().t()
    x = gradtape.ones(300, 300, requires_grad=True)
    y = run(gradtape, changing(lambda x: x * factor, lambda x: x * mixed), x)
    y.sum().backward()
    assert gradtape.equal(x.grad, factor.float())


def test_rounding_is_no_change() -> None:
    x = gradtape.linspace(0.1, 1.0, 1000).requires_grad_()
    function = changing(lambda x: (x * 2).sin(), lambda x: (x + x * (1 + 1e-7)).sin())
    run(gradtape, function, x).sum().backward()
    assert x.grad is not None


def test_nan_and_infinity_repeat_themselves() -> None:
    x = gradtape.tensor([0.0, -1.0, 1.0], requires_grad=True)
    y = run(gradtape, lambda x: (x.log() * x.reciprocal()).sin(), x)
    y.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_move_twice_and_are_no_change(
    reentrant: bool, training: bool
) -> None:
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        model.train(training)
        x = torch.randn(8, 3, requires_grad=True)
        run(torch, model, x, use_reentrant=reentrant).sin().sum().backward()
        return list(model.buffers()), x.grad

    assert_same(program)


def test_recomputed_ops_stay_in_their_module() -> None:
    names: list[str] = []

    class Inner(gradtape.nn.Module):
        def forward(self, x: Any) -> Any:
            return run(gradtape, lambda x: x.sin().exp(), x)

    def listen(event: Any) -> None:
        if type(event).__name__ == "OpCalled" and event.node is not None:
            scope = event.node.scope
            names.append(f"{event.name} {'' if scope is None else scope.kind}")

    x = gradtape.ones(2, requires_grad=True)
    with gradtape.observe(listen):
        Inner()(x).sum().backward()
    assert names == ["sin Inner", "exp Inner", "sum ", "sin Inner"]
