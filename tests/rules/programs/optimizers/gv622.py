"""GV622: gradients-never-applied."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "step_without_parentheses",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in torch.randn(4, 2, 3):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step  # CULPRIT
        """,
        "gradients-never-applied",
        says=["`opt` never steps"],
    ),
    case(
        "only_the_scheduler_steps",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
        for epoch in range(3):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            sched.step()  # CULPRIT
        """,
        "gradients-never-applied",
        says=["Only its scheduler steps"],
    ),
    case(
        "step_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step  # CULPRIT
        """,
        "gradients-never-applied",
    ),
    case(
        "closure_that_no_step_is_given",
        """
        import torch
        from torch import nn
        def make_step(net, opt):
            def closure():
                opt.zero_grad()
                loss = net(torch.ones(4, 3)).pow(2).mean()
                loss.backward()
                return loss
            def step():
                return closure().item()  # CULPRIT
            return step
        net = nn.Linear(3, 1)
        step = make_step(net, torch.optim.LBFGS(net.parameters()))
        for _ in range(3):
            print(step())
        """,
        "gradients-never-applied",
        says=["step(closure)"],
    ),
]
