"""Answers where most passes were looked at in brief, and where a pass raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz
from gradviz._capture import detail
from gradviz._capture.session import Session

STEPS = 20


@pytest.fixture(autouse=True)
def brief_from_the_third_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_AT_ONCE", -1e9)
    torch.manual_seed(0)


class Experts(nn.Module):
    """Two layers, and a router that picks one by positions: it never learns."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(4, 2)
        self.layers = nn.ModuleList(nn.Linear(4, 3) for _ in range(2))

    def forward(self, rows: Any) -> Any:
        chosen = self.router(rows).topk(1, dim=-1).indices
        mask = functional.one_hot(chosen, 2).sum(-2).float()
        parts = [mask[:, [n]] * each(rows) for n, each in enumerate(self.layers)]
        return parts[0] + parts[1], mask.mean(0).square().sum()


def routed(how: Any) -> Session:
    net = Experts()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradviz.record(engine="torch", detail=how) as recorder:
        for _ in range(STEPS):
            out, load = net(torch.randn(8, 4))
            fit = functional.cross_entropy(out, torch.zeros(8, dtype=torch.long))
            loss = fit + 0.01 * load
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return recorder


@pytest.mark.parametrize("name", ["loss", "layers.0.weight", "router.weight"])
def test_steps_in_brief_change_no_answer(name: str):
    told = [
        [each.sentence for each in routed(how).why(name).steps]
        for how in ("full", "auto")
    ]
    norms = "The last gradient had the norm"
    full, brief = [[s for s in each if not s.startswith(norms)] for each in told]
    shares = [s for s in brief if "has no graph" in s or "The term" in s]
    assert brief == full
    assert len(shares) == (0 if name == "router.weight" else 2)


def test_terms_that_nobody_saw_in_full_are_not_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detail, "_FIRST", 0)
    monkeypatch.setattr(detail.Detail, "affords_new", lambda self: False)
    recorder = routed("auto")
    for backward in recorder.programs()[0].events:
        if hasattr(backward, "whole"):
            backward.whole = False
    kinds = [each.kind for each in recorder.why("loss").steps]
    assert "term" not in kinds
    assert not [each for each in recorder.why("loss").steps if each.decision]


@contextmanager
def recorded() -> Iterator[Session]:
    """Record a block that raises as what it does last."""
    recorder = gradviz.record(engine="torch")
    with pytest.raises(RuntimeError), recorder:
        yield recorder


def pair() -> tuple[Session, nn.Module, nn.Module]:
    """The critic steps before the pass of the maker, which then raises."""
    maker, critic = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    with recorded() as recorder:
        made = maker(torch.randn(8, 4))
        loss_m = -critic(made).mean()
        loss_c = critic(made.detach()).mean()
        loss_c.backward()
        optimizer.step()  # to blame
        loss_m.backward()
    return recorder, maker, critic


def test_a_pass_that_raised_teaches_nobody():
    recorder, maker, critic = pair()
    of_loss = recorder.why("loss_m")
    assert of_loss.verdict == "loss_m teaches nobody: its backward pass raised."
    assert of_loss.finding == "GV107"
    assert of_loss.decision is not None
    assert of_loss.decision.site.text.strip().endswith("# to blame")
    assert recorder.why(maker).verdict.startswith("maker does not learn")
    weight = recorder.why(maker.weight)
    assert weight.verdict == "maker.weight has no gradient."
    assert "raised before it came" in weight.steps[0].sentence
    assert weight.decision.site == of_loss.decision.site
    assert "1 of 2 backward passes reached" in recorder.why(critic[0].weight).verdict


def test_a_loss_whose_last_pass_raised_did_teach_before():
    weight = torch.ones(3, requires_grad=True)
    with recorded() as recorder:
        for step in range(3):
            loss = weight.exp()
            if step == 2:
                loss.mul_(2)
            loss = loss.sum()
            loss.backward()
    why = recorder.why("loss")
    assert (
        why.verdict == "loss teaches nobody in the end: its last backward pass raised."
    )
    assert why.steps[0].sentence == "2 passes of that line ended as they should."
    assert "2 of 3 backward passes" in recorder.why(weight, "learns").verdict


def test_a_step_that_goes_on_in_brief_is_not_known_in_full(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(detail, "_MOST_ASIDE", 20)
    weight = torch.ones(3, requires_grad=True)
    rows = torch.ones(3)
    with gradviz.record(engine="torch") as recorder:
        for _ in range(60):
            rows = rows * 1.0
        (weight * rows).sum().backward()
    (backward,) = recorder.asked().runs[0][1].history.backwards
    assert not backward.whole
