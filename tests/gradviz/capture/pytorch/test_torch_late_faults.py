"""What goes wrong late in a long loop is found as it would be early in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz._capture import detail
from gradviz._capture.adapters.pytorch import log
from gradviz.program import Backward

EARLY, LATE = 10, 80
AFTER = 12  # steps, from the fault on

Fault = Callable[[int, int], Any]  # what it returns lives as long as the recording
FAULTS: list[Fault] = []


@pytest.fixture(autouse=True)
def brief_steps_and_a_short_log(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_AT_ONCE", -1e9)
    monkeypatch.setattr(log, "MOST_WITHOUT_VALUES", 400)
    torch.manual_seed(0)


def fault(program: Fault) -> Fault:
    FAULTS.append(program)
    return program


def mlp() -> tuple[nn.Sequential, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    return net, torch.optim.SGD(net.parameters(), lr=1e-3)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8, 16), torch.randn(8, 1)


@fault
def log_of_zero(start: int, steps: int) -> None:
    (net, optimizer), (x, _) = mlp(), batch()
    for step in range(steps):
        scale = 0.0 if step == start else 1.0
        loss = torch.log(net(x).pow(2) * scale).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def log_of_zero_beside_a_loss(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        out = net(x)
        loss = (out - y).pow(2).mean()
        if step == start:
            loss = loss + torch.log(out.pow(2) * 0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def graphs_kept_by_losses(start: int, steps: int) -> list[Any]:
    (net, optimizer), (x, y), losses = mlp(), batch(), list[Any]()
    for step in range(steps):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=step >= start)
        optimizer.step()
        if step >= start:
            losses.append(loss)
    return losses


@fault
def sum_of_losses(start: int, steps: int) -> None:
    (net, optimizer), (x, y), total = mlp(), batch(), 0.0
    for step in range(steps):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + (loss if step >= start else loss.item())


@fault
def backward_twice(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        if step == start:
            loss.backward()
        optimizer.step()


@fault
def state_carried_with_its_graph(start: int, steps: int) -> None:
    cell, head, (x, y) = nn.RNNCell(16, 8), nn.Linear(8, 1), batch()
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-3)
    state = torch.zeros(8, 8)
    for step in range(steps):
        state = cell(x, state)
        loss = (head(state) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < start:
            state = state.detach()


@fault
def overwritten_result(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        hidden = net[0](x).exp()
        if step == start:
            hidden += 1
        loss = (net[2](hidden) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def layer_replaced_after_the_optimizer(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        if step == start:
            net[2] = nn.Linear(32, 1)
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def optimizer_made_anew_of_old_parameters(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    old = list(net.parameters())
    for step in range(steps):
        if step == start:
            net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
            optimizer = torch.optim.SGD(old, lr=1e-3)
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def optimizer_made_anew_in_each_step(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        if step >= start:
            optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def evaluation_mode_left_on(start: int, steps: int) -> None:
    net, (x, y) = nn.Sequential(nn.Linear(16, 32), nn.Dropout(), mlp()[0][2]), batch()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(steps):
        if step == start:
            net.eval()
            with torch.no_grad():
                net(x)
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def grad_mode_left_off(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        if step == start:
            torch.set_grad_enabled(False)
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def too_high_a_rate(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        if step == start:
            optimizer.param_groups[0]["lr"] = 3.0
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def layers_that_saturate(start: int, steps: int) -> None:
    layers, (x, y) = [nn.Linear(16, 16) for _ in range(8)], batch()
    net = nn.ModuleList([*layers, nn.Linear(16, 1)])
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(steps):
        h = x
        for layer in layers:
            h = torch.sigmoid(layer(h)) if step >= start else torch.tanh(layer(h))
        loss = (net[-1](h) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def hook_that_zeroes(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        hidden = net[0](x).relu()
        if step >= start:
            hidden.register_hook(lambda gradient: gradient * 0)
        loss = (net[2](hidden) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def gradients_never_cleared(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        loss = (net(x) - y).pow(2).mean()
        if step < start:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault
def root_of_a_difference(start: int, steps: int) -> None:
    (net, optimizer), (x, y) = mlp(), batch()
    for step in range(steps):
        out = net(x)
        loss = (out - y).pow(2).mean()
        if step == start:
            loss = loss + torch.sqrt((out - out.detach()).abs().sum())  # 0 ** -0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def findings(program: Fault, start: int, how: Any = "auto") -> list[tuple[str, Any]]:
    recorder = gradviz.record(engine="torch", detail=how)
    kept = list[Any]()
    with contextlib.suppress(RuntimeError), recorder:  # some of them end the program
        kept = [program(start, start + AFTER)]
    torch.set_grad_enabled(True)
    diagnosis = recorder.diagnose()
    lines = [site.line for site in diagnosis.sites]
    kept.clear()
    return [
        (each.code, None if each.culprit is None else lines[each.culprit])
        for each in diagnosis.findings
    ]


@pytest.mark.parametrize("program", FAULTS, ids=lambda each: each.__name__)
def test_a_fault_is_found_late_as_it_is_early(program: Fault):
    early = findings(program, EARLY, "full")
    assert early
    assert findings(program, EARLY) == early
    assert findings(program, LATE) == early


@pytest.mark.parametrize("graph", [True, False])
def test_a_nan_born_once_is_found_however_many_steps_follow(graph: bool):
    recorder = gradviz.record(engine="torch", graph=graph)
    with recorder:
        root_of_a_difference(EARLY, EARLY + LATE)
    program = recorder._parts[0].log.program
    passes = [each.index for each in program.raw if isinstance(each, Backward)]
    assert len(passes) < LATE  # of more: all but the first odd one and the last
    diagnosis = recorder.diagnose()
    first, *others = diagnosis.findings
    assert first.code == "GV402"
    assert not others  # of NaN in data: the parameters had it, and what they computed
    assert first.culprit is not None
    assert "0 ** -0.5" in diagnosis.sites[first.culprit].text


def test_a_step_seen_in_full_from_its_middle_blames_no_data(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(
        detail.Detail, "_affords", lambda self, times, _: self.steps < 4 or times == 2
    )
    recorder = gradviz.record(engine="torch")
    with recorder:
        net, x, y = nn.Linear(6, 3, bias=False), torch.rand(20, 6), torch.rand(20, 3)
        x[3], y[3] = 0, 0  # there the root has no derivative
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(12):
            loss = ((net(x) - y) ** 2).mean(dim=1).sqrt().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [each.code for each in recorder.diagnose().findings] == ["GV402"]
