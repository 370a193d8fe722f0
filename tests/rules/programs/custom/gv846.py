"""GV846: module-backward-never-called."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_reversal_written_as_a_layer",
        """
        import torch
        from torch import nn
        class GradientReversal(nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.weight = weight
            def forward(self, x):
                return x.view_as(x)
            def backward(self, grad_output):  # CULPRIT
                return -self.weight * grad_output
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
                self.content = nn.Linear(8, 3)
                self.reverse = GradientReversal(0.5)
                self.speaker = nn.Linear(8, 2)
            def forward(self, x):
                z = self.encoder(x)
                return self.content(z), self.speaker(self.reverse(z))
        model = Model()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        x = torch.randn(12, 4)
        what, who = torch.randint(0, 3, (12,)), torch.randint(0, 2, (12,))
        for step in range(4):
            content, speaker = model(x)
            loss = nn.functional.cross_entropy(content, what)
            loss = loss + nn.functional.cross_entropy(speaker, who)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "module-backward-never-called",
        says=[
            "`backward` of GradientReversal (line 9) never runs",
            "the gradient passes through it unchanged",
            "`forward(ctx, x, weight)`",
            "set `ctx.weight = weight`",
            "return also None for `weight`",
            "`GradientReversalFunction.apply(x, self.weight)`",
        ],
        related=["module called here", "forward computed here", "backward pass"],
    ),
    case(
        "scale_of_a_branch_that_returns_its_input",
        """
        import torch
        from torch import nn
        class Slower(nn.Module):
            def __init__(self, scale=0.1):
                super().__init__()
                self.scale = scale
            def forward(self, features):
                return features
            def backward(self, *grads):  # CULPRIT
                return tuple(g * self.scale for g in grads)
        body, head = nn.Linear(3, 6), nn.Linear(6, 1)
        net = nn.Sequential(body, nn.Tanh(), Slower(), head)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(8, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "module-backward-never-called",
        says=["`SlowerFunction.apply(features, self.scale)`"],
        related=["module called here"],
    ),
    case(
        "window_of_a_gradient_kept_by_forward",
        """
        import torch
        from torch import nn
        class Clipped(nn.Module):
            def forward(self, x):
                self.inside = (x.abs() < 1).float()
                return x.clamp(-2, 2) * 0.5
            def backward(self, grad):  # CULPRIT
                return grad * self.inside
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 1)
                self.clipped = Clipped()
            def forward(self, x):
                return self.second(self.clipped(self.first(x)))
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(8, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "module-backward-never-called",
        says=["`ctx.inside` in place of `self.inside`"],
    ),
    case(
        "straight_through_written_as_a_layer",
        """
        import torch
        from torch import nn
        class Binarize(nn.Module):
            def forward(self, x):
                return (x > 0).float()
            def backward(self, grad_output):  # CULPRIT
                return grad_output.clamp(-1, 1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 1)
                self.binary = Binarize()
            def forward(self, x):
                return self.second(self.binary(self.first(x)))
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(8, 3)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "module-backward-never-called",
        says=["`(x > 0).float()` (line 5)."],
    ),
]
