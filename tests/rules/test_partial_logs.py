"""Correct programs of which the log has a part: long runs, looked at in brief.

Which steps are seen in full depends on the machine, and what a log keeps on its length;
what is said of a program may not. Here chance decides both, the same in every run.
"""

from __future__ import annotations

import random
from contextlib import nullcontext

import pytest

import gradviz
from gradviz._capture import detail
from gradviz._capture.adapters.gradtape import log as gradtape_log
from gradviz._capture.adapters.pytorch import log as torch_log
from gradviz._capture.open_log import Engine
from gradviz.diagnosis.diagnose import diagnose
from gradviz.running.engine_alias import alias
from tests.depth import THOROUGH
from tests.rules.harness import Case, case, executed, programs, run
from tests.rules.judge import judge
from tests.rules.tables import FAMILIES, cases_of, named

SHARE_IN_FULL = 0.2
EVENTS = 160, 320, 20_000  # some steps of these programs, and all of them
SEEDS = range(3)

LONG = case(
    "batches_of_numpy_and_losses_as_numbers",
    """
    import numpy as np
    import torch
    import torch.nn as nn

    torch.manual_seed(0)
    points = np.linspace(-1, 1, 15)[None].repeat(8, axis=0)
    maker = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 15))
    judge = nn.Sequential(nn.Linear(15, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    makes = torch.optim.Adam(maker.parameters(), lr=5e-4)
    judges = torch.optim.Adam(judge.parameters(), lr=5e-4)

    def batch():
        scale = np.random.uniform(1, 2, size=8)[:, None]
        return torch.from_numpy(scale * points**2 + scale - 1).float()

    def make():
        loss = torch.log(1 - judge(maker(torch.randn(8, 5))) + 1e-8).mean()
        makes.zero_grad()
        loss.backward()
        makes.step()
        return loss.item()

    def tell():
        real, made = judge(batch()), judge(maker(torch.randn(8, 5)).detach())
        loss = -(torch.log(real + 1e-8) + torch.log(1 - made + 1e-8)).mean()
        judges.zero_grad()
        loss.backward()
        judges.step()
        return loss.item(), real.mean().item()

    for step in range(60):
        print(make(), *tell())
    """,
)
ONCE_ACCUSED = [
    LONG,
    *map(
        named,
        (
            "a_student_behind_a_relu",
            "cost_weighs_the_log_of_a_draw",
            "norms_in_bfloat16_of_few_steps",
            "norms_of_parameters_are_printed",
            "one_order_for_both_and_mixup",
            "policy_gradient_unfinished",
            "search_beside_points_that_gather_gradients",
            "search_over_two_batches",
        ),
    ),
]
MADE_IN_FORWARD = case(
    "layer_of_a_table_made_in_each_of_many_forwards",
    """
    import torch
    from torch import nn

    class Scores(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weigh = nn.Linear(width, 1)

        def forward(self, x):
            return (self.weigh(x).softmax(0) * x).sum(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.kinds = nn.Linear(3, 4), {"scores": Scores}

        def forward(self, x):
            pool = self.kinds["scores"](4)  # CULPRIT
            return pool(self.body(x).tanh())

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(60):
        optimizer.zero_grad()
        (net(torch.randn(4, 3)) - 1).square().mean().backward()
        optimizer.step()
    """,
    "parameter-made-in-forward",
)
FINE = [each for family in FAMILIES for each in cases_of(family) if each.slug is None]


@pytest.mark.parametrize("seed", SEEDS)
@programs([LONG, *FINE] if THOROUGH else ONCE_ACCUSED)
def test_a_part_of_a_log_accuses_nobody(
    case: Case, engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _judge_in_part(case, engine, seed, monkeypatch)


@pytest.mark.parametrize("seed", SEEDS)
@programs([MADE_IN_FORWARD])
def test_a_part_of_a_log_names_the_line_that_the_whole_one_names(
    case: Case, engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _judge_in_part(case, engine, seed, monkeypatch)


def _judge_in_part(
    case: Case, engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{case.name} {seed}")
    monkeypatch.setattr(
        detail.Detail, "_affords", lambda *_: chance.random() < SHARE_IN_FULL
    )
    most = chance.choice(EVENTS)
    for log in (gradtape_log, torch_log):
        monkeypatch.setattr(log, "MAX_EVENTS", most)
        monkeypatch.setattr(log, "MOST_WITHOUT_VALUES", most)
    session = gradviz.record(engine=engine)
    session.script = case.file
    instead = nullcontext() if engine == "torch" else alias("torch", "gradtape")
    with instead, executed(case, session):
        pass
    judge(case, session.diagnose())


def test_layers_are_evaluated_whose_calls_were_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detail.Detail, "_affords", lambda *_: False)
    case = named("frozen_in_train_and_evaluated_again_and_again")
    session = gradviz.record(engine="torch")
    session.script = case.file
    with executed(case, session):
        pass
    judge(case, session.diagnose())


WITH_MODULES = [
    each
    for family in FAMILIES
    for each in cases_of(family)
    if "nn." in each.source and "torch" in each.engines
]


@pytest.mark.parametrize(
    "case",
    WITH_MODULES
    if THOROUGH
    else [*map(named, ("layer_that_is_not_used", "eval_and_train_in_turns"))],
    ids=lambda case: case.name,
)
def test_modules_that_a_long_run_forgot_break_no_rule(case: Case) -> None:
    program = run(case, "torch")
    program.modules.clear()
    assert not [note for note in diagnose(program).notes if "was skipped" in note]
