"""GV610: gradients-not-zeroed."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "search_whose_closure_clears_nothing",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
        x = torch.randn(6, 3)
        def closure():
            loss = (net(x).tanh() - 0.5).square().mean()
            loss.backward()  # CULPRIT
            return loss
        optimizer.step(closure)
        """,
        "gradients-not-zeroed",
    ),
    case(
        "loop_without_zero_grad",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def train_step(x, y):
            loss = (net(x) - y).pow(2).mean()
            loss.backward()  # CULPRIT
            opt.step()
            return loss.item()

        for epoch in range(3):
            train_step(torch.randn(5, 4), torch.randn(5, 1))
        """,
        "gradients-not-zeroed",
        related=["applied here, and kept"],
    ),
    case(
        "zero_grad_of_another_optimizer",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for step in range(3):
            fake = gen(torch.randn(4, 2))
            d_loss = disc(fake.detach()).mean() - disc(torch.randn(4, 3)).mean()
            opt_g.zero_grad()  # CULPRIT
            d_loss.backward()
            opt_d.step()
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """,
        "gradients-not-zeroed",
        says=["bias"],
    ),
    case(
        "manual_descent_without_clearing",
        """
        import torch

        w = torch.zeros(3, requires_grad=True)
        for step in range(3):
            loss = (w - torch.arange(3.0)).pow(2).sum()
            loss.backward()  # CULPRIT
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "gradients-not-zeroed",
        says=["`w`"],
    ),
    case(
        "zero_grad_once_per_epoch",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for batch in torch.randn(3, 5, 4):
                loss = net(batch).pow(2).mean()
                loss.backward()
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "accumulated_without_a_final_clear",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for i, batch in enumerate(torch.randn(6, 5, 4)):
            loss = net(batch).pow(2).mean() / 2
            loss.backward()  # CULPRIT
            if i % 2 == 1:
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "zero_grad_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(4):
            opt.zero_grad  # CULPRIT
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "the_other_optimizer_is_cleared_twice",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        gen, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(4):
            critic.requires_grad_(False)
            opt_g.zero_grad()
            fake = gen(torch.randn(5, 3))
            (-critic(fake)).mean().backward()
            opt_g.step()
            critic.requires_grad_(True)
            opt_g.zero_grad()  # CULPRIT
            critic(torch.randn(5, 3)).square().mean().backward()
            critic(fake.detach()).mean().backward()
            opt_c.step()
        """,
        "gradients-not-zeroed",
        says=["cleared elsewhere already", "`opt_c.zero_grad()` here"],
    ),
    case(
        "one_trainer_clears_after_each_optimizers_step",
        """
        import torch
        from torch import nn
        from torch.nn.functional import binary_cross_entropy_with_logits as bce
        torch.manual_seed(0)

        def mlp(*sizes):
            first, mid, last = sizes
            return nn.Sequential(nn.Linear(first, mid), nn.Tanh(), nn.Linear(mid, last))

        class Gan(nn.Module):
            def __init__(self):
                super().__init__()
                self.generator, self.discriminator = mlp(3, 8, 2), mlp(2, 8, 1)
            def training_step(self, real, part):
                fake = self.generator(torch.randn(len(real), 3))
                ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
                if part == 0:
                    return bce(self.discriminator(fake), ones)
                return bce(self.discriminator(real), ones) + bce(
                    self.discriminator(fake.detach()), zeros
                )
            def configure(self):
                opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
                opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3)
                return [opt_g, opt_d]

        def fit(model, batches):
            optimizers = model.configure()
            for real in batches:
                for part, optimizer in enumerate(optimizers):
                    loss = model.training_step(real, part)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()  # CULPRIT

        fit(Gan(), torch.randn(5, 16, 2))
        """,
        "gradients-not-zeroed",
        says=[
            "`optimizer.zero_grad()` right before `loss.backward()`",
            "leftover gradients",
        ],
        related=["leftover gradients come from here"],
    ),
    case(
        "critic_is_cleared_before_the_actors_pass",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
            def forward(self, state, action):
                return self.net(torch.cat([state, action], dim=1))

        actor = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
        critic = Critic()
        actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
        critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)

        def update(state, action, target):
            actor_opt.zero_grad()
            critic_opt.zero_grad()  # CULPRIT
            actor_loss = -critic(state, actor(state)).mean()
            actor_loss.backward()
            actor_opt.step()
            critic_loss = (critic(state, action) - target).pow(2).mean()
            critic_loss.backward()
            critic_opt.step()

        for _ in range(4):
            update(torch.randn(16, 4), torch.rand(16, 1), torch.randn(16, 1))
        """,
        "gradients-not-zeroed",
        says=["`critic_opt.zero_grad()` right before `critic_loss.backward()`"],
    ),
    case(
        "all_are_cleared_once_before_the_generators_pass",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        gen = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        disc = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.05)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.05)
        for real in torch.randn(4, 8, 2):
            for opt in (opt_g, opt_d):
                opt.zero_grad()
            fake = gen(torch.randn(8, 3))
            (-disc(fake)).mean().backward()
            opt_g.step()
            (disc(fake.detach()) - disc(real)).mean().backward()  # CULPRIT
            opt_d.step()
        """,
        "gradients-not-zeroed",
        says=["`opt_d.zero_grad()` right before"],
    ),
    case(
        "other_parameters_of_the_pass_are_cleared",
        script("""
head = nn.Linear(2, 2)
body, top = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, head))
for x, y in batches:
    body.zero_grad()  # CULPRIT
    F.mse_loss(head(net(x)), y).backward()
    body.step()
    top.step()
"""),
        "gradients-not-zeroed",
        says=["clears only other parameters"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "cleared_once_per_epoch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for x in torch.randn(3, 4, 3):
                loss = net(x).pow(2).mean()
                loss.backward()  # INSTEAD
                opt.step()
        """,
        "gradients-not-zeroed",
        says=["line 6 does not clear them in every iteration"],
    ),
    case(
        "only_the_head_is_cleared",
        """
        import torch
        import torch.nn as nn
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            head.zero_grad()  # CULPRIT
            head(body(torch.randn(8, 4))).pow(2).mean().backward()  # INSTEAD
            opt.step()
        """,
        "gradients-not-zeroed",
        says=["line 6 clears only other parameters"],
    ),
]
