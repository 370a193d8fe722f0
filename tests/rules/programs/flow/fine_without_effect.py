"""Terms, masks, factors and rows that may be without effect."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "gate_that_is_switched_off",
        """
        import torch
        from torch import nn
        main, side = nn.Linear(3, 1), nn.Linear(3, 1)
        both = [*main.parameters(), *side.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        weight = torch.zeros(1)
        x = torch.randn(6, 3)
        def step_loss():
            return (main(x) + weight * side(x) - 1).square().mean()
        """
        + STEPS,
    ),
    case(
        "branch_that_is_not_taken_yet",
        """
        import torch
        from torch import nn
        main, side = nn.Linear(3, 1), nn.Linear(3, 1)
        both = [*main.parameters(), *side.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x = torch.rand(6, 3)
        def step_loss():
            far = x.sum(1, keepdim=True) > 9
            return torch.where(far, side(x), main(x)).square().mean()
        """
        + STEPS,
    ),
    case(
        "rows_named_once_or_scaled",
        """
        import torch
        from torch import nn
        talk = nn.Linear(3, 3)
        nodes = torch.randn(4, 3)
        order, twice = torch.randperm(4), torch.tensor([1, 1, 2])
        inbox = torch.zeros_like(nodes)
        inbox[order] += talk(nodes)
        inbox[twice] = inbox[twice] * 0.5
        inbox[[0, 2]] += 1
        inbox = inbox.index_add(0, twice, talk(nodes[:3]))
        inbox.square().sum().backward()
        """,
    ),
    case(
        "padding_filled_far_below_or_masked_again",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        low = torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1)
        zero = torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1) * mask
        weights = low + zero / zero.sum(1, keepdim=True)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
    ),
    case(
        "constants_that_are_meant",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(6, 3), torch.arange(6) % 2
        def step_loss():
            scores = net(x)
            error = nn.functional.cross_entropy(scores, y)
            with torch.no_grad():
                best = -torch.log_softmax(net(x), 1).amax(1).mean()
            hits = (scores.argmax(1) == y).float().mean()
            print(float(hits), float(error - best))
            surrogate = error + (error.sqrt() - error).detach()
            return (surrogate - best + 3) * (2 - hits)
        """
        + STEPS,
    ),
    case(
        "first_of_a_batch_as_an_origin",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        x, y = torch.randn(6, 3), torch.randn(6, 2)
        path = net(x)
        away = path.detach() - path[0]
        (away.square().mean() + (path[0] - y[0]).square().mean()).backward()
        """,
    ),
    case(
        "rewards_that_did_not_come_yet",
        """
        import torch
        from torch import nn

        policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        opt = torch.optim.Adam(policy.parameters(), lr=0.01)
        for episode in range(3):
            states = torch.randn(6, 3)
            draws = torch.distributions.Categorical(logits=policy(states))
            actions = draws.sample()
            rewards = torch.tensor([float(s.sum() > 100) for s in states])
            loss = -(draws.log_prob(actions) * rewards).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        engines=("torch",),
    ),
    case(
        "head_that_is_switched_off",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        body, head, extra = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 4)
        parts = nn.ModuleList([body, head, extra])
        opt = torch.optim.Adam(parts.parameters(), lr=0.01)
        beta = 0.0
        for step in range(3):
            x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
            h = body(x).tanh()
            again = F.mse_loss(extra(h), x)
            loss = F.cross_entropy(head(h), labels) + beta * again
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "constants_that_leave_units_apart",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(8))
                self.body = nn.Linear(4, 8)
                self.gate = nn.Linear(8, 8)
                self.mix = nn.Linear(8, 8)
                self.head = nn.Linear(8, 2)
                nn.init.constant_(self.gate.weight, 0.1)
                nn.init.constant_(self.head.weight, 0.1)
                nn.init.normal_(self.gate.bias)

            def forward(self, x):
                x = self.scale * self.body(x).tanh()
                return self.head(self.gate(x).tanh()) + self.head(self.mix(x).tanh())

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x, y = torch.randn(8, 4), torch.randn(8, 2)
            loss = F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "hinges_that_are_satisfied_beside_a_masked_diagonal",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        net = nn.Linear(6, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def near(one, other, margin):
            alike = F.normalize(one, dim=1) @ F.normalize(other, dim=1).t()
            others = alike.clone()
            others.diagonal().fill_(-float("inf"))
            nearest, _ = others.max(dim=1)
            return F.relu(nearest - alike.diagonal() + margin).mean()

        for step in range(3):
            x = torch.randn(8, 6)
            one, other = net(x), net(x + 0.01 * torch.randn(8, 6))
            loss = near(one, other, 0.5) + near(one, other, -3.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
