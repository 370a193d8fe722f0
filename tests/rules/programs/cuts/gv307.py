"""GV307: tensor-copy-construct."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "copy_construct",
        """
        import torch
        from torch import nn

        scale_net, head = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = torch.optim.SGD([*scale_net.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(6, 4)
        for step in range(2):
            raw = torch.sigmoid(scale_net(x))
            scale = torch.tensor(raw)  # CULPRIT
            loss = (scale * head(x)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "tensor-copy-construct",
    ),
    case(
        "loss_list_made_a_tensor",
        """
        import torch
        from torch import nn

        nets = nn.ModuleList([nn.Linear(2, 1) for _ in range(3)])
        losses = []
        for net in nets:
            losses.append(net(torch.randn(4, 2)).pow(2).mean())
        total = torch.tensor(losses).sum()  # CULPRIT
        total.backward()
        """,
        "tensor-copy-construct",
    ),
]
