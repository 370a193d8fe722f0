"""Draws that cut a graph off, and are meant to: scored, or data of another part."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "expected_cost_by_its_score_beside_its_number",
        """
        import torch
        from torch import distributions, nn

        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for step in range(4):
            x, limit = torch.rand(16, 3), torch.rand(16)
            mean, spread = net(x).unbind(1)
            law = distributions.LogNormal(mean, spread.exp())
            price = law.sample()
            cost = (limit - price).abs()
            score = (law.log_prob(price) * (cost - cost.mean())).mean()
            loss = cost.mean() + score - score.detach() - 0.01 * law.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
    case(
        "halves_that_learn_from_what_the_other_dreamt",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal

        torch.manual_seed(0)
        generate, recognise = nn.Linear(2, 4), nn.Linear(4, 2)
        both = [*generate.parameters(), *recognise.parameters()]
        optimizer = torch.optim.Adam(both, lr=1e-3)
        for step in range(4):
            x = torch.randn(16, 4)
            z = Normal(recognise(x), 1.0).sample()
            wake = Normal(generate(z), 1.0).log_prob(x).sum(1).mean()
            dream_z = torch.randn(16, 2)
            dream_x = Normal(generate(dream_z), 1.0).sample()
            sleep = Normal(recognise(dream_x), 1.0).log_prob(dream_z).sum(1).mean()
            loss = -wake - sleep
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "noise_that_is_fitted_beside_what_tells_it_from_data",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.distributions import Normal

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        mean, log_scale = (nn.Parameter(torch.zeros(1)) for _ in range(2))
        optimizer = torch.optim.Adam([*net.parameters(), mean, log_scale], lr=1e-2)
        for step in range(4):
            x = torch.randn(32, 1) + 2
            noise = Normal(mean, log_scale.exp())
            y = noise.sample(x.shape[:1])
            told_apart = F.softplus(-net(x)).mean() + F.softplus(net(y)).mean()
            loss = told_apart - noise.log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "actions_drawn_for_the_critic_alone",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal

        torch.manual_seed(0)
        actor, critic = nn.Linear(2, 1), nn.Linear(3, 1)
        opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
        opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
        for step in range(4):
            s = torch.rand(16, 2)
            a = Normal(actor(s), 0.3).sample()
            worth = 1 - (a.squeeze(1) - s.prod(1)).square()
            q = critic(torch.cat([s, a], 1)).squeeze(1)
            opt_c.zero_grad()
            (q - worth).square().mean().backward()
            opt_c.step()
            opt_a.zero_grad()
            (-critic(torch.cat([s, actor(s)], 1)).mean()).backward()
            opt_a.step()
        """,
    ),
]
