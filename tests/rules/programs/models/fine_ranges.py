"""Correct programs whose losses, last operations and statements look wrong."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "optimizer_that_maximises",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01, maximize=True)
        x, y = torch.randn(16, 4), torch.randn(16, 1)
        for step in range(4):
            loss = -(net(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "generator_makes_the_critic_err",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        maker, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        of_maker = torch.optim.SGD(maker.parameters(), lr=0.01)
        of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
        for step in range(4):
            real, fake = torch.randn(8, 2) + 1, maker(torch.randn(8, 2))
            right = F.logsigmoid(critic(real)) + F.logsigmoid(-critic(fake.detach()))
            of_critic.zero_grad()
            (-right.mean()).backward()
            of_critic.step()
            of_maker.zero_grad()
            F.logsigmoid(-critic(fake)).mean().backward()
            of_maker.step()
        """,
    ),
    case(
        "cost_weighs_the_log_of_a_draw",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        policy = nn.Linear(4, 3)
        opt = torch.optim.SGD(policy.parameters(), lr=0.05)
        for step in range(4):
            state = torch.randn(16, 4)
            choices = torch.distributions.Categorical(logits=policy(state))
            action = choices.sample()
            cost = (action != 1).float()
            loss = (choices.log_prob(action) * cost).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "clipped_value_of_an_earlier_guess",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Linear(4, 1)
        opt = torch.optim.SGD(critic.parameters(), lr=0.01)
        state, gain = torch.randn(16, 4), 4 * torch.randn(16, 1)
        with torch.no_grad():
            before = critic(state)
        for step in range(5):
            value = critic(state)
            near = before + (value - before).clamp(-0.2, 0.2)
            loss = torch.max((value - gain).pow(2), (near - gain).pow(2)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "operation_tried_before_it_is_used",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        a = torch.randn(32, 32)
        for _ in range(3):
            a @ a
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net(torch.zeros(1, 4))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(16, 4)
        for step in range(4):
            loss = (net(x) - x[:, :1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "clipped_and_told_by_nobody",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(16, 4)
        for step in range(4):
            loss = (net(x) - x[:, :1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        """,
    ),
    case(
        "scores_from_a_relu_behind_a_layer",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
        for step in range(4):
            loss = F.cross_entropy(net(x), y) - 0.01 * net(x).softmax(1).amax(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "distances_of_pairs_in_order",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        users, things = nn.Embedding(8, 4), nn.Embedding(9, 4)
        both = [*users.parameters(), *things.parameters()]
        opt = torch.optim.SGD(both, lr=0.1)
        for step in range(4):
            who = torch.randint(0, 8, (16,))
            liked, other = torch.randint(0, 9, (2, 16))
            near = (users(who) * things(liked)).sum(1)
            far = (users(who) * things(other)).sum(1)
            loss = -F.logsigmoid(near - far).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "likelihood_of_projections_below_zero",
        """
        import torch
        torch.manual_seed(0)
        basis = torch.linalg.qr(torch.randn(40, 6))[0]
        y = basis @ torch.randn(6) * 3 + 0.05 * torch.randn(40)
        class Process(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.raw = torch.nn.Parameter(torch.zeros(6))
                self.log_noise = torch.nn.Parameter(torch.tensor(0.0))
        process = Process()
        opt = torch.optim.Adam(process.parameters(), lr=0.05)
        for step in range(60):
            log_noise = process.log_noise
            noise = log_noise.exp()
            shrink = torch.sigmoid(process.raw)
            part = (basis.T @ y) * shrink / noise.sqrt()
            bound = -0.5 * 40 * log_noise - 0.5 * y.pow(2).sum() / noise
            bound = bound + 0.5 * part.pow(2).sum() - (1 - shrink).log().sum() * -0.01
            loss = -bound / 40
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        engines=("torch",),
    ),
]
