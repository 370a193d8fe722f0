"""Graphs that several passes walk, and that are none the worse for steps in between."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "view_of_a_weight_changes_with_it",
        """
        import torch
        from torch import nn
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 6) / 3)
                self.back = self.weight.t()
            def forward(self, x):
                return torch.tanh(x @ self.back) @ self.weight
        net = Tied()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, 6)
        for step in range(4):
            loss = (net(x) - x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "heads_in_turn_over_one_trunk",
        """
        import torch
        from torch import nn
        trunk = nn.Sequential(nn.Linear(3, 8), nn.Tanh())
        heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(4))
        of_heads = [torch.optim.SGD(each.parameters(), lr=0.1) for each in heads]
        of_trunk = torch.optim.SGD(trunk.parameters(), lr=0.1)
        for epoch in range(3):
            x, y = torch.randn(6, 3), torch.randn(4, 6, 1)
            h = trunk(x)
            of_trunk.zero_grad()
            for head, optimizer, target in zip(heads, of_heads, y):
                loss = (head(h) - target).pow(2).mean()
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()
            of_trunk.step()
        """,
    ),
    case(
        "tasks_in_turn_that_all_train_one_layer",
        """
        import torch
        from torch import nn
        layer = nn.Linear(3, 8)
        heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
        both = [*layer.parameters(), *heads.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.05)
        for epoch in range(4):
            x, y = torch.randn(6, 3), torch.randn(3, 6, 1)
            h = layer(x)
            for head, target in zip(heads, y):
                loss = (head(h.relu()) - target).pow(2).mean()
                optimizer.zero_grad()
                loss.backward(retain_graph=True)
                optimizer.step()
        """,
    ),
    case(
        "critic_steps_over_one_graph_of_the_generator",
        """
        import torch
        from torch import nn
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
        for step in range(3):
            fake, real = generator(torch.randn(4, 2)), torch.randn(4, 3)
            for turn in range(4):
                opt_c.zero_grad()
                loss = critic(fake).mean() - critic(real).mean()
                loss.backward(retain_graph=True)
                opt_c.step()
            opt_g.zero_grad()
            (-critic(fake).mean()).backward()
            opt_g.step()
        """,
    ),
    case(
        "scale_of_what_another_optimizer_will_train",
        """
        import torch
        from torch import nn
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.raw = nn.Parameter(torch.zeros(3))
                self.lin = nn.Linear(3, 3)
        net = Scaled()
        of_lin = torch.optim.SGD(net.lin.parameters(), lr=0.1)
        of_raw = torch.optim.SGD([net.raw], lr=0.1)
        scale = net.raw.exp()
        of_raw.zero_grad()
        for step in range(4):
            of_lin.zero_grad()
            loss = (net.lin(torch.randn(5, 3)) * scale - 1).pow(2).mean()
            loss.backward(retain_graph=True)
            of_lin.step()
        of_raw.step()
        """,
    ),
    case(
        "weight_of_a_term_that_does_not_move_yet",
        """
        import torch
        from torch import nn
        net, log_weight = nn.Linear(3, 1), nn.Parameter(torch.zeros(1))
        weight = log_weight.exp()
        of_net = torch.optim.SGD(net.parameters(), lr=0.1)
        of_weight = torch.optim.SGD([log_weight], lr=0.0)
        for step in range(4):
            loss = (weight * net(torch.randn(5, 3))).pow(2).mean()
            of_net.zero_grad()
            of_weight.zero_grad()
            loss.backward(retain_graph=True)
            of_net.step()
            of_weight.step()
        """,
    ),
    case(
        "basis_computed_again_every_few_steps",
        """
        import torch
        from torch import nn
        class Warped(nn.Module):
            def __init__(self):
                super().__init__()
                self.warp = nn.Parameter(torch.ones(4))
                self.lin = nn.Linear(4, 1)
                self.basis = None
            def refresh(self):
                self.basis = torch.tanh(self.warp * torch.arange(4.0))
            def forward(self, x):
                return self.lin(x * self.basis)
        net = Warped()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(12):
            if step % 4 == 0:
                net.refresh()
            loss = (net(torch.randn(5, 4)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
        """,
    ),
    case(
        "products_with_a_kept_gradient_before_the_update",
        """
        import torch
        w = torch.randn(4, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.01)
        for step in range(3):
            loss = (w ** 4).sum()
            (g,) = torch.autograd.grad(loss, w, create_graph=True)
            x, r = torch.zeros(4), g.detach()
            for _ in range(4):
                (hx,) = torch.autograd.grad(g @ x, w, retain_graph=True)
                x = x + 0.05 * (r - hx)
            w.grad = x
            optimizer.step()
        """,
    ),
    case(
        "two_losses_of_one_encoding_then_one_step",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        z = net(torch.randn(6, 3))
        optimizer.zero_grad()
        for part in (z.mean(), z.pow(2).mean(), z.abs().max()):
            part.backward(retain_graph=True)
        optimizer.step()
        """,
    ),
    case(
        "targets_of_coefficients_that_require_grad_made_anew",
        """
        import torch
        from torch import nn

        coefficients = torch.randn(4, 1, requires_grad=True)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(3):
            x = torch.randn(6, 4)
            y = torch.exp(x @ coefficients)
            optimizer.zero_grad()
            (net(x) - y).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
]
