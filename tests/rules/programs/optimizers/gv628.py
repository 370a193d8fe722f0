"""GV628: gradients-applied-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "two_optimizers_share_the_encoder",
        """
        import torch
        import torch.nn as nn
        enc, head = nn.Linear(3, 2), nn.Linear(2, 1)
        both = [*enc.parameters(), *head.parameters()]
        main = torch.optim.SGD(both, lr=0.1)
        slow = torch.optim.SGD(enc.parameters(), lr=0.01)
        for step in range(2):
            main.zero_grad()
            head(enc(torch.ones(4, 3))).pow(2).mean().backward()
            main.step()
            slow.step()  # CULPRIT
        """,
        "gradients-applied-twice",
        says=["another optimizer has applied"],
    ),
    case(
        "step_once_more_after_the_loop",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.ones(4, 3)).pow(2).mean().backward()
            opt.step()
        opt.step()  # CULPRIT
        """,
        "gradients-applied-twice",
        says=["a step has applied"],
    ),
]
