"""Programs that change weights while a graph still needs the old ones."""

from __future__ import annotations

from tests.rules.harness import Case, case

STEPS: list[Case] = [
    case(
        "gan_steps_too_early",
        """
        import torch
        import torch.nn as nn

        gen = nn.Linear(2, 2)
        disc = nn.Linear(2, 1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        fake = gen(torch.ones(4, 2))
        g_loss = -disc(fake).mean()
        d_loss = disc(fake.detach()).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()  # CULPRIT
        g_loss.backward()
        """,
        "optimizer-step-before-backward",
        says=["opt_d.step()", "`disc.weight`"],
        related=["saved here"],
    ),
    case(
        "gan_in_a_trainer_class",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Trainer:
            def __init__(self):
                self.G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
                self.D = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
                self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3)
                self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3)

            def step(self, real):
                fake = self.G(torch.randn(real.shape[0], 4))
                ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
                bce = F.binary_cross_entropy_with_logits
                pred = self.D(fake)
                loss_d = bce(self.D(real), ones) + bce(self.D(fake.detach()), zeros)
                loss_g = bce(pred, ones)
                self.opt_d.zero_grad()
                loss_d.backward()
                self.opt_d.step()  # CULPRIT
                self.opt_g.zero_grad()
                loss_g.backward()
                self.opt_g.step()

        trainer = Trainer()
        for _ in range(2):
            trainer.step(torch.randn(3, 4))
        """,
        "optimizer-step-before-backward",
        says=["self.opt_d.step()"],
    ),
    case(
        "actor_critic",
        """
        import torch
        import torch.nn as nn

        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        opt_a = torch.optim.RMSprop(actor.parameters(), lr=0.01)
        opt_c = torch.optim.RMSprop(critic.parameters(), lr=0.01)
        for _ in range(2):
            state = torch.randn(5, 3) + actor.weight.sum()
            value = critic(state)
            logp = torch.log_softmax(actor(state), dim=1)[:, 0]
            critic_loss = (value - 1).pow(2).mean()
            actor_loss = -(logp * value.squeeze(1)).mean()
            opt_c.zero_grad()
            critic_loss.backward(retain_graph=True)
            opt_c.step()  # CULPRIT
            opt_a.zero_grad()
            actor_loss.backward()
            opt_a.step()
        """,
        "retain-graph-stale-weights",
    ),
    case(
        "manual_update_before_second_loss",
        """
        import torch

        w1 = torch.randn(3, 3, requires_grad=True)
        w2 = torch.randn(3, 1, requires_grad=True)
        x = torch.randn(4, 3)
        hidden = x @ w1
        out = hidden @ w2
        first = out.mean()
        second = (x @ w1 @ w2).pow(2).mean()
        first.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.1 * w.grad  # CULPRIT
        second.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "sharpness_aware_without_second_forward",
        """
        import torch
        import torch.nn as nn

        class SAM(torch.optim.Optimizer):
            def __init__(self, params, rho=0.05):
                super().__init__(params, dict(rho=rho))

            @torch.no_grad()
            def first_step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(group["rho"] * p.grad)  # CULPRIT

            @torch.no_grad()
            def step(self, closure=None):
                pass

        model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        sam = SAM(model.parameters())
        loss = model(torch.ones(3, 2)).mean()
        loss.backward(retain_graph=True)
        sam.first_step()
        loss.backward()
        sam.step()
        """,
        "retain-graph-stale-weights",
    ),
    case(
        "own_optimizer",
        """
        import torch
        import torch.nn as nn

        class Plain(torch.optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, dict(lr=lr))

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-group["lr"])

        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        opt = Plain(model.parameters(), lr=0.1)
        one = model(torch.ones(2, 2)).sum()
        two = model(torch.zeros(2, 2)).sum()
        one.backward()
        opt.step()  # CULPRIT
        two.backward()
        """,
        "optimizer-step-before-backward",
        related=["written here"],
    ),
    case(
        "kept_graph_in_epochs",
        """
        import torch
        import torch.nn as nn

        model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(3, 2)).pow(2).mean()
        for epoch in range(2):
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()  # CULPRIT
        """,
        "retain-graph-stale-weights",
        says=["retain_graph", "opt.step()"],
    ),
    case(
        "kept_graph_of_a_hidden_state",
        """
        import torch
        import torch.nn as nn

        cell = nn.Linear(4, 2)
        opt = torch.optim.Adam(cell.parameters(), lr=0.01)
        h = torch.zeros(1, 2)
        for step in range(3):
            x = torch.ones(1, 2)
            h = torch.tanh(cell(torch.cat([x, h], dim=1)))
            loss = (h - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()  # CULPRIT
        """,
        "retain-graph-stale-weights",
    ),
    case(
        "meta_learning_inner_step_in_place",
        """
        import torch

        w = torch.tensor([1.0, 2.0], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        inner = (w ** 3).sum()
        (g,) = torch.autograd.grad(inner, [w], create_graph=True)
        w.grad = g.detach()
        opt.step()  # CULPRIT
        outer = (g ** 2).sum()
        outer.backward()
        """,
        "optimizer-step-before-backward",
    ),
]
