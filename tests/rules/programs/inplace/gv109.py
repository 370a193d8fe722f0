"""GV109: data-bypasses-version."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scaled_through_data",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        loss = (h ** 2).sum()
        h.data.mul_(0.5)  # CULPRIT
        loss.backward()
        """,
        "data-bypasses-version",
        says=["`.data`"],
    ),
    case(
        "item_through_data",
        """
        import torch

        w = torch.randn(3, requires_grad=True)
        x = torch.randn(3, requires_grad=True)
        loss = (w * x).sum()
        w.data[0] = 0.0  # CULPRIT
        loss.backward()
        w.data -= 0.1 * w.grad
        """,
        "data-bypasses-version",
    ),
    case(
        "clipping_weights_of_a_critic_too_early",
        """
        import torch
        import torch.nn as nn

        critic = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
        opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
        for _ in range(2):
            loss = critic(torch.randn(4, 2)).mean() - critic(torch.randn(4, 2)).mean()
            for p in critic.parameters():
                p.data.clamp_(-0.01, 0.01)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "data-bypasses-version",
    ),
    case(
        "update_between_two_losses",
        """
        import torch

        w = torch.tensor([0.5, -0.5], requires_grad=True)
        v = torch.tensor([2.0, 3.0], requires_grad=True)
        first = (w * v).sum()
        second = (w * v * v).sum()
        first.backward()
        for p in (w, v):
            p.data -= 0.1 * p.grad  # CULPRIT
        second.backward()
        """,
        "data-bypasses-version",
    ),
    case(
        "optimizer_with_data_writes",
        """
        import torch
        import torch.nn as nn
        class Sgd(torch.optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, dict(lr=lr))
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.add_(p.grad.data, alpha=-group["lr"])
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        opt = Sgd(net.parameters(), 0.5)
        a = net(torch.ones(1, 2)).sum()
        b = net(torch.ones(1, 2)).pow(2).sum()
        a.backward()
        opt.step()  # CULPRIT
        b.backward()
        """,
        "data-bypasses-version",
    ),
    case(
        "weight_decay_before_backward",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = net(torch.ones(3, 2)).mean()
            for m in net:
                if isinstance(m, nn.Linear):
                    m.weight.data.mul_(0.99)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "data-bypasses-version",
    ),
    case(
        "data_set",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        loss = (w * x).sum()
        w.data = w.data * 5  # CULPRIT
        loss.backward()
        print(x.grad)
        """,
        "data-bypasses-version",
    ),
    case(
        "data_copy_",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        best = {k: v.clone() for k, v in net.state_dict().items()}
        loss = net(torch.ones(1, 2)).sum()
        for k, p in net.named_parameters():
            p.data.copy_(best[k] * 2)  # CULPRIT
        loss.backward()
        """,
        "data-bypasses-version",
    ),
    case(
        "state_reset_by_a_helper",
        """
        import torch
        from torch import nn

        def forget(state, rows):
            for each in state:
                each.data.masked_fill_(rows, 0.0)  # CULPRIT
            return state

        cell = nn.Linear(3, 3)
        state = [torch.zeros(4, 3)]
        for step in range(3):
            state = forget(state, torch.arange(4).unsqueeze(1) == step)
            state = [torch.tanh(cell(state[0] + torch.ones(4, 3)))]
        state[0].sum().backward()
        """,
        "data-bypasses-version",
        says=["`masked_fill`"],
    ),
]
