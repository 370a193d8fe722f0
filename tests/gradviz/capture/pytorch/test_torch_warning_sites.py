"""Under the log of PyTorch a warning names the line that it names without one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from gradviz._capture.adapters.pytorch.log import TorchLog

Place = tuple[str, int, str]

UNLIKE = torch.zeros(4, 1), torch.zeros(4)
LEAF = torch.ones(2, 3, requires_grad=True)


class Warner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        warnings.warn("of the caller", stacklevel=4)
        return x


class Classed(torch.Tensor):
    """Its own class is asked before any function runs."""


def step_too_early() -> None:
    optimizer = torch.optim.SGD([LEAF], 0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1).step()


def read_only() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    torch.from_numpy(array)


def hooked_pass() -> None:
    layer = nn.Linear(3, 3)
    layer.register_full_backward_hook(lambda *_: None)
    layer(torch.ones(2, 3)).sum().backward()


def own_warning_in_a_hook() -> None:
    h = LEAF * 2
    h.register_hook(lambda _: warnings.warn("of a hook", stacklevel=2))
    h.sum().backward()


WARN: dict[str, Callable[[], Any]] = {
    "function": lambda: functional.mse_loss(*UNLIKE),
    "layer": lambda: nn.MSELoss()(*UNLIKE),
    "deeper": lambda: functional.softmax(LEAF),
    "deeper in a layer": lambda: nn.Softmax()(LEAF),
    "function without shorter entry": lambda: nn.Linear(0, 2),
    "of a class": lambda: functional.l1_loss(UNLIKE[0].as_subclass(Classed), UNLIKE[1]),
    "method": lambda: LEAF.detach().resize(3, 2),
    "C++": lambda: (LEAF * 2).grad,
    "C++, argument": lambda: float(LEAF.sum()),
    "C++, in a function": lambda: functional.conv1d(
        torch.ones(1, 1, 8), torch.ones(1, 1, 4), padding="same"
    ),
    "C++, in a layer": lambda: nn.Conv1d(1, 1, 4, padding="same")(torch.ones(1, 1, 8)),
    "C++, without mode": read_only,
    "schedule": step_too_early,
    "pass": hooked_pass,
    "hook": own_warning_in_a_hook,
    "module": lambda: Warner()(LEAF),
}


@pytest.fixture(autouse=True)
def every_time() -> Iterator[None]:
    """Have PyTorch's C++ warn each time, and not only the first."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.fixture(params=[True, False], ids=["scan", "cheap"])
def log(request: pytest.FixtureRequest) -> TorchLog:
    return TorchLog(scan=request.param)


def shown(action: Any, warn: Callable[[], Any], around: Any = None) -> list[Place]:
    with (
        warnings.catch_warnings(record=True) as seen,
        nullcontext() if around is None else around,
    ):
        warnings.simplefilter(action)
        warn()
    return [(each.filename, each.lineno, str(each.message)) for each in seen]


@pytest.mark.parametrize("name", WARN)
def test_a_warning_names_the_line_it_would(name: str, log: TorchLog):
    plain = shown("always", WARN[name])
    assert plain
    assert shown("always", WARN[name], log) == plain


def twice_on_each_of_two_lines() -> None:
    h = LEAF * 2
    for _ in range(2):
        functional.mse_loss(*UNLIKE)
        functional.mse_loss(*UNLIKE)
        _ = h.grad
        _ = h.grad


@pytest.mark.parametrize("action", ["default", "module", "once", "ignore"])
def test_a_warning_is_shown_as_often(action: str, log: TorchLog):
    plain = shown(action, twice_on_each_of_two_lines)
    assert len(plain) == {"default": 4, "module": 2, "once": 2, "ignore": 0}[action]
    assert shown(action, twice_on_each_of_two_lines, log) == plain


@pytest.mark.parametrize("name", ["function", "C++"])
def test_filters_know_the_users_module(name: str, log: TorchLog):
    with log, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", module=__name__)
        with pytest.raises(UserWarning):
            WARN[name]()
        warnings.filterwarnings("ignore", module=__name__)
        WARN[name]()
    assert seen == []


def test_a_warning_reaches_what_shows_it(monkeypatch: pytest.MonkeyPatch):
    told: list[Any] = []
    monkeypatch.setattr(warnings, "showwarning", lambda *seen: told.append(seen))
    with TorchLog(), warnings.catch_warnings():
        warnings.simplefilter("always")
        _ = (LEAF * 2).grad
    code = test_a_warning_reaches_what_shows_it.__code__
    assert [each[2:4] for each in told] == [(code.co_filename, code.co_firstlineno + 5)]
