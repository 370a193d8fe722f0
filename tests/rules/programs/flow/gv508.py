"""GV508: gradient-ends-in-zeros."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "step_of_an_integrator_rounded_to_zero",
        """
        import torch
        from torch import nn
        field, read = nn.Linear(2, 2), nn.Linear(2, 1)
        both = [*field.parameters(), *read.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)

        def solve(state, start, end, substeps=4):
            width = (end - start) // substeps  # CULPRIT
            for _ in range(substeps):
                state = state + width * torch.tanh(field(state))
            return state

        times = torch.arange(3)
        def step_loss():
            state = torch.ones(5, 2)
            for start, end in zip(times, times[1:]):
                state = solve(state, start, end)
            return (read(state) - 1).square().mean()
        """
        + STEPS,
        "gradient-ends-in-zeros",
        says=["rounds to 0", "`field.bias` and `field.weight`"],
        related=["multiplied here"],
    ),
    case(
        "pixels_scaled_as_integers",
        """
        import torch
        from torch import nn
        images = torch.randint(0, 255, (8, 6))
        net = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaled = (images / 255).long()  # CULPRIT
        def step_loss():
            scores = net(scaled.float())
            return nn.functional.cross_entropy(scores, torch.arange(8) % 3)
        """
        + STEPS,
        "gradient-ends-in-zeros",
    ),
    case(
        "softmax_of_one_score",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        def step_loss():
            chance = torch.softmax(net(x), dim=1)  # CULPRIT
            return (chance - y).square().mean()
        """
        + STEPS,
        "gradient-ends-in-zeros",
        says=["one element"],
    ),
    case(
        "layer_norm_of_one_feature",
        """
        import torch
        from torch import nn
        first, norm = nn.Linear(4, 1), nn.LayerNorm(1)
        both = [*first.parameters(), *norm.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        def step_loss():
            hidden = first(x)
            return (norm(hidden) - y).square().mean()  # CULPRIT
        """
        + STEPS,
        "gradient-ends-in-zeros",
    ),
]
