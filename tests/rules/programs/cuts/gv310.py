"""GV310: threshold-cuts-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_that_selects_inputs",
        """
        import torch
        from torch import nn
        scorer, head = nn.Linear(2, 1), nn.Linear(2, 1)
        x = torch.randn(6, 2)
        mask = scorer(x).squeeze(1) > 0  # CULPRIT
        x2 = torch.where(mask[:, None], x, -x)
        loss = head(x2).pow(2).mean()
        loss.backward()
        """,
        "threshold-cuts-gradient",
    ),
    case(
        "hard_gate",
        """
        import torch
        from torch import nn

        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(4, 1)
                self.value = nn.Linear(4, 1)

            def forward(self, x):
                score = torch.sigmoid(self.gate(x))
                mask = (score > 0.5).float()  # CULPRIT
                return mask * self.value(x)

        net = Gated()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            loss = (net(torch.randn(5, 4)) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "threshold-cuts-gradient",
        says=["gate.weight", "of what is compared there"],
    ),
    case(
        "learned_threshold",
        """
        import torch

        x = torch.linspace(-1, 1, 8)
        threshold = torch.tensor(0.1, requires_grad=True)
        gain = torch.tensor(2.0, requires_grad=True)
        kept = torch.where(x > threshold, x, torch.zeros(8))  # CULPRIT
        loss = (gain * kept).sum()
        loss.backward()
        print(threshold.grad)
        """,
        "threshold-cuts-gradient",
    ),
    case(
        "decisions_of_a_helper_that_metrics_need",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(9, 3), (torch.randn(9) > 0).float()

        def decide(x):
            return (torch.sigmoid(net(x)).squeeze(1) > 0.5).float()

        with torch.no_grad():
            print((decide(x) == y).float().mean())
        for step in range(3):
            loss = F.mse_loss(decide(x), y)  # CULPRIT
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "threshold-cuts-gradient",
    ),
]
