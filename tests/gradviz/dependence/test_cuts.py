"""Where graphs end behind the root of a pass."""

from __future__ import annotations

from gradviz.dependence.cuts import cuts
from gradviz.program import History
from tests.rules.harness import Case, case, run

CONSTANTS = case(
    "constants_after_an_evaluation",
    """
    import torch
    from torch import nn

    net = nn.Linear(3, 4)

    def batch():
        return torch.rand(8, 3) * torch.tensor([0.8, -0.7, 0.6])

    @torch.no_grad()
    def evaluate():
        return net(batch()).mean().item()

    print(evaluate())
    net(batch()).argmax(1).float().mean().backward()
    """,
)


def kinds(program: Case) -> list[str]:
    return [each.kind for each in cuts(History(run(program, "torch")))]


def test_numbers_that_a_line_is_always_given_came_from_no_evaluation():
    assert kinds(CONSTANTS) == ["index"]
