"""What a snapshot says of whole training steps: whose call, and what is needed yet."""

from __future__ import annotations

from typing import Any

import pytest

import gradviz
from gradviz import ir


def two_models(lib: Any) -> ir.Snapshot:
    nn = lib.nn
    generator = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 1))
    with gradviz.record() as recorder:
        for _ in range(2):
            fake = generator(lib.ones(2, 3))
            (critic(fake).mean() - critic(fake.detach()).mean()).backward()
    return recorder.snapshot()


def test_models_that_the_user_calls_have_the_names_of_their_variables(lib: Any):
    snapshot = two_models(lib)
    tops = [scope.path for scope in snapshot.scopes if scope.parent is None]
    assert sorted(tops) == [
        "critic",
        "critic#2",
        "critic#3",
        "critic#4",
        "generator",
        "generator#2",
    ]
    inner = [scope.path for scope in snapshot.scopes if scope.kind == "Tanh"]
    assert inner == ["generator.1", "generator#2.1"]


def test_the_only_model_has_the_name_of_its_class(lib: Any):
    model = lib.nn.Sequential(lib.nn.Linear(3, 1))
    with gradviz.record() as recorder:
        model(lib.ones(2, 3)).sum().backward()
    paths = [scope.path for scope in recorder.snapshot().scopes]
    assert paths == ["Sequential", "Sequential.0"]


def test_a_model_that_uses_a_weight_of_its_part_keeps_its_name(lib: Any):
    class Tied(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = lib.nn.Linear(3, 3, bias=False)

        def forward(self, x: Any) -> Any:
            return self.embed(x) @ self.embed.weight

    model = Tied()
    with gradviz.record() as recorder:
        model(lib.ones(2, 3)).sum().backward()
    assert {scope.path for scope in recorder.snapshot().scopes} == {
        "Tied",
        "Tied.embed",
    }
    other = Tied()
    with gradviz.record() as recorder:
        (model(lib.ones(2, 3)) + other(lib.ones(2, 3))).sum().backward()
    tops = {s.path for s in recorder.snapshot().scopes if s.parent is None}
    assert tops == {"model", "other"}


def overwritten(snapshot: ir.Snapshot) -> list[str]:
    return [node.name for node in snapshot.nodes if "modified" in node.flags]


def test_what_a_step_overwrites_after_its_pass_is_no_trouble(lib: Any):
    critic = lib.nn.Linear(3, 1)
    optimizer = lib.optim.SGD(critic.parameters(), lr=0.1)
    x = lib.ones(2, 3, requires_grad=True)
    with gradviz.record() as recorder:
        (g,) = lib.autograd.grad(critic(x).exp().sum(), x, create_graph=True)
        g.pow(2).sum().backward()
        optimizer.step()
    assert overwritten(recorder.snapshot()) == []


def test_what_is_overwritten_before_a_pass_is(lib: Any):
    weight = lib.ones(3, requires_grad=True)
    with gradviz.record() as recorder:
        (weight * 2).sum().backward()
        kept = weight.exp()
        loss = kept.sum()
        kept.mul_(2)
    assert overwritten(recorder.snapshot()) == ["ExpBackward0"]
    with gradviz.record() as recorder, pytest.raises(RuntimeError, match="modified"):
        loss.backward()
    assert overwritten(recorder.snapshot()) == ["ExpBackward0"]


def test_an_older_loss_that_a_name_holds_is_still_to_come(lib: Any):
    weight = lib.ones(3, requires_grad=True)
    with gradviz.record() as recorder:
        kept = weight.exp()
        loss = kept.sum()
        other = (weight * 2).sum()
        other.backward()
        kept.mul_(2)
    assert overwritten(recorder.snapshot()) == ["ExpBackward0"]
    assert loss.requires_grad
