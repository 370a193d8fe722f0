"""GV610: gradients-not-zeroed."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "search_whose_closure_clears_nothing",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
        x = torch.randn(6, 3)
        def closure():
            loss = (net(x).tanh() - 0.5).square().mean()
            loss.backward()  # CULPRIT
            return loss
        optimizer.step(closure)
        """,
        "gradients-not-zeroed",
    ),
    case(
        "loop_without_zero_grad",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def train_step(x, y):
            loss = (net(x) - y).pow(2).mean()
            loss.backward()  # CULPRIT
            opt.step()
            return loss.item()

        for epoch in range(3):
            train_step(torch.randn(5, 4), torch.randn(5, 1))
        """,
        "gradients-not-zeroed",
        related=["applied here, and kept"],
    ),
    case(
        "zero_grad_of_another_optimizer",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for step in range(3):
            fake = gen(torch.randn(4, 2))
            d_loss = disc(fake.detach()).mean() - disc(torch.randn(4, 3)).mean()
            opt_g.zero_grad()  # CULPRIT
            d_loss.backward()
            opt_d.step()
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """,
        "gradients-not-zeroed",
        says=["bias"],
    ),
    case(
        "manual_descent_without_clearing",
        """
        import torch

        w = torch.zeros(3, requires_grad=True)
        for step in range(3):
            loss = (w - torch.arange(3.0)).pow(2).sum()
            loss.backward()  # CULPRIT
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "gradients-not-zeroed",
        says=["`w`"],
    ),
    case(
        "zero_grad_once_per_epoch",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for batch in torch.randn(3, 5, 4):
                loss = net(batch).pow(2).mean()
                loss.backward()
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "accumulated_without_a_final_clear",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for i, batch in enumerate(torch.randn(6, 5, 4)):
            loss = net(batch).pow(2).mean() / 2
            loss.backward()  # CULPRIT
            if i % 2 == 1:
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "zero_grad_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(4):
            opt.zero_grad  # CULPRIT
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "the_other_optimizer_is_cleared_twice",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        gen, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(4):
            critic.requires_grad_(False)
            opt_g.zero_grad()
            fake = gen(torch.randn(5, 3))
            (-critic(fake)).mean().backward()
            opt_g.step()
            critic.requires_grad_(True)
            opt_g.zero_grad()  # CULPRIT
            critic(torch.randn(5, 3)).square().mean().backward()
            critic(fake.detach()).mean().backward()
            opt_c.step()
        """,
        "gradients-not-zeroed",
        says=["cleared elsewhere already", "`opt_c.zero_grad()` here"],
    ),
    case(
        "other_parameters_of_the_pass_are_cleared",
        script("""
head = nn.Linear(2, 2)
body, top = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, head))
for x, y in batches:
    body.zero_grad()  # CULPRIT
    F.mse_loss(head(net(x)), y).backward()
    body.step()
    top.step()
"""),
        "gradients-not-zeroed",
        says=["but only for other parameters"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "cleared_once_per_epoch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for x in torch.randn(3, 4, 3):
                loss = net(x).pow(2).mean()
                loss.backward()  # INSTEAD
                opt.step()
        """,
        "gradients-not-zeroed",
        says=["Line 6 does, but not in every iteration."],
    ),
    case(
        "only_the_head_is_cleared",
        """
        import torch
        import torch.nn as nn
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            head.zero_grad()  # CULPRIT
            head(body(torch.randn(8, 4))).pow(2).mean().backward()  # INSTEAD
            opt.step()
        """,
        "gradients-not-zeroed",
        says=["Line 6 does, but only for other parameters."],
    ),
]
