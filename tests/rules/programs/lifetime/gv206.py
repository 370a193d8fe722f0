"""GV206: non-scalar-backward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "loss_per_sample",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        criterion = nn.CrossEntropyLoss(reduction="none")
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
        loss = criterion(net(x), y)  # CULPRIT
        print("loss", loss.shape)
        loss.backward()
        """,
        "non-scalar-backward",
        says=["`loss`", "(4,)"],
    ),
    case(
        "weighted_and_not_reduced",
        """
        import torch
        def weighted(prediction, target, weight):
            return weight * (prediction - target) ** 2
        net = torch.nn.Linear(3, 1)
        x, y = torch.randn(5, 3), torch.randn(5, 1)
        loss = weighted(net(x), y, torch.rand(5, 1))  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
        says=["(5, 1)"],
    ),
    case(
        "mean_over_the_batch_only",
        """
        import torch
        net = torch.nn.Linear(4, 3)
        def criterion(prediction, target):
            return (prediction - target).pow(2).mean(dim=0)  # CULPRIT
        loss = criterion(net(torch.randn(6, 4)), torch.randn(6, 3))
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "grad_of_a_vector",
        """
        import torch
        x = torch.linspace(0, 1, 5, requires_grad=True)
        y = torch.sin(x)
        (dy,) = torch.autograd.grad(y, x)  # CULPRIT
        """,
        "non-scalar-backward",
    ),
    case(
        "stack_of_losses",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2)
        losses = torch.stack([net(torch.ones(1, 2)).sum() for _ in range(2)])  # CULPRIT
        losses.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "loss_within_a_module",
        """
        import torch
        import torch.nn as nn
        class WithLoss(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 1)
                self.crit = nn.MSELoss(reduction="none")
            def forward(self, x, y):
                out = self.net(x)
                return self.crit(out, y)
        m = WithLoss()
        loss = m(torch.ones(3, 2), torch.zeros(3, 1))  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "masked_and_not_reduced",
        """
        import torch
        import torch.nn.functional as F
        x = torch.zeros(3, 2, requires_grad=True)
        loss = F.cross_entropy(x, torch.tensor([0, 1, 0]), reduction="none")
        mask = torch.tensor([1.0, 0.0, 1.0])
        loss = loss * mask  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "energy_of_a_spectrum",
        """
        import torch
        signal = torch.randn(16, requires_grad=True)
        spectrum = torch.fft.fft(signal)
        loss = (spectrum * spectrum).sum()  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
        says=["complex64", "real"],
    ),
    case(
        "reduction_chosen_by_options",
        """
        import torch
        from dataclasses import dataclass
        from torch import nn
        @dataclass
        class Options:
            rate: float = 0.1
            reduction: str = "none"  # CULPRIT
        class Weighted(nn.Module):
            def __init__(self, reduction="mean"):
                super().__init__()
                self.reduction = reduction
            def forward(self, prediction, target, weight):
                loss = weight * (prediction - target).abs()
                if self.reduction == "mean":
                    return loss.sum() / weight.sum()
                if self.reduction == "sum":
                    return loss.sum()
                return loss
        def fit(options):
            net, criterion = nn.Linear(3, 1), Weighted(options.reduction)
            prediction, weight = net(torch.randn(5, 3)), torch.ones(5, 1)
            loss = criterion(prediction, torch.zeros(5, 1), weight)
            loss.backward()
        fit(Options())
        """,
        "non-scalar-backward",
        says=["chose that"],
    ),
    case(
        "loss_that_returns_before_its_mean",
        """
        import torch
        def distance(one, other, reduce=True):
            each = (one - other).square()
            if not reduce:
                return each
            return each.mean()
        net = torch.nn.Linear(3, 1)
        x, y = torch.randn(5, 3), torch.randn(5, 1)
        loss = distance(net(x), y, reduce=False)  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
    case(
        "given_a_mean_over_the_batch_only",
        """
        import torch
        from functools import partial
        def distance(prediction, target, reduce):
            return reduce((prediction - target).pow(2))
        class Net(torch.nn.Module):
            criterion = staticmethod(
                partial(distance, reduce=partial(torch.mean, dim=0))  # CULPRIT
            )
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 3)
            def step(self, x, y):
                return self.criterion(self.layer(x), y)
        loss = Net().step(torch.randn(6, 4), torch.randn(6, 3))
        loss.backward()
        """,
        "non-scalar-backward",
        says=["`partial(torch.mean, dim=0)`"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "slope_of_many_outputs",
        """
        import torch
        import torch.nn as nn
        field = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        def residual(points):
            u = field(points)  # INSTEAD
            (slope,) = torch.autograd.grad(u, points, create_graph=True)  # CULPRIT
            return slope[:, 0] - u[:, 0]
        residual(torch.rand(8, 2, requires_grad=True)).pow(2).mean().backward()
        """,
        "non-scalar-backward",
        says=["`grad_outputs=torch.ones_like(...)`"],
    ),
    case(
        "loss_of_each_sample",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        criterion = nn.CrossEntropyLoss(reduction="none")
        for _ in range(2):
            loss = criterion(net(torch.ones(2, 3)), torch.ones(2).long())  # CULPRIT
            loss.backward()  # INSTEAD
        """,
        "non-scalar-backward",
        says=["`backward(gradient=torch.ones_like(...))`"],
    ),
    case(
        "loss_of_a_module_that_keeps_the_hardest",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        class Hardest(nn.Module):
            def forward(self, scores, labels):
                each = F.cross_entropy(scores, labels, reduction="none")  # INSTEAD
                return each.topk(3).values
        net, criterion = nn.Linear(4, 3), Hardest()
        loss = criterion(net(torch.randn(6, 4)), torch.arange(6) % 3)  # CULPRIT
        loss.backward()
        """,
        "non-scalar-backward",
    ),
]
