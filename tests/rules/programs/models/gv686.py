"""GV686: weight-of-a-mean-loss."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "focal_loss_of_the_mean",
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        net = nn.Linear(3, 4)
        x, y = torch.randn(8, 3), torch.randint(4, (8,))
        loss = F.cross_entropy(net(x), y)  # CULPRIT
        p = torch.exp(-loss)
        ((1 - p) ** 2 * loss).mean().backward()
        """,
        "weight-of-a-mean-loss",
        says=["8 samples", "reduction"],
    ),
    case(
        "focal_loss_and_learnt_weights",
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        net, s = nn.Linear(3, 4), nn.Parameter(torch.zeros(()))
        x, y = torch.randn(8, 3), torch.randint(4, (8,))
        loss = F.cross_entropy(net(x), y, reduction="none")
        focal = ((1 - torch.exp(-loss)) ** 2 * loss).mean()
        mean = F.cross_entropy(net(x), y)
        (focal + torch.exp(-s) * mean + s + mean * mean.detach()).backward()
        """,
    ),
    case(
        "focal_loss_with_weights_of_classes",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        class Focal(nn.Module):
            def __init__(self, gamma=2.0):
                super().__init__()
                self.gamma = gamma
                self.register_buffer("alpha", torch.tensor([0.25, 0.75]))
            def forward(self, logits, target):
                ce = F.cross_entropy(logits, target)  # CULPRIT
                pt = torch.exp(-ce)
                return (self.alpha[target] * (1 - pt) ** self.gamma * ce).mean()
        net, focal = nn.Linear(3, 2), Focal()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = focal(net(torch.randn(8, 3)), torch.randint(0, 2, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "weight-of-a-mean-loss",
    ),
]
