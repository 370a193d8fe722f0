"""GV108: retain-graph-stale-weights."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        "loss_of_what_the_old_weights_said",
        """
        import torch
        import torch.nn as nn

        gen, disc = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        for _ in range(2):
            said = disc(gen(torch.randn(5, 2)))
            opt_d.zero_grad()
            (said + 1).pow(2).mean().backward(retain_graph=True)
            opt_d.step()
            loss = (said - 1).pow(2).mean()  # CULPRIT
            opt_g.zero_grad()
            loss.backward()
            opt_g.step()
        """,
        "retain-graph-stale-weights",
        says=["again before this line"],
    ),
    case(
        "step_before_a_pass_that_trains_another_model",
        """
        import torch
        import torch.nn as nn

        gen = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3))
        disc = nn.Linear(3, 1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        for _ in range(2):
            said = disc(gen(torch.randn(5, 2)))
            opt_g.zero_grad()
            (said - 1).pow(2).mean().backward(retain_graph=True)
            opt_g.step()  # CULPRIT
            opt_d.zero_grad()
            (said + 1).pow(2).mean().backward()
            opt_d.step()
        """,
        "retain-graph-stale-weights",
        says=["Step after", "not to train"],
    ),
    case(
        "kept_graph_in_epochs",
        """
        import torch
        import torch.nn as nn

        model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(3, 2)).pow(2).mean()  # CULPRIT
        for epoch in range(2):
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()
        """,
        "graph-kept-past-a-step",
        says=["retain_graph=True", "which ran once, before the loop"],
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
            h = torch.tanh(cell(torch.cat([x, h], dim=1)))  # CULPRIT
            loss = (h - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()
        """,
        "graph-kept-past-a-step",
    ),
    case(
        "kept_graph_of_a_state_that_two_lines_walk",
        """
        import torch
        from torch import nn
        cell, out = nn.Linear(4, 2), nn.Linear(2, 2)
        opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
        h = torch.zeros(3, 2)
        for step in range(3):
            h = out(cell(torch.cat([torch.ones(3, 2), h], dim=1))).tanh()
            if step == 0:
                h.pow(2).mean().backward(retain_graph=True)
            else:
                h.pow(2).sum().backward(retain_graph=True)
            opt.step()  # CULPRIT
        """,
        "retain-graph-stale-weights",
        says=["Detach `h` where one step ends"],
    ),
    case(
        "features_made_before_the_loop",
        """
        import torch
        import torch.nn as nn
        encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        decoder = nn.Linear(3, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        x = torch.randn(5, 4)
        features = encoder(x)  # CULPRIT
        for _ in range(3):
            loss = (decoder(features) - x).square().mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()
        """,
        "graph-kept-past-a-step",
        says=["Run this line anew in each turn"],
    ),
    case(
        "steps_in_a_loop_over_losses_of_one_trunk",
        """
        import torch
        from torch import nn
        trunk, heads = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4)), {}
        for name in ("size", "hue"):
            heads[name] = nn.Linear(4, 1)
        opts = {"size": torch.optim.SGD(trunk.parameters(), lr=0.1)}
        opts["hue"] = torch.optim.SGD(heads["hue"].parameters(), lr=0.1)

        def losses(x):
            shared = trunk(x)
            return {name: head(shared).pow(2).mean() for name, head in heads.items()}

        for name, loss in losses(torch.randn(5, 3)).items():
            loss.backward(retain_graph=True)
            opts[name].step()  # CULPRIT
        """,
        "retain-graph-stale-weights",
        says=["behind the loop", "before the first step"],
    ),
]
