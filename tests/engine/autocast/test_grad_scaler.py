"""GradScaler: scaling, unscaling, skipped steps, the next scale, and its state."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import gradtape as gt

from ..oracle import assert_same


def scaled(t: Any, **options: Any) -> tuple[Any, Any, Any]:
    """A scaler, a parameter and its optimizer."""
    parameter = t.ones(2, requires_grad=True)
    options = {"init_scale": 4.0, "growth_interval": 2, **options}
    scaler = t.amp.GradScaler("cpu", **options)
    return scaler, parameter, t.optim.SGD([parameter], lr=0.5)


def test_it_scales_steps_and_grows() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t)
        seen: list[Any] = []
        for _ in range(5):
            sgd.zero_grad()
            loss = scaler.scale((x * x).sum())
            loss.backward()
            found = scaler.step(sgd)
            scaler.update()
            seen.append((loss, x.grad, x, found, scaler.get_scale()))
        return seen, scaler.state_dict()

    assert_same(program)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")], ids=["inf", "nan"])
def test_an_overflow_skips_the_step_and_shrinks(bad: float) -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t)
        scaler.scale((x * bad).sum()).backward()
        skipped = scaler.step(sgd)
        scaler.update()
        return skipped, x, scaler.get_scale(), scaler.state_dict()

    assert_same(program)


def test_a_scale_stays_finite() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t, init_scale=3e38, growth_interval=1)
        scaler.scale((x * 1e-30).sum()).backward()
        scaler.step(sgd)
        scaler.update()
        return scaler.get_scale()

    assert_same(program)


def test_unscaled_gradients_can_be_clipped() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t)
        scaler.scale((3 * x).sum()).backward()
        scaler.unscale_(sgd)
        norm = t.nn.utils.clip_grad_norm_([x], 1.0)
        scaler.step(sgd)
        scaler.update()
        return norm, x.grad, x

    assert_same(program)


def test_several_outputs_and_optimizers() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t)
        other = t.optim.Adam([t.ones(1, requires_grad=True)])
        first, (second, third) = scaler.scale([x.sum(), (x.prod(), x * 2)])
        first.backward()
        scaler.step(sgd)
        y = other.param_groups[0]["params"][0]
        scaler.scale(y.sum() * float("inf")).backward()
        scaler.step(other)
        scaler.update()
        return first, second, third, x, y, scaler.get_scale()

    assert_same(program)


def ready(t: Any) -> tuple[Any, Any, Any]:
    scaler, x, sgd = scaled(t)
    scaler.scale(x.sum()).backward()
    return scaler, x, sgd


def unscale_twice(t: Any) -> None:
    scaler, _, sgd = ready(t)
    scaler.unscale_(sgd)
    scaler.unscale_(sgd)


def unscale_late(t: Any) -> None:
    scaler, _, sgd = ready(t)
    scaler.step(sgd)
    scaler.unscale_(sgd)


def step_twice(t: Any) -> None:
    scaler, _, sgd = ready(t)
    scaler.step(sgd)
    scaler.step(sgd)


def step_unscaled(t: Any) -> None:
    scaler, _, sgd = scaled(t)
    scaler.step(sgd)


def step_without_gradients(t: Any) -> None:
    scaler, x, sgd = scaled(t)
    scaler.scale(x.sum())
    scaler.step(sgd)


def step_closure(t: Any) -> None:
    scaler, _, sgd = ready(t)
    scaler.step(sgd, closure=print)


def update_early(t: Any) -> None:
    scaler, *_ = ready(t)
    scaler.update()


def update_with_a_vector(t: Any) -> None:
    scaler, *_ = ready(t)
    scaler.update(t.ones(2))


def scale_a_number(t: Any) -> None:
    scaled(t)[0].scale(3)


def half_gradients(t: Any) -> None:
    scaler = t.amp.GradScaler("cpu", init_scale=4.0)
    x = t.ones(2, dtype=t.float16, requires_grad=True)
    scaler.scale(x.float().sum()).backward()
    scaler.unscale_(t.optim.SGD([x], lr=1.0))


def no_growth(t: Any) -> None:
    scaled(t, growth_factor=1.0)


def no_backoff(t: Any) -> None:
    scaled(t, backoff_factor=1.0)


def load_nothing(t: Any) -> None:
    scaled(t)[0].load_state_dict({})


def pickle_early(t: Any) -> None:
    scaler, _, sgd = ready(t)
    scaler.step(sgd)
    pickle.dumps(scaler)


@pytest.mark.parametrize(
    "program",
    [
        *(unscale_twice, unscale_late, step_twice, step_unscaled),
        *(step_without_gradients, step_closure, update_early, update_with_a_vector),
        *(scale_a_number, half_gradients, no_growth, no_backoff, load_nothing),
        pickle_early,
    ],
    ids=lambda program: program.__name__,
)
def test_what_is_refused(program: Any) -> None:
    assert_same(program)


def test_a_new_scale_is_taken_over() -> None:
    def program(t: Any) -> Any:
        scaler, *_ = ready(t)
        scaler.update(8.0)
        first = scaler.get_scale()
        scaler.update(t.tensor(2.0))
        return first, scaler.get_scale()

    assert_same(program)


def test_getters_and_setters() -> None:
    def program(t: Any) -> Any:
        scaler, *_ = scaled(t)
        scaler.set_growth_factor(3.0)
        scaler.set_backoff_factor(0.25)
        scaler.set_growth_interval(7)
        return (
            scaler.get_scale(),
            scaler.get_growth_factor(),
            scaler.get_backoff_factor(),
            scaler.get_growth_interval(),
            scaler.is_enabled(),
            scaler.state_dict(),
        )

    assert_same(program)


def test_state_is_saved_and_restored() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t)
        for _ in range(3):
            scaler.scale(x.sum()).backward()
            scaler.step(sgd)
            scaler.update()
        fresh = t.amp.GradScaler("cpu")
        fresh.load_state_dict(scaler.state_dict())
        scaled_twice, *_ = ready(t)
        scaled_twice.load_state_dict(scaler.state_dict())
        return fresh.state_dict(), scaled_twice.state_dict()

    assert_same(program)


def test_copies_begin_where_it_stands() -> None:
    scaler, *_ = ready(gt)
    scaler.update(16.0)
    for twin in (copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler))):
        assert twin.state_dict() == scaler.state_dict()
        assert float(twin.scale(gt.ones(()))) == 16.0


def test_disabled_it_passes_things_on() -> None:
    def program(t: Any) -> Any:
        scaler, x, sgd = scaled(t, enabled=False)
        loss = x.sum()
        same = scaler.scale(loss) is loss
        loss.backward()
        scaler.unscale_(sgd)
        scaler.step(sgd)
        scaler.update()
        return same, x, scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()

    assert_same(program)


def test_without_a_device_it_warns_and_is_off() -> None:
    def program(t: Any) -> Any:
        return t.amp.GradScaler().is_enabled(), t.GradScaler("cuda").is_enabled()

    assert_same(program)


def test_sparse_gradients_are_unscaled() -> None:
    def program(t: Any) -> Any:
        table = t.nn.Embedding(3, 2, sparse=True)
        scaler = t.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(table(t.tensor([0, 2, 0])).sum()).backward()
        scaler.unscale_(t.optim.SGD(table.parameters(), lr=1.0))
        return table.weight.grad.to_dense()

    assert_same(program)


def test_an_optimizer_that_unscales_is_handed_the_scale() -> None:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        class Own(t.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure: Any = None) -> None:
                seen.extend([self.grad_scale, self.found_inf])

        scaler, x, _ = scaled(t)
        own = Own([x], lr=1.0)
        scaler.scale(x.sum()).backward()
        scaler.step(own)
        scaler.update()
        return seen, x.grad, hasattr(own, "grad_scale"), scaler.get_scale()

    assert_same(program)


@pytest.mark.parametrize("name", ["cuda.amp.GradScaler", "cpu.amp.GradScaler"])
def test_older_names_warn(name: str) -> None:
    def program(t: Any) -> Any:
        device, amp, last = name.split(".")
        return getattr(getattr(getattr(t, device), amp), last)().is_enabled()

    assert_same(program)


@pytest.mark.parametrize("name", ["cuda", "cpu"])
def test_older_autocast_warns(name: str) -> None:
    def program(t: Any) -> Any:
        with getattr(t, name).amp.autocast() as block:
            return block.device, block.fast_dtype, t.is_autocast_enabled(name)

    assert_same(program)


def test_older_decorators_warn() -> None:
    def program(t: Any) -> Any:
        class Twice(t.autograd.Function):
            @staticmethod
            @t.cuda.amp.custom_fwd
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            @t.cuda.amp.custom_bwd
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        x = t.ones(2, requires_grad=True)
        Twice.apply(x).sum().backward()
        return x.grad

    assert_same(program)


def test_a_training_script_with_both() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2))
        adam = t.optim.AdamW(model.parameters(), lr=0.01)
        scaler = t.amp.GradScaler("cpu", init_scale=1024.0)
        x, y = t.randn(16, 4), t.randint(0, 2, (16,))
        losses: list[float] = []
        for _ in range(10):
            adam.zero_grad()
            with t.autocast("cpu", dtype=t.bfloat16):
                loss = t.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(adam)
            scaler.update()
            losses.append(loss.item())
        return losses

    assert_same(program, rtol=1e-2)
