"""GV222: grad-of-constant."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "collocation_points_without_grad",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        def points(n):
            return torch.linspace(0, 2, n).reshape(-1, 1)  # CULPRIT
        def residual(t):
            y = net(t)
            dy = torch.autograd.grad(y.sum(), t, create_graph=True)[0]
            return (dy + y).pow(2).mean()
        residual(points(6)).backward()
        """,
        "grad-of-constant",
        says=["`t.requires_grad_()`"],
    ),
    case(
        "gradient_of_a_detached_input",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        point = (x * 2).detach()  # CULPRIT
        (g,) = torch.autograd.grad((point ** 2 * x).sum(), point)
        """,
        "grad-of-constant",
        says=["before the cut"],
    ),
    case(
        "states_of_a_loader_in_a_field",
        """
        import torch
        import torch.nn as nn
        from torch.utils.data import DataLoader, TensorDataset
        class Field:
            def __init__(self, energy):
                self.energy = energy
            def __call__(self, state):
                with torch.enable_grad():
                    total = self.energy(state).sum()  # CULPRIT
                    (slope,) = torch.autograd.grad(total, state, create_graph=True)
                return slope.flip(1)
        energy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        field = Field(energy)
        data = TensorDataset(torch.randn(12, 2), torch.randn(12, 2))
        for state, velocity in DataLoader(data, batch_size=4):
            (field(state) - velocity).square().mean().backward()
        """,
        "grad-of-constant",
        says=["no gradient with respect to it"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "slopes_of_frozen_parameters",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        for p in net[0].parameters():
            p.requires_grad = False  # INSTEAD
        loss = net(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(net.parameters()))  # CULPRIT
        """,
        "grad-of-constant",
        says=["was frozen in line 5"],
    ),
]
