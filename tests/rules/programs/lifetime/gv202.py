"""GV202: shared-trunk-two-backwards."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "table_that_is_built_once",
        """
        import torch
        from torch import nn
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.mix = nn.Parameter(torch.randn(5, 2))
                self.bases = nn.Parameter(torch.randn(2, 3))
                self.rows = None
            def build(self):
                self.rows = self.mix @ self.bases
                return self.rows
            def forward(self, i):
                rows = self.rows if self.rows is not None else self.build()  # CULPRIT
                return rows[i]
        def check(net):
            net(torch.tensor([1, 2])).square().mean().backward()
            net.zero_grad()
        net = Table()
        check(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = net(torch.tensor([0, 3])).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "a_pass_for_each_head",
        """
        import torch
        from torch import nn
        trunk = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        heads = nn.ModuleDict({"kind": nn.Linear(4, 2), "size": nn.Linear(4, 1)})
        hidden = trunk(torch.randn(5, 3))
        results = {name: head(hidden) for name, head in heads.items()}
        for name, result in results.items():
            loss = result.square().mean()
            loss.backward()  # CULPRIT
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "sum_of_losses_after_each",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        total = 0
        for step in range(3):
            loss = net(torch.ones(1, 2)).pow(2).sum()
            loss.backward()  # CULPRIT
            total = total + loss
        total.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "two_heads",
        """
        import torch
        import torch.nn as nn
        class TwoHeads(nn.Module):
            def __init__(self):
                super().__init__()
                self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
                self.a, self.b = nn.Linear(8, 1), nn.Linear(8, 3)
            def forward(self, x):
                h = self.trunk(x)
                return self.a(h), self.b(h)
        net = TwoHeads()
        a, b = net(torch.randn(5, 4))
        loss_a = a.pow(2).mean()
        loss_b = b.abs().mean()
        loss_a.backward()  # CULPRIT
        loss_b.backward()
        """,
        "shared-trunk-two-backwards",
        says=["`loss_a`", "`loss_b`"],
    ),
    case(
        "second_head_later",
        """
        import torch
        w = torch.randn(3, requires_grad=True)
        features = w.exp()
        first = features.sum()
        first.backward()  # CULPRIT
        w.grad = None
        second = (features * 2).pow(2).sum()
        second.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "one_encoder_for_pairs",
        """
        import torch
        import torch.nn as nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 3)
            def forward(self, x):
                return torch.tanh(self.fc(x))
        encoder = Encoder()
        anchor = encoder(torch.randn(1, 2))
        near = encoder(torch.randn(1, 2))
        pull = (anchor - near).pow(2).sum()
        pull.backward()  # CULPRIT
        far = encoder(torch.randn(1, 2))
        push = -(anchor - far).pow(2).sum()
        push.backward()
        """,
        "shared-trunk-two-backwards",
        says=["`pull`", "`push`"],
    ),
    case(
        "list_of_losses",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())
        out = net(torch.randn(4, 3))
        losses = [out[:, i].mean() for i in range(3)]
        for loss in losses:
            loss.backward()  # CULPRIT
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "fake_that_is_not_for_the_discriminator",
        """
        import torch
        from torch import nn
        gen, disc = nn.Linear(3, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for _ in range(2):
            noise = torch.randn(4, 3)
            fake = torch.tanh(gen(noise))
            g_loss = (disc(fake) - 1).pow(2).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
            d_loss = disc(fake).pow(2).mean() - disc(noise).mean()  # CULPRIT
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
        """,
        "shared-trunk-two-backwards",
        says=["`disc(fake.detach())`"],
    ),
    case(
        "two_sums_of_one_square",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        h = (w * w).exp()
        loss_a = h.sum()
        loss_b = (h * 2).sum()
        loss_a.backward()  # CULPRIT
        loss_b.backward()
        print(w.grad)
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "two_heads_in_turns",
        """
        import torch
        import torch.nn as nn
        trunk = nn.Linear(2, 4)
        ha = nn.Linear(4, 1)
        hb = nn.Linear(4, 1)
        model = nn.ModuleList([trunk, ha, hb])
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            h = torch.tanh(trunk(torch.ones(3, 2)))
            opt.zero_grad()
            la = ha(h).pow(2).mean()
            la.backward()  # CULPRIT
            lb = hb(h).pow(2).mean()
            lb.backward()
            opt.step()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "critic_through_the_generator",
        """
        import torch
        import torch.nn as nn
        G = nn.Linear(2, 2)
        D = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        fake = torch.tanh(G(torch.randn(4, 2)))
        d_loss = D(fake).mean()
        d_loss.backward()  # CULPRIT
        g_loss = -D(fake).mean()
        g_loss.backward()
        """,
        "shared-trunk-two-backwards",
    ),
    case(
        "critic_loss_after_the_actor_step",
        """
        import torch
        from torch import nn
        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        actor_optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        x, returns = torch.randn(4, 3), torch.randn(4)
        values = critic(x).squeeze(-1)
        advantage = returns - values  # CULPRIT
        actor_loss = -(actor(x).log_softmax(1)[:, 0] * advantage).mean()
        critic_loss = (returns - values).square().mean()
        actor_loss.backward()
        actor_optimizer.step()
        critic_loss.backward()
        critic_optimizer.step()
        """,
        "shared-trunk-two-backwards",
        says=["`advantage.detach()`"],
    ),
    case(
        "fake_batch_of_both_players",
        """
        import torch
        import torch.nn as nn
        gen = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3), nn.Tanh())
        disc = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt_g = torch.optim.Adam(gen.parameters())
        opt_d = torch.optim.Adam(disc.parameters())
        def step(real):
            fake = gen(torch.randn(len(real), 2))
            d_loss = disc(fake).mean() - disc(real).mean()  # CULPRIT
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        step(torch.randn(4, 3))
        """,
        "shared-trunk-two-backwards",
        says=["`disc(fake.detach())`"],
    ),
    case(
        "two_critics_step_in_each_turn",
        """
        import torch
        import torch.nn as nn
        value, quality = nn.Linear(3, 1), nn.Linear(4, 1)
        policy = nn.Linear(3, 2)
        opt_v = torch.optim.Adam(value.parameters())
        opt_q = torch.optim.Adam(quality.parameters())
        opt_p = torch.optim.Adam(policy.parameters())
        def learn(optimizer, guess, target):
            loss = nn.functional.mse_loss(guess.tanh(), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        terms = []
        for step in range(3):
            state, target = torch.randn(5, 3), torch.randn(5, 1)
            action = policy(state).softmax(1)
            v = value(state)
            q = quality(torch.cat([state, action[:, :1].detach()], 1))
            gain = q.tanh() - v.tanh()  # CULPRIT
            terms.append((action[:, :1].log() * gain).mean())
            learn(opt_v, v, target)
            learn(opt_q, q, target)
        opt_p.zero_grad()
        (-torch.stack(terms).mean()).backward()
        opt_p.step()
        """,
        "shared-trunk-two-backwards",
        says=["`gain.detach()`"],
    ),
]
