"""Cuts of the graph: the call is named, and what is meant stays quiet."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, case, run
from tests.rules.tables import named


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_whose_cut_ended_the_run_is_an_error(engine: str) -> None:
    assert diagnose(run(named("attack_on"), engine)).findings[0].severity == "error"


POLICY = case(
    "actions_drawn_with_a_graph",
    """
    import torch
    from torch import nn

    policy, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    log_std = nn.Parameter(torch.zeros(1))
    learn = torch.optim.Adam([*policy.parameters(), log_std], lr=1e-2)
    judge = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for _ in range(3):
        state = torch.randn(8, 3)
        mean, std = policy(state), log_std.exp().expand(8, 1)
        action = torch.normal(mean, std)
        worth = critic(torch.cat([state, action], 1))
        log_prob = -((action.detach() - mean) / std).square() / 2 - std.log()
        loss = -(log_prob * worth.detach()).mean() + (worth - 1).square().mean()
        learn.zero_grad()
        judge.zero_grad()
        loss.backward()
        learn.step()
        judge.step()
    """,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_draw_is_no_news_where_another_optimizer_judges_it(engine: str) -> None:
    assert diagnose(run(POLICY, engine)).findings == ()


ATTACK = case(
    "attack_that_fails_before_the_first_step",
    """
    import torch
    from torch import nn

    words, head = nn.Embedding(9, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
    rows = words(torch.arange(4)).detach()
    noise = (torch.rand(4, 3, requires_grad=True) - 0.5) * 0.1
    head(rows + noise).sum().backward()
    step = noise.grad.sign()
    head(words(torch.arange(4)) + step).sum().backward()
    opt.step()
    """,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_is_no_warning_where_the_run_ended_before_a_step(engine: str) -> None:
    loud = [e for e in diagnose(run(ATTACK, engine)).findings if e.severity != "info"]
    assert [each.slug for each in loud] == ["nonleaf-after-to"]


REWARDS = case(
    "numbers_of_the_game_beside_scores_that_were_copied",
    """
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(3, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(3):
        scores = [policy(torch.randn(3)).log_softmax(0)[0] for _ in range(4)]
        print(scores[0].item())
        returns = torch.tensor([0.5 * step for step in range(4)])
        loss = -(torch.tensor(scores, requires_grad=True) * returns).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """,
)


def test_what_may_have_come_back_is_not_blamed_beside_what_did() -> None:
    found = diagnose(run(REWARDS, "torch")).findings
    assert [each.code for each in found if each.severity != "info"] == ["GV307"]
