"""GV611: zero-grad-before-step."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "cleared_before_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
            net.zero_grad()  # CULPRIT
            opt.step()
        """,
        "zero-grad-before-step",
        says=["net.zero_grad()"],
    ),
    case(
        "cleared_by_hand_before_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            for p in net.parameters():
                p.grad.zero_()  # CULPRIT
            opt.step()
        """,
        "zero-grad-before-step",
    ),
    case(
        "critic_cleared_between_its_pass_and_its_step",
        """
        import torch
        from torch import nn

        actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
        opt_a = torch.optim.Adam(actor.parameters())
        opt_c = torch.optim.Adam(critic.parameters())
        for step in range(3):
            s = torch.randn(5, 3)
            value = critic(torch.cat([s, actor(s)], 1))
            critic_loss = (critic(torch.randn(5, 4)) - 1).pow(2).mean()
            (critic_loss - value.mean()).backward()
            opt_a.step()
            opt_a.zero_grad()
            critic.zero_grad()  # CULPRIT
            opt_c.step()
        """,
        "zero-grad-before-step",
    ),
    case(
        "cleared_by_the_other_optimizer",
        """
        import torch
        from torch import nn
        shared, actor, critic = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
        opt_a = torch.optim.SGD([*shared.parameters(), *actor.parameters()], lr=0.1)
        opt_c = torch.optim.SGD([*shared.parameters(), *critic.parameters()], lr=0.1)
        for _ in range(2):
            h = torch.tanh(shared(torch.randn(5, 3)))
            opt_a.zero_grad()
            actor(h).pow(2).mean().backward(retain_graph=True)
            opt_c.zero_grad()  # CULPRIT
            opt_a.step()
            critic(h).pow(2).mean().backward()
            opt_c.step()
        """,
        "zero-grad-before-step",
        says=["`shared.weight`"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "step_that_comes_before_its_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(8, 4)).pow(2).mean()
            opt.zero_grad()  # CULPRIT
            opt.step()  # INSTEAD
            loss.backward()
        """,
        "zero-grad-before-step",
    ),
]
