"""Several threads train at once: nothing changes, nothing fails, nobody is accused."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import gradviz
from gradviz._capture.open_log import Engine

STEPS, THREADS = 12, 4


def trained(lib: Any, seed: int) -> list[float]:
    """Train a network with all that a log follows around a pass."""

    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    nn, drawn = lib.nn, lib.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh())
    head = nn.Linear(12, 2)
    weights = [*net.parameters(), *head.parameters()]
    with lib.no_grad():
        for each in weights:
            each.copy_(lib.randn(each.shape, generator=drawn))
    optimizer = lib.optim.Adam(weights, lr=1e-2)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 4)
    for _ in range(STEPS):
        net.train()
        x = lib.randn(8, 6, generator=drawn)
        y = lib.randint(0, 2, (8,), generator=drawn)
        loss = nn.functional.cross_entropy(Doubled.apply(head(net(x))), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(iter(weights), 1.0)
        optimizer.step()
        schedule.step()
        net.eval()
        with lib.no_grad():
            net(x)
    return [each.detach().sum().item() for each in weights]


def side_by_side(lib: Any) -> list[Any]:
    """Return what each thread trained, or raised."""
    found: list[Any] = [None] * THREADS

    def work(seed: int) -> None:
        try:
            found[seed] = trained(lib, seed)
        except BaseException as error:
            found[seed] = error

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


@pytest.mark.parametrize("detail", ["auto", "full"])
@pytest.mark.parametrize("engine", ["gradtape", "torch"])
def test_threads_that_train_at_once_are_left_alone(engine: Engine, detail: Any) -> None:
    lib = pytest.importorskip(engine)
    alone = [trained(lib, seed) for seed in range(THREADS)]
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with gradviz.record(engine=engine, detail=detail) as recorded:
            found = side_by_side(lib)
    finally:
        sys.setswitchinterval(often)
    assert found == alone
    diagnosis = recorded.diagnose()
    assert diagnosis.findings == ()
    notes = [*diagnosis.notes, *recorded.snapshot().notes]
    assert [
        each for each in notes if "incomplete" in each or "not followed" in each
    ] == []
