"""Loaders and spawned functions where Python cannot start a process: in a browser."""

from __future__ import annotations

import pytest

import gradtape as torch
from gradtape._common import warn
from gradtape.multiprocessing import spawn
from gradtape.utils.data import DataLoader, dataloader


def test_a_loader_fetches_without_workers_and_warns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dataloader, "has_processes", lambda: False)
    monkeypatch.setattr(warn, "_given", set())
    options = {"num_workers": 2, "persistent_workers": True, "timeout": 5}
    with pytest.warns(UserWarning, match="DataLoader fetches without workers"):
        loader = DataLoader(range(4), batch_size=2, **options)
    batches = [[batch.tolist() for batch in loader] for _ in range(2)]
    assert batches == [[[0, 1], [2, 3]]] * 2


def test_spawned_functions_are_refused(monkeypatch: pytest.MonkeyPatch):
    spawning = torch.multiprocessing.start_processes.__globals__
    monkeypatch.setitem(spawning, "has_processes", lambda: False)
    with pytest.raises(RuntimeError, match="cannot start processes"):
        spawn(print)
