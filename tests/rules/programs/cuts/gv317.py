"""GV317: sample-cuts-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "sampled_latent",
        """
        import torch
        from torch import nn

        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        for step in range(2):
            x = torch.randn(5, 4)
            z = torch.distributions.Normal(encoder(x), 1.0).sample()  # CULPRIT
            loss = (decoder(z) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "sample-cuts-gradient",
        says=["bias", "Use `rsample()`."],
    ),
    case(
        "sampled_switches",
        """
        import torch
        from torch import nn

        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        for step in range(2):
            x = torch.randn(5, 4)
            switches = torch.distributions.Bernoulli(logits=encoder(x))
            on = switches.sample()  # CULPRIT
            loss = (decoder(on) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "sample-cuts-gradient",
        says=["Use a loss with `switches.log_prob(on)`."],
    ),
    case(
        "actor_that_learns_from_its_entropy_alone",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal

        class Actor(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
                self.out = nn.Linear(16, 4)

            def forward(self, state):
                mean, log_std = self.out(self.body(state)).chunk(2, dim=-1)
                dist = Normal(mean, log_std.clamp(-4, 1).exp())
                return dist.sample(), dist.entropy().sum(-1)  # CULPRIT

        torch.manual_seed(0)
        actor = Actor()
        critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
        actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
        critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

        def value(state, action):
            return critic(torch.cat([state, action], dim=-1)).squeeze(-1)

        for step in range(4):
            state, reward = torch.randn(8, 4), torch.randn(8)
            with torch.no_grad():
                action, _ = actor(state)
            critic_loss = (value(state, action) - reward).pow(2).mean()
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
            action, entropy = actor(state)
            actor_loss = (-value(state, action) - 0.1 * entropy).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            print(step, critic_loss.item(), actor_loss.item())
        """,
        "sample-cuts-gradient",
        says=["they learn from other terms alone", "`rsample()`"],
    ),
    case(
        "latent_sampled_beside_its_prior",
        """
        import torch
        from torch import nn
        from torch.distributions import Normal, kl_divergence

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(8, 12)
                self.out = nn.Linear(12, 4)

            def forward(self, x):
                mean, log_std = self.out(torch.relu(self.body(x))).chunk(2, dim=-1)
                return Normal(mean, log_std.exp())

        torch.manual_seed(0)
        encoder = Encoder()
        decoder = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 8))
        both = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(both, lr=1e-3)
        prior = Normal(torch.zeros(2), torch.ones(2))
        for epoch in range(3):
            x = torch.randn(10, 8)
            posterior = encoder(x)
            z = posterior.sample()  # CULPRIT
            recon = (decoder(z) - x).pow(2).sum(-1).mean()
            kl = kl_divergence(posterior, prior).sum(-1).mean()
            loss = recon + 0.1 * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, recon.item(), kl.item())
        """,
        "sample-cuts-gradient",
    ),
    case(
        "cost_of_a_drawn_price_beside_its_entropy",
        """
        import torch
        from torch import distributions, nn

        class Seller(nn.Module):
            def __init__(self):
                super().__init__()
                self.mean, self.spread = nn.Linear(3, 1), nn.Linear(3, 1)

            def offers(self, x):
                law = distributions.Gamma(self.mean(x).exp(), self.spread(x).exp())
                return law.sample((8,)), law.entropy().mean()  # CULPRIT

        def lost(price, limit):
            return torch.where(price < limit, limit - price, limit).mean()

        torch.manual_seed(0)
        seller = Seller()
        optimizer = torch.optim.Adam(seller.parameters(), lr=1e-3)
        for step in range(4):
            x, limit = torch.rand(16, 3), torch.rand(16, 1)
            price, entropy = seller.offers(x)
            loss = lost(price, limit) - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
        "sample-cuts-gradient",
        says=["`seller` (4 parameters)", "Use `rsample()`."],
    ),
]
