"""The commonest calls are noted in brief; what is read is what a full note says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import gradtape as torch
from gradtape import nn
from gradviz._capture.adapters.gradtape.log import GradtapeLog
from gradviz.program.events import Call


def _layers() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.ones(5, 3)).pow(2).mean().backward()
        optimizer.step()  # versions of parameters grow


def _writes() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    _ = y + 1
    y.mul_(3)  # another node, another version
    _ = y + 1
    with torch.no_grad():
        x.add_(1)
    _ = x * y


def _views() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    rows = x.view(3, 2).transpose(0, 1)
    _ = rows + rows[0]
    _ = nn.functional.layer_norm(rows.reshape((2, 3)), (3,))
    _ = torch.cat([x, x], 0)
    base = torch.zeros(4)
    part = base[:2]
    _ = part * 2
    base.mul_(torch.ones(4, requires_grad=True))
    _ = part * 2  # asks for a gradient now, since its base does


def _switches() -> None:
    x = torch.ones(2)
    _ = x * 1
    x.requires_grad_()
    y = x * 1
    x.data = torch.zeros(2)
    _ = x * 1
    y.detach_()
    _ = y * 1
    with torch.inference_mode():
        z = x * 2
    with torch.no_grad():
        _ = z * 1


@pytest.mark.parametrize("program", [_layers, _writes, _views, _switches])
def test_brief_notes_say_what_full_notes_say(
    program: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    brief, kinds = _calls(program)
    assert "brief" in kinds
    whole = "gradviz._capture.adapters.gradtape.log.bind_simply"
    monkeypatch.setattr(whole, lambda log: lambda *args: False)
    full, kinds = _calls(program)
    assert "brief" not in kinds
    assert brief == full


def test_a_log_trusts_no_other_logs_glances() -> None:
    x = torch.ones(2, requires_grad=True)
    numbers: list[int] = []
    with GradtapeLog(scan=False) as outer:
        for _ in range(2):
            _ = x * 1
            with GradtapeLog(scan=False) as inner:
                _ = torch.ones(1), torch.ones(1) * 1, x * 1
            numbers.append(_products(inner)[-1].inputs[0].tensor)
    known = [call.inputs[0].tensor for call in _products(outer)]
    assert len(set(known)) == 1
    assert numbers[0] == numbers[1]
    assert numbers[0] != known[0]


def test_a_glance_stays_with_its_tensor_when_tensors_are_swapped() -> None:
    a, b = torch.ones(2), torch.zeros(3)
    for each in (a, b):
        each._noted = (None, (id(each),), None, 0, False)
    torch.utils.swap_tensors(a, b)
    assert a.shape == (3,)
    assert [each._noted[1] for each in (a, b)] == [(id(a),), (id(b),)]


def _calls(program: Callable[[], None]) -> tuple[list[Any], set[str]]:
    """Return what a log says of its calls, and the kinds of its notes."""
    with GradtapeLog(scan=False) as log:
        program()
        kinds = {each[0] for each in log.program.raw if type(each) is tuple}
    found = [dataclasses.asdict(e) for e in log.program.events if isinstance(e, Call)]
    keys: dict[int, int] = {}  # nodes are numbered through all runs
    for call in found:
        call["nodes"] = [keys.setdefault(key, len(keys)) for key in call["nodes"]]
        written = [write["value"] for write in call["writes"]]
        values = *call["inputs"], *call["outputs"], *call["arguments"], *written
        for value in values:
            if isinstance(value, dict) and value["node"] is not None:
                value["node"] = keys.setdefault(value["node"], len(keys))
    return found, kinds


def _products(log: GradtapeLog) -> list[Call]:
    return [e for e in log.program.events if isinstance(e, Call) and e.op == "mul"]
