"""GV302: requires-grad-on-loss-hack."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "numbers_are_logged_before_their_mean_is_wrapped",
        """
        import torch
        from torch import nn

        net, logged = nn.Linear(3, 2), []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            out = net(torch.randn(4, 3))
            near, far = out.square().mean(), (out - 1).abs().mean()
            logged.append((near.item(), far.item()))
            mean = (near.item() + 2 * far.item()) / 3  # CULPRIT
            loss = torch.tensor(mean)
            loss.requires_grad = True
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "requires-grad-on-loss-hack",
    ),
    case(
        "numbers_are_logged_and_their_mean_has_a_graph",
        """
        import torch
        from torch import nn

        net, logged = nn.Linear(3, 2), []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            out = net(torch.randn(4, 3))
            near, far = out.square().mean(), (out - 1).abs().mean()
            logged.append((near.item(), far.item()))
            loss = (near + 2 * far) / 3
            mean = torch.tensor((near.item() + 2 * far.item()) / 3)
            logged.append(mean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "hack_with_requires_grad_attribute",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            out = net(torch.randn(5, 4))
            guess = torch.argmax(out, 1)  # CULPRIT
            loss = (guess != torch.zeros(5)).float().mean()
            loss.requires_grad = True
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
        related=["error hidden here"],
    ),
    case(
        "hack_by_wrapping_the_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            out = net(torch.randn(5, 4))
            loss = F.mse_loss(out, torch.ones(5, 1))
            loss = torch.tensor(loss.item(), requires_grad=True)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
    ),
    case(
        "variable_of_the_loss",
        """
        import torch
        from torch import nn
        from torch.autograd import Variable
        net = nn.Linear(2, 1)
        loss = net(torch.ones(3, 2)).pow(2).mean()
        loss = Variable(loss.data, requires_grad=True)  # CULPRIT
        loss.backward()
        """,
        "requires-grad-on-loss-hack",
    ),
    case(
        "loss_computed_by_numpy",
        """
        import numpy as np
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.randn(8, 1)

        def error(out, target):
            gap = out.detach().numpy() - target.numpy()  # CULPRIT
            return torch.tensor(np.sqrt((gap**2).mean()), requires_grad=True)

        for step in range(2):
            opt.zero_grad()
            error(net(x), y).backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
    ),
]
