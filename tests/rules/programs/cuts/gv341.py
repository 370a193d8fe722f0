"""GV341: term-without-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "penalty_on_data",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(6, 3)
        def penalty():
            return sum(p.data.abs().sum() for p in net.parameters())  # CULPRIT
        def step_loss():
            return net(x).square().mean() + 0.1 * penalty()
        """
        + STEPS,
        "term-without-graph",
        related=["added to the loss"],
    ),
    case(
        "load_of_chosen_experts",
        """
        import torch
        from torch import nn
        gate, expert = nn.Linear(3, 4), nn.Linear(3, 1)
        both = [*gate.parameters(), *expert.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x = torch.randn(9, 3)
        def step_loss():
            best, chosen = torch.softmax(gate(x), dim=-1).max(-1)
            error = (best.unsqueeze(1) * expert(x) - 1).square().mean()
            share = nn.functional.one_hot(chosen, 4).float().mean(0)  # CULPRIT
            return error + 0.01 * 4 * share.square().sum()
        """
        + STEPS,
        "term-without-graph",
    ),
    case(
        "number_of_a_second_loss",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(6, 10)
                self.classes, self.angle = nn.Linear(10, 3), nn.Linear(10, 1)

            def forward(self, x):
                h = torch.relu(self.body(x))
                return self.classes(h), self.angle(h).squeeze(1)

        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

        def losses(x, labels, angles):
            logits, angle = net(x)
            main = F.cross_entropy(logits, labels)
            decay = 1e-3 * sum(p.pow(2).sum() for p in net.parameters())
            smooth = F.smooth_l1_loss(angle, angles)
            return main + decay + smooth.item()  # CULPRIT

        for step in range(4):
            x, labels = torch.randn(9, 6), torch.randint(0, 3, (9,))
            loss = losses(x, labels, torch.randn(9))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
        "term-without-graph",
    ),
    case(
        "consistency_between_two_views_detached",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

        def noisy(x):
            return x + 0.1 * torch.randn_like(x)

        history = {"supervised": [], "consistency": []}
        for step in range(4):
            x, y = torch.randn(12, 5), torch.randint(0, 4, (12,))
            supervised = F.cross_entropy(net(x), y)
            one, two = net(noisy(x)).softmax(-1), net(noisy(x)).softmax(-1)
            consistency = (one - two).pow(2).mean()
            history["supervised"].append(supervised.item())
            history["consistency"].append(consistency.item())
            loss = supervised + 10.0 * consistency.detach()  # CULPRIT
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(history)
        """,
        "term-without-graph",
    ),
    case(
        "features_that_a_hook_keeps_detached",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        eye = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU()).requires_grad_(False)
        seen = []
        def keep(module, given, out):
            seen.append(out.detach())  # CULPRIT
        eye.register_forward_hook(keep)

        def perceptual(one, other):
            eye(one)
            eye(other)
            (first, second), seen[:] = seen, []
            return F.mse_loss(first, second)

        net = nn.Linear(8, 8)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(6, 1, 8)
            made = net(x)
            optimizer.zero_grad()
            loss = F.mse_loss(made, x) + 0.1 * perceptual(made, x)
            loss.backward()
            optimizer.step()
        """,
        "term-without-graph",
    ),
]
