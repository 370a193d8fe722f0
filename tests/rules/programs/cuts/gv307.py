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
    case(
        "states_of_a_solver_copied_for_the_loss",
        """
        import torch
        from torch import nn
        rate = nn.Parameter(torch.tensor(0.3))
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD([rate, *net.parameters()], 0.05)
        for step in range(5):
            ys = [torch.ones(2)]
            for _ in range(6):
                ys.append(ys[-1] - 0.1 * rate * ys[-1])
            flow = [
                net(torch.tensor([y[0], y[1]]))  # CULPRIT
                for y in ys
            ]
            loss = (torch.cat(flow) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "tensor-copy-construct",
    ),
]
