"""A log of PyTorch that cannot be opened leaves everything as it found it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.modules import module
from torch.optim import optimizer  # pyright: ignore[reportAttributeAccessIssue]

from gradviz._capture.adapters.pytorch.log import TorchLog
from gradviz._capture.training_loop.patches import Patches

MISSING = object()
STEPS = ("set", "hook")  # of Patches: how everything but the mode is put in place


class Counted:
    """Counts what an opening log puts in place, and stops it at one of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = 0
        self.places: list[tuple[Any, str]] = []
        self.stop_at: int | None = None
        self.error: type[BaseException] = KeyboardInterrupt
        for name in STEPS:
            monkeypatch.setattr(Patches, name, self._counting(getattr(Patches, name)))

    def _counting(self, original: Callable[..., None]) -> Callable[..., None]:
        def counting(patches: Patches, *args: Any) -> None:
            self.done += 1
            if self.done == self.stop_at:
                raise self.error
            if len(args) > 1:
                self.places.append(args[:2])
            original(patches, *args)

        return counting


def state(places: list[tuple[Any, str]]) -> list[Any]:
    """Return what stands at these places, and what else an open log changes."""
    hooks: Any = (
        module._global_parameter_registration_hooks,
        optimizer._global_optimizer_pre_hooks,
        optimizer._global_optimizer_post_hooks,
    )
    return [
        *[vars(owner).get(name, MISSING) for owner, name in places],
        *map(dict, hooks),
        torch._C._len_torch_function_stack(),
        list(TorchLog._open),
    ]


def places_of_a_log(counted: Counted) -> list[tuple[Any, str]]:
    """Open a log once, and return the attributes it replaced."""
    with TorchLog():
        pass
    places, counted.places = counted.places, []
    return places


def test_nothing_stays_wherever_opening_stops(monkeypatch: pytest.MonkeyPatch):
    counted = Counted(monkeypatch)
    places = places_of_a_log(counted)
    before, count = state(places), counted.done
    assert count > 40
    for step in range(1, count + 1):
        counted.done, counted.stop_at = 0, step
        log = TorchLog()
        with pytest.raises(KeyboardInterrupt):
            log.__enter__()
        assert counted.done == step
        assert state(places) == before, step
        assert not log.on


def test_nothing_stays_where_the_mode_cannot_be_entered(
    monkeypatch: pytest.MonkeyPatch,
):
    places = places_of_a_log(Counted(monkeypatch))
    before = state(places)

    def fail(*_: object) -> None:
        raise LookupError

    log = TorchLog()
    monkeypatch.setattr(type(log.calls.mode), "__enter__", fail)
    with pytest.raises(LookupError):
        log.__enter__()
    assert state(places) == before


def test_nothing_stays_where_closing_fails(monkeypatch: pytest.MonkeyPatch):
    places = places_of_a_log(Counted(monkeypatch))
    before = state(places)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    log = TorchLog()
    monkeypatch.setattr(log.loop.names, "refresh", fail)
    with pytest.raises(KeyboardInterrupt), log:
        pass
    assert state(places) == before


def test_a_part_that_cannot_be_put_in_place_is_noted_once(
    monkeypatch: pytest.MonkeyPatch,
):
    counted = Counted(monkeypatch)
    places = places_of_a_log(counted)
    before, count = state(places), counted.done
    counted.error, noted = LookupError, 0
    for step in range(1, count + 1):
        counted.done, counted.stop_at = 0, step
        log = TorchLog()
        try:
            with log:
                counted.stop_at = None
                torch.nn.Linear(2, 1)(torch.ones(2)).backward()
        except LookupError:
            continue  # not of a part: there is no log without it
        finally:
            assert state(places) == before, step
        (note,) = log.program.notes
        assert "were not followed to the end: LookupError" in note
        noted += 1
    assert noted > 20
