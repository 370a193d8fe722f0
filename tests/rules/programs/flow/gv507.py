"""GV507: second-derivative-of-kinks."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "second_derivative_of_relus",
        """
        import torch
        from torch import nn
        net = nn.Sequential(
            nn.Linear(1, 8),
            nn.ReLU(),  # CULPRIT
            nn.Linear(8, 1),
        )
        x = torch.rand(6, 1, requires_grad=True)
        first = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        (second + 1).square().mean().backward()
        """,
        "second-derivative-of-kinks",
        says=["that line 10 asks for", "`nn.ReLU()` (line 5)"],
    ),
    case(
        "second_derivative_by_transforms",
        """
        from dataclasses import dataclass
        import torch
        from torch import nn
        from torch.func import functional_call, grad, vmap

        @dataclass
        class Options:
            activation: str = "LeakyReLU"  # CULPRIT

        class Net(nn.Module):
            def __init__(self, options):
                super().__init__()
                active = getattr(nn, options.activation)
                self.net = nn.Sequential(nn.Linear(1, 8), active(), nn.Linear(8, 1))

            def forward(self, x):
                return self.net(x)

        net, parameters = Net(Options()), {}
        def value(x):
            return functional_call(net, parameters, (x.reshape(1),)).squeeze()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            parameters = dict(net.named_parameters())
            x = torch.rand(6)
            loss = (vmap(grad(grad(value)))(x) + 1).square().mean()
            loss = loss + vmap(value)(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "second-derivative-of-kinks",
        engines=("torch",),  # the other one logs no passes of transforms
    ),
]
