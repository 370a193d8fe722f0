"""GV306: detach-in-forward."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "detach_in_a_module",
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 8)
                self.second = nn.Linear(8, 8)
                self.last = nn.Linear(8, 1)

            def forward(self, x):
                x = torch.relu(self.first(x))
                cache = x.detach()  # CULPRIT
                x = torch.relu(self.second(cache))
                return self.last(x)

        model = Model()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(loss.item())
        """,
        "detach-in-forward",
        says=[
            "`first.bias` and `first.weight`",
            "get no gradient in the backward pass",
        ],
    ),
    case(
        "data_attribute_between_layers",
        """
        import torch
        from torch import nn

        a, b = nn.Linear(4, 4), nn.Linear(4, 1)
        h = a(torch.randn(2, 4))
        h = torch.sigmoid(h.data)  # CULPRIT
        b(h).sum().backward()
        """,
        "detach-in-forward",
        says=["`.data`"],
    ),
    case(
        "critic_loss_on_detached_values",
        """
        import torch
        from torch import nn

        actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
        for step in range(2):
            states, returns = torch.randn(8, 4), torch.randn(8)
            values = critic(states).squeeze(1).detach()  # CULPRIT
            logp = torch.log_softmax(actor(states), 1)[:, 0]
            policy_loss = -(logp * (returns - values)).mean()
            value_loss = (returns - values).pow(2).mean()
            loss = policy_loss + value_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "detach-in-forward",
    ),
    case(
        "detached_and_made_a_leaf_again",
        """
        import torch
        from torch import nn
        enc, head = nn.Linear(2, 2), nn.Linear(2, 1)
        feat = enc(torch.ones(3, 2)).cpu().detach().requires_grad_()  # CULPRIT
        loss = head(feat).pow(2).mean()
        loss.backward()
        """,
        "detach-in-forward",
    ),
    case(
        "detach_in_place",
        """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = nn.Linear(2, 2)
            def forward(self, x):
                h = self.a(x)
                h.detach_()  # CULPRIT
                return self.b(h)
        net = Block()
        loss = net(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        """,
        "detach-in-forward",
    ),
    case(
        "generator_cut_off_beside_a_penalty",
        script("""
maker = nn.Linear(3, 4)
makers = torch.optim.SGD(maker.parameters(), lr=0.1)
for x, _ in batches:
    fake = maker(torch.randn(6, 3)).detach()
    between = (0.5 * x + 0.5 * fake).requires_grad_(True)
    slope, = torch.autograd.grad(net(between).sum(), between, create_graph=True)
    loss = net(fake).mean() - net(x).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    fake = maker(torch.randn(6, 3)).detach()  # CULPRIT
    makers.zero_grad()
    net(fake).mean().backward()
    makers.step()
"""),
        "detach-in-forward",
    ),
    case(
        "inner_step_detached",
        """
        import torch
        import torch.nn.functional as F

        torch.manual_seed(0)
        meta = [torch.randn(4, 2), torch.zeros(2)]
        for each in meta:
            each.requires_grad_()
        opt = torch.optim.SGD(meta, lr=0.01)

        def forward(params, x):
            return x @ params[0] + params[1]

        def adapt(params, x, y, lr=0.1):
            loss = F.mse_loss(forward(params, x), y)
            grads = torch.autograd.grad(loss, params, create_graph=True)
            pairs = zip(params, grads)
            return [(p - lr * g).detach().requires_grad_() for p, g in pairs]  # CULPRIT

        for it in range(3):
            xs, ys = torch.randn(5, 4), torch.randn(5, 2)
            fast = adapt(meta, xs, ys)
            outer = F.mse_loss(forward(fast, torch.randn(5, 4)), torch.randn(5, 2))
            opt.zero_grad()
            outer.backward()
            opt.step()
        print(meta[0].grad)
        """,
        "detach-in-forward",
    ),
    case(
        "codes_compared_after_the_straight_through_estimator",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Quantizer(nn.Module):
            def __init__(self, codes=8, width=4, beta=0.25):
                super().__init__()
                self.codes = nn.Parameter(torch.randn(codes, width) / codes)
                self.beta = beta

            def forward(self, z):
                nearest = torch.cdist(z, self.codes).argmin(dim=1)
                quantized = self.codes[nearest]
                quantized = z + (quantized - z).detach()  # CULPRIT
                codebook = F.mse_loss(quantized, z.detach())
                commitment = F.mse_loss(z, quantized.detach())
                return quantized, codebook + self.beta * commitment

        torch.manual_seed(0)
        encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
        quantizer = Quantizer()
        parts = nn.ModuleList([encoder, quantizer, decoder])
        optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(12, 6)
            quantized, extra = quantizer(encoder(x))
            loss = F.mse_loss(decoder(quantized), x) + extra
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
        "detach-in-forward",
        says=["straight-through estimator", "Move line"],
    ),
    case(
        "term_that_teaches_nobody_beside_one_that_does",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        gen, disc = nn.Linear(3, 2), nn.Linear(2, 1)
        opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)

        def loss_of(which, noise, real):
            fake = gen(noise)
            if which == 0:
                fooled = F.mse_loss(disc(fake.detach()), torch.ones(8, 1))  # CULPRIT
                return fooled + F.mse_loss(fake.mean(0), real.mean(0))
            told = F.mse_loss(disc(fake.detach()), torch.zeros(8, 1))
            return told + F.mse_loss(disc(real), torch.ones(8, 1))

        for step in range(3):
            noise, real = torch.randn(8, 3), torch.randn(8, 2) + 1
            for which, opt in enumerate((opt_g, opt_d)):
                opt.zero_grad()
                loss_of(which, noise, real).backward()
                opt.step()
        """,
        "detach-in-forward",
        says=["and gives no gradient"],
    ),
    case(
        "fake_detached_for_a_critic_beside_a_live_condition",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        encoder = nn.Linear(3, 4)
        generator, critic = nn.Linear(6, 5), nn.Linear(9, 1)
        both = [*encoder.parameters(), *generator.parameters()]
        optimizer = torch.optim.Adam(both, lr=1e-2)
        critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)

        def loss_of(turn, x, real):
            given = encoder(x)
            fake = generator(torch.cat([given, torch.randn(8, 2)], 1))
            if turn == 0:
                score = critic(torch.cat([fake.detach(), given], 1))  # CULPRIT
                return F.mse_loss(score, torch.ones(8, 1)) + F.l1_loss(fake, real)
            given = given.detach()
            told = critic(torch.cat([fake.detach(), given], 1)).square().mean()
            return told + (critic(torch.cat([real, given], 1)) - 1).square().mean()

        for step in range(4):
            x, real = torch.randn(8, 3), torch.randn(8, 5)
            for turn, each in enumerate((optimizer, critic_optimizer)):
                loss = loss_of(turn, x, real)
                each.zero_grad()
                loss.backward()
                each.step()
        """,
        "detach-in-forward",
        says=["and gives no gradient"],
    ),
    case(
        "codes_compared_by_the_result_of_the_estimator",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        encoder, decoder, codes = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
        parts = nn.ModuleList([encoder, decoder, codes])
        optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
        for step in range(4):
            x = torch.randn(12, 6)
            z = encoder(x)
            chosen = codes(torch.cdist(z, codes.weight).argmin(1))
            passed = z + (chosen - z).detach()
            codebook = F.mse_loss(passed, z.detach())  # CULPRIT
            commitment = F.mse_loss(z, chosen.detach())
            loss = F.mse_loss(decoder(passed), x) + codebook + 0.25 * commitment
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "detach-in-forward",
        says=["Compare `chosen` of line 13 instead"],
    ),
    case(
        "adapted_weights_written_through_data",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)

        class Learner(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 1)
                own = self.net.parameters()
                self.rates = nn.ParameterList(
                    [nn.Parameter(torch.full_like(p, 0.1)) for p in own]
                )

            def forward(self, x, y):
                fast = {n: p.clone() for n, p in self.net.named_parameters()}
                for _ in range(2):
                    loss = F.mse_loss(F.linear(x, fast["weight"], fast["bias"]), y)
                    given = list(fast.values())
                    grads = torch.autograd.grad(loss, given, create_graph=True)
                    for name, rate, g in zip(list(fast), self.rates, grads):
                        fast[name].data -= rate * g  # CULPRIT
                return F.mse_loss(F.linear(x, fast["weight"], fast["bias"]), y)

        learner = Learner()
        outer = torch.optim.Adam(learner.parameters(), 1e-2)
        for task in range(3):
            outer.zero_grad()
            learner(torch.rand(20, 2), torch.rand(20, 1)).backward()
            outer.step()
        """,
        "detach-in-forward",
    ),
]
