"""Programs whose gradients vanish, explode or die."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "state_that_doubles_until_its_square_overflows",
        """
        import torch
        W = (2.0 * torch.eye(4)).requires_grad_()
        U = torch.randn(3, 4, requires_grad=True)
        h = torch.zeros(2, 4)
        for t in range(120):
            h = h @ W + torch.ones(2, 3) @ U  # CULPRIT
        loss = h.pow(2).mean()
        loss.backward()
        """,
        "nan-born-here",
        says=["ran 120 times", "2 times as large"],
    ),
    case(
        "latent_drawn_with_its_parameters",
        """
        import torch
        from torch import nn
        enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
        opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
        for _ in range(2):
            x = torch.randn(5, 6)
            mean, log_std = enc(x).chunk(2, -1)
            z = torch.normal(mean, log_std.exp())  # CULPRIT
            loss = (dec(z) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "round-zero-gradient",
    ),
    # ---- vanishing ------------------------------------------------------------------
    case(
        "deep_sigmoid_stack",
        """
        import torch
        ws = [torch.full((4, 4), 0.4, requires_grad=True) for _ in range(14)]
        h = torch.ones(1, 4)
        for w in ws:
            z = h @ w
            h = torch.sigmoid(z)  # CULPRIT
        h.sum().backward()
        """,
        "vanishing-gradient",
        says=["14 runs of SigmoidBackward0"],
    ),
    case(
        "deep_sigmoid_modules",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).sigmoid()  # CULPRIT
                return x
        net = Net(12)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(16, 8)).mean().backward()
            opt.step()
        """,
        "vanishing-gradient",
    ),
    case(
        "deep_sigmoid_sequence",
        """
        import torch
        import torch.nn as nn
        layers = []
        for _ in range(12):
            layers.append(nn.Linear(8, 8))
            layers.append(nn.Sigmoid())  # CULPRIT
        net = nn.Sequential(*layers)
        net(torch.randn(16, 8)).mean().backward()
        """,
        "vanishing-gradient",
    ),
    case(
        "recurrence_that_forgets",
        """
        import torch
        w = (0.4 * torch.eye(4)).requires_grad_()
        h = torch.ones(1, 4)
        for t in range(60):
            h = torch.tanh(h @ w + 0.1)  # CULPRIT
        h.sum().backward()
        """,
        "vanishing-gradient",
    ),
    # ---- exploding ------------------------------------------------------------------
    case(
        "recurrence_that_explodes",
        """
        import torch
        w = (2.0 * torch.eye(3)).requires_grad_()
        h = torch.ones(1, 3)
        for t in range(40):
            h = h @ w  # CULPRIT
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "repeated_scalar_factor",
        """
        import torch
        w = torch.tensor(3.0, requires_grad=True)
        x = torch.ones(2)
        for _ in range(30):
            x = x * w  # CULPRIT
        x.mean().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "wide_weights_of_size_one",
        """
        import torch
        ws = [torch.randn(32, 32, requires_grad=True) for _ in range(10)]
        h = torch.randn(4, 32)
        for w in ws:
            h = torch.relu(h @ w)  # CULPRIT
        h.mean().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "growth_that_overflows",
        """
        import torch
        w = torch.full((2, 2), 50.0, requires_grad=True)
        h = torch.ones(1, 2)
        for _ in range(30):
            h = h @ w  # CULPRIT
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "cell_that_explodes",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.hh = nn.Linear(4, 4, bias=False)
                nn.init.eye_(self.hh.weight)
                self.hh.weight.data.mul_(1.8)
            def forward(self, x, h):
                return self.hh(h) + x  # CULPRIT
        cell = Cell()
        h = torch.zeros(1, 4)
        for t in range(50):
            h = cell(torch.ones(1, 4), h)
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "steps_that_are_far_too_long",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1e4)  # CULPRIT
        for _ in range(30):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
        "diverging-training",
    ),
    case(
        "weights_so_large_that_the_steps_are_too_long",
        """
        import torch
        from torch import nn
        torch.manual_seed(14)
        layers = [nn.Linear(32, 32) for _ in range(10)]
        for each in layers:
            nn.init.normal_(each.weight, std=2.0)  # CULPRIT
        net = nn.Sequential(*[m for each in layers for m in (each, nn.LeakyReLU())])
        opt = torch.optim.SGD(net.parameters(), lr=1e-4)
        for _ in range(3):
            loss = net(torch.randn(16, 32)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "exploding-gradient",
    ),
    # ---- dead and saturated ---------------------------------------------------------
    case(
        "bias_far_below_zero",
        """
        import torch
        import torch.nn as nn
        layer = nn.Linear(4, 8)
        nn.init.constant_(layer.bias, -50.0)  # CULPRIT
        head = nn.Linear(8, 1)
        h = torch.relu(layer(torch.randn(16, 4)))
        head(h).pow(2).mean().backward()
        """,
        "dead-relu",
        related=["always 0"],
    ),
    case(
        "bias_filled_without_gradients",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        with torch.no_grad():
            net[0].bias.fill_(-100)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.rand(8, 3)).mean().backward()
            opt.step()
        """,
        "dead-relu",
    ),
    case(
        "bias_of_a_matrix_product",
        """
        import torch
        w = torch.ones(2, 4, requires_grad=True)
        b = torch.full((4,), -10.0, requires_grad=True)  # CULPRIT
        x = torch.ones(3, 2)
        h = torch.relu(x @ w + b)
        h.sum().backward()
        """,
        "dead-relu",
    ),
    case(
        "bias_through_data",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(2, 4)
        lin.bias.data.fill_(-30.0)  # CULPRIT
        out = nn.functional.relu(lin(torch.ones(4, 2)))
        (out.sum() - 1).pow(2).backward()
        """,
        "dead-relu",
    ),
    case(
        "bias_below_a_clamp",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(3, 4)
        lin.bias = nn.Parameter(torch.full((4,), -20.0))  # CULPRIT
        lin(torch.rand(5, 3)).clamp(min=0).sum().backward()
        """,
        "dead-relu",
    ),
    case(
        "unscaled_inputs",
        """
        import torch
        import torch.nn as nn
        ages = torch.tensor([[20.0, 90000.0], [60.0, 30000.0]])  # CULPRIT
        lin = nn.Linear(2, 4)
        with torch.no_grad():
            lin.weight.fill_(0.5)
        h = torch.tanh(lin(ages))
        h.sum().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "pixels_not_divided",
        """
        import torch
        import torch.nn as nn
        images = torch.full((4, 2, 2), 255.0)  # CULPRIT
        x = images.reshape(4, -1)
        net = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid(), nn.Linear(3, 1))
        with torch.no_grad():
            net[0].weight.fill_(0.5)
        net(x).mean().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "weights_far_too_large",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(3, 3)
        nn.init.constant_(lin.weight, 40.0)  # CULPRIT
        torch.tanh(lin(torch.ones(2, 3))).sum().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "killed_by_a_large_step",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        opt = torch.optim.SGD(net.parameters(), lr=20.0)  # CULPRIT
        x = torch.rand(32, 4)
        y = torch.zeros(32, 1)
        for _ in range(6):
            loss = (net(x) - y - 5).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(net[0].weight.grad.abs().sum())
        """,
        "dead-relu",
    ),
]
