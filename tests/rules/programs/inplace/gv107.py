"""GV107: optimizer-step-before-backward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gan_joint_class",
        """
        import torch
        import torch.nn as nn
        E, D, C = nn.Linear(3, 2), nn.Linear(2, 3), nn.Linear(2, 1)
        oe = torch.optim.Adam(list(E.parameters()) + list(D.parameters()))
        oc = torch.optim.Adam(C.parameters())
        def losses(x):
            z = E(x)
            rec = (D(z) - x).pow(2).mean()
            adv = torch.sigmoid(C(z)).log().mean()
            crit = C(z.detach()).mean()
            return rec, adv, crit
        for _ in range(2):
            rec, adv, crit = losses(torch.randn(4, 3))
            oc.zero_grad()
            crit.backward()
            oc.step()  # CULPRIT
            oe.zero_grad()
            (rec + adv).backward()
            oe.step()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "clamp_weights_before_backward",
        """
        import torch

        w = torch.randn(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        score = (w * x).sum()
        with torch.no_grad():
            w.clamp_(-0.01, 0.01)  # CULPRIT
        score.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "load_state_dict",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        best = {k: v.clone() * 2 for k, v in net.state_dict().items()}
        loss = net(torch.ones(1, 2)).sum()
        net.load_state_dict(best)  # CULPRIT
        loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "init_again",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        loss = net(torch.ones(1, 2)).sum()
        nn.init.zeros_(net[1].weight)  # CULPRIT
        loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
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
        says=["opt_d.step()", "the weights of `disc`"],
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
    case(
        "losses_computed_before_a_helper_steps_for_each",
        """
        import torch
        from torch import nn
        class Agent:
            def __init__(self):
                self.actor, self.critic = nn.Linear(2, 1), nn.Linear(3, 1)
                self.actor_opt = torch.optim.SGD(self.actor.parameters(), lr=0.1)
                self.critic_opt = torch.optim.SGD(self.critic.parameters(), lr=0.1)
            def value(self, state, action):
                return self.critic(torch.cat([state, action], 1))
            def losses(self, state, action):
                first = (self.value(state, action) - 1).square().mean()
                return first, -self.value(state, self.actor(state)).mean()
            def apply(self, opt, loss):
                opt.zero_grad()
                loss.backward()
                opt.step()
            def update(self, state, action):
                first, second = self.losses(state, action)  # CULPRIT
                self.apply(self.critic_opt, first)
                self.apply(self.actor_opt, second)
        Agent().update(torch.randn(4, 2), torch.randn(4, 1))
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "a_loop_that_steps_for_each_loss_in_turn",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def update(policy, critics, optimizers, x):
            action = policy(x)
            taken = torch.cat([x, action], 1)
            worth = torch.cat([q(taken) for q in critics])  # CULPRIT
            policy_loss = -worth.mean()
            given = torch.cat([x, torch.zeros(len(x), 1)], 1)
            losses = [F.mse_loss(q(given), x[:, :1]) for q in critics] + [policy_loss]
            for optimizer, loss in zip(optimizers, losses):
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()

        torch.manual_seed(0)
        policy = nn.Linear(3, 1)
        critics = [
            nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)) for _ in range(2)
        ]
        optimizers = [torch.optim.Adam(m.parameters()) for m in (*critics, policy)]
        update(policy, critics, optimizers, torch.randn(5, 3))
        """,
        "optimizer-step-before-backward",
        says=["The loop in line 12", "come first there"],
    ),
    case(
        "weights_bounded_in_each_forward",
        """
        import torch
        from torch import nn

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])

            @torch.no_grad()
            def bound(self):
                for layer in self.layers:
                    layer.weight.clamp_(-0.1, 0.1)

            def forward(self, x):
                self.bound()  # CULPRIT
                return self.layers[1](torch.relu(self.layers[0](x))).mean()

        critic = Critic()
        opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        gap = critic(torch.randn(5, 3)) - critic(torch.randn(5, 3))
        gap.backward()
        opt.step()
        """,
        "optimizer-step-before-backward",
        says=["once per step, after the optimizer's"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "weights_stepped_under_a_loss",
        """
        import torch
        import torch.nn as nn
        gen, disc = nn.Linear(2, 2), nn.Linear(2, 1)
        opt = torch.optim.SGD(disc.parameters(), lr=0.1)
        fake = gen(torch.ones(4, 2))
        g_loss = -disc(fake).mean()  # INSTEAD
        d_loss = disc(fake.detach()).mean()
        d_loss.backward()
        opt.step()  # CULPRIT
        g_loss.backward()
        """,
        "optimizer-step-before-backward",
    ),
]
