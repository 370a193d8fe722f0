"""Modules that a log knows by heart, and that do something else than before."""

from __future__ import annotations

import pytest

from gradviz._capture.pytorch.log import TorchLog
from gradviz.program.events import Call

torch = pytest.importorskip("torch")
nn = torch.nn

_STEPS = 8  # the first of a kind are looked at closely


def test_a_known_module_that_gives_something_else_is_logged() -> None:
    pool, x = nn.AdaptiveAvgPool1d([2]), torch.ones(1, 6, requires_grad=True)
    with TorchLog(scan=False) as log:
        shapes = [tuple(pool(x).shape) for _ in range(_STEPS)]
        pool.output_size[0] = 3
        shapes.append(tuple(pool(x).shape))
    assert not log.program.notes
    calls = [each for each in log.program.events if isinstance(each, Call)]
    assert [each.outputs[0].shape for each in calls] == shapes


def test_a_known_sequential_that_gives_something_else_is_said() -> None:
    net = nn.Sequential(nn.Linear(3, 6), nn.Softplus(), nn.LPPool1d(2, 2))
    with TorchLog(scan=False) as log:
        for _ in range(_STEPS):
            net(torch.ones(2, 3)).sum().backward()
        vars(net[2])["kernel_size"] = 3
        vars(net[2])["stride"] = 3
        net(torch.ones(2, 3)).sum().backward()
    assert "a Sequential gave something else than before" in log.program.notes[0]
