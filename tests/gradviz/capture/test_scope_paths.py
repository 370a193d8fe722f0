"""Modules in lists have the list's name in theirs, on both engines alike."""

from __future__ import annotations

from typing import Any

import gradviz


def _net(nn: Any) -> Any:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
            self.up = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
            self.head = nn.ModuleDict({"out": nn.Linear(4, 1)})

        def forward(self, x: Any) -> Any:
            for layer in (*self.down, *self.up, self.up[1]):
                x = layer(x)
            return self.head["out"](x)

    return Net()


def test_modules_in_lists_are_told_apart(lib: Any, engine: str) -> None:
    net = _net(lib.nn)
    with gradviz.record(engine=engine) as recorder:
        net(lib.ones(2, 4)).sum().backward()
    below = [scope for scope in recorder.snapshot().scopes if scope.parent == 0]
    names = ["down.0", "down.1", "head.out", "up.0", "up.1", "up.1#2"]
    assert sorted(scope.name for scope in below) == names
    assert "Net.head.out" in [scope.path for scope in below]
