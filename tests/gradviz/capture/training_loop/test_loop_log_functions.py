"""Custom Functions in the program log; and that the program does not notice the log."""

from __future__ import annotations

import gc
import importlib
import random
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gradviz._capture.open_log import Engine, open_log
from gradviz._capture.training_loop.derivative_check import check_derivative
from gradviz._capture.training_loop.log import LoopLog
from gradviz._capture.training_loop.purity import is_repeatable
from gradviz.program.history import History
from gradviz.program.records import Program


def logged(engine: Engine, run: Callable[[], object], scan: bool = True) -> Program:
    with open_log(engine, scan=scan) as log:
        kept = run()
    del kept
    return log.program


def function(lib: Any, forward: Any, backward: Any) -> Any:
    """Return a Function made of two plain functions."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (lib.autograd.Function,), members)


def save_and_cube(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x**3


def two_thirds(ctx: Any, grad: Any) -> Any:
    return grad * 2 * ctx.saved_tensors[0] ** 2


def exact(ctx: Any, grad: Any) -> Any:
    return grad * 3 * ctx.saved_tensors[0] ** 2


# ---- what is logged -----------------------------------------------------------------


def test_a_wrong_formula_is_found_with_its_ratio(engine: Engine, lib: Any) -> None:
    cube = function(lib, save_and_cube, two_thirds)
    x = lib.tensor([[1.0, 2.0]], requires_grad=True)
    program = logged(engine, lambda: cube.apply(x).sum().backward())
    (row,) = program.functions
    check = row.check
    assert check is not None
    assert (check.input, check.index) == (0, (0, 0))
    assert check.ratio == pytest.approx(2 / 3, rel=1e-3)
    (node,) = [node for node in program.nodes.values() if node.custom is not None]
    assert node.custom is not None
    assert node.custom.check is check
    assert node.custom.backward is two_thirds.__code__
    (call,) = [c for c in History(program).calls if c.op == "Custom"]
    assert call.nodes == (node.key,)
    assert [c.op for c in History(program).calls if c.within == call.index] == ["pow"]


def test_a_right_formula_passes(engine: Engine, lib: Any) -> None:
    cube = function(lib, save_and_cube, exact)
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    program = logged(engine, lambda: cube.apply(x).sum().backward())
    assert [row.check for row in program.functions] == [None]


def test_without_scan_nothing_is_checked(engine: Engine, lib: Any) -> None:
    calls: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        calls.append(1)
        return x * 2

    double = function(lib, forward, two_thirds)
    x = lib.ones(2, requires_grad=True)
    program = logged(engine, lambda: double.apply(x), scan=False)
    assert (len(calls), program.functions[0].check) == (1, None)


def test_tensors_on_a_ctx_carry_their_versions(engine: Engine, lib: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.y = x.exp()
        return ctx.y

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.y

    def run() -> None:
        x = lib.ones(2, requires_grad=True)
        y = function(lib, forward, backward).apply(x)
        total = y.sum()
        with lib.no_grad():
            y.mul_(0)
        total.backward()

    program = logged(engine, run)
    (custom,) = [node.custom for node in program.nodes.values() if node.custom]
    (kept,) = custom.attributes
    assert (kept.name, kept.value.version, kept.version_now) == ("y", 0, 1)


def test_marks_and_writes_of_forward_are_noted(engine: Engine, lib: Any) -> None:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x)
        y.add_(1)
        return x.mul_(2)

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, None

    double = function(lib, forward, backward)

    def run() -> None:
        x = lib.ones(2, requires_grad=True) * 1
        double.apply(x, lib.zeros(2)).sum().backward()

    program = logged(engine, run)
    (custom,) = [node.custom for node in program.nodes.values() if node.custom]
    assert [value.tensor for value in custom.inputs[:1]] == list(custom.dirty)
    assert [value.version for value in custom.written] == [0, 0]
    assert custom.needs_grad == (True, False)


def test_an_input_that_forward_returns_has_its_call(engine: Engine, lib: Any) -> None:
    double = function(lib, lambda ctx, x: x.mul_(2), lambda ctx, grad: grad * 2)

    def run() -> None:
        x = lib.ones(2, requires_grad=True) * 1
        double.apply(x).sum().backward()

    program = logged(engine, run)
    (custom,) = [node.custom for node in program.nodes.values() if node.custom]
    assert (len(custom.written), custom.dirty) == (1, ())


def test_once_differentiable_is_seen_under_its_wrapper(
    engine: Engine, lib: Any
) -> None:
    once = lib.autograd.function.once_differentiable(exact)
    cube = function(lib, save_and_cube, once)
    program = logged(engine, lambda: cube.apply(lib.ones(1, requires_grad=True)))
    (row,) = program.functions
    assert row.once_differentiable
    assert row.backward is exact.__code__


# ---- the check ----------------------------------------------------------------------


def test_a_straight_through_estimator_is_called_flat(engine: Engine, lib: Any) -> None:
    through = function(lib, lambda ctx, x: x.round(), lambda ctx, grad: grad)
    found = check_derivative(lib, through.apply, [lib.tensor([0.3, 1.2])])
    assert found is not None
    assert found.flat
    assert not found.identity


def test_a_gradient_reversal_is_called_an_identity(engine: Engine, lib: Any) -> None:
    reverse = function(lib, lambda ctx, x: x.view_as(x), lambda ctx, grad: -grad)
    found = check_derivative(lib, reverse.apply, [lib.tensor([0.3, 1.2])])
    assert found is not None
    assert found.identity
    assert found.ratio == pytest.approx(-1)


def test_a_missing_gradient_is_told_from_zero(engine: Engine, lib: Any) -> None:
    product = function(lib, lambda ctx, x, y: x * y, lambda ctx, grad: (grad, None))
    ones = [lib.ones(2), lib.full((2,), 1.0)]
    found = check_derivative(lib, product.apply, ones)
    assert found is not None
    assert (found.input, found.missing, found.analytic) == (1, True, 0.0)


@pytest.mark.parametrize("name", ["relu", "abs", "exp", "sin", "sigmoid", "dropout"])
def test_the_library_s_own_derivatives_pass(
    engine: Engine, lib: Any, name: str
) -> None:
    x = lib.tensor([-1.5, 0.0, 0.7, 2.0])
    run = getattr(lib, name) if name != "dropout" else lib.nn.Dropout()
    assert check_derivative(lib, run, [x]) is None


def test_the_check_warns_of_nothing(engine: Engine, lib: Any) -> None:
    def warning_cube(ctx: Any, x: Any) -> Any:
        warnings.warn("of the forward", stacklevel=1)
        return save_and_cube(ctx, x)

    x = lib.ones(2, requires_grad=True)
    cube = function(lib, warning_cube, two_thirds)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program = logged(engine, lambda: cube.apply(x).sum().backward())
    assert len(seen) == 1
    assert program.functions[0].check is not None  # it did run again


def test_the_check_prints_nothing_and_keeps_random_numbers(
    lib: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def noisy(x: Any) -> Any:
        print("forward")
        return x * random.random() * lib.rand(2).to(x.dtype)

    before = random.getstate(), lib.get_rng_state().tolist()
    assert check_derivative(lib, noisy, [lib.ones(2)]) is None
    assert (random.getstate(), lib.get_rng_state().tolist()) == before
    assert capsys.readouterr().out == ""


SEEN: list[int] = []


def test_what_reaches_the_program_is_not_run_again(lib: Any) -> None:
    local: dict[str, int] = {}

    def to_global(ctx: Any, x: Any) -> Any:
        SEEN.append(1)
        return x

    def to_closure(ctx: Any, x: Any) -> Any:
        local["calls"] = 1
        return x

    def to_class(ctx: Any, x: Any) -> Any:
        marked.count = 1
        return x

    marked = function(lib, to_class, exact)
    marked.count = 0
    assert is_repeatable(lib, function(lib, save_and_cube, exact))
    assert not is_repeatable(lib, function(lib, to_global, exact))
    assert not is_repeatable(lib, function(lib, to_closure, exact))
    assert not is_repeatable(lib, marked)


# ---- the program does not notice ----------------------------------------------------


def owners(lib: Any) -> list[Any]:
    function = lib.autograd.function
    utils = importlib.import_module(f"{lib.__name__}.utils.data")
    return [
        lib.nn.Module,
        lib.optim.Optimizer,
        lib.optim.SGD,
        function.Function,
        function.FunctionCtx,
        lib.nn.utils,
        lib.autograd,
        importlib.import_module(f"{lib.__name__}.utils.checkpoint"),
        utils.DataLoader,
    ]


def train(lib: Any, cube: Any) -> list[Any]:
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Dropout(), lib.nn.Linear(4, 1))
    opt = lib.optim.Adam(net.parameters(), lr=0.1)
    losses: list[Any] = []
    for _ in range(4):
        loss = cube.apply(net(lib.rand(5, 3))).mean()
        opt.zero_grad()
        loss.backward()
        lib.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses


def test_everything_is_put_back_and_results_are_equal(engine: Engine, lib: Any) -> None:
    cube = function(lib, save_and_cube, exact)
    plain = train(lib, cube)  # also: classes patch themselves when first used
    before = [dict(vars(owner)) for owner in owners(lib)]
    results: list[Any] = []
    logged(engine, lambda: results.append(train(lib, cube)))
    assert results == [plain]
    for owner, members in zip(owners(lib), before, strict=True):
        changed = {k for k, v in vars(owner).items() if members.get(k) is not v}
        assert not changed - {"__warningregistry__"}, owner


def test_nothing_is_kept_alive(engine: Engine, lib: Any) -> None:
    gone: list[weakref.ref[Any]] = []

    def run() -> None:
        net = lib.nn.Linear(3, 1)
        opt = lib.optim.SGD(net.parameters(), lr=0.1)
        hidden = net(lib.ones(2, 3))
        loss = function(lib, save_and_cube, exact).apply(hidden).sum()
        loss.backward()
        opt.step()
        gone.extend(weakref.ref(each) for each in (net, opt, hidden, loss))

    with open_log(engine) as log:
        run()
        gc.collect()
        assert [each() for each in gone] == [None] * 4
    assert log.program.events


def test_a_part_that_fails_is_noted_and_the_program_goes_on(
    engine: Engine, lib: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> Any:
        raise RuntimeError("ours")

    with open_log(engine) as log:
        loop: LoopLog = log.loop  # type: ignore[attr-defined]
        monkeypatch.setattr(loop.optimizers, "_states", broken)
        cube = function(lib, save_and_cube, exact)
        train(lib, cube)
    assert log.program.notes == [
        "Optimizers were not followed to the end: RuntimeError: ours"
    ]


def test_library_warnings_name_the_line_they_would(engine: Engine, lib: Any) -> None:
    checkpoint = importlib.import_module(f"{engine}.utils.checkpoint")
    x = lib.ones(2, requires_grad=True)

    def place() -> list[str]:
        with pytest.warns(UserWarning, match="use_reentrant") as caught:
            checkpoint.checkpoint(lib.exp, x)
        return [each.filename for each in caught]

    plain = place()
    with open_log(engine):
        assert place() == plain


def test_what_a_call_was_given_dies_with_its_cycle(engine: Engine, lib: Any) -> None:
    def forward(ctx: Any, x: Any, notes: dict[str, Any]) -> Any:
        ctx.notes = notes
        return x.clone()

    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None

    def build() -> weakref.ref[Any]:
        notes: dict[str, Any] = {}
        x = lib.ones(1, requires_grad=True)
        notes["result"] = out = function(lib, forward, backward).apply(x, notes)
        return weakref.ref(out)

    with open_log(engine, scan=True):
        out = build()
        gc.collect()
        assert out() is None
