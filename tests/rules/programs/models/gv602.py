"""GV602: broadcast-loss-manual."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scale_of_a_column_in_two_places_of_a_density",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.heads = nn.Linear(3, 8), nn.Linear(8, 2)

            def forward(self, x):
                location, scale = self.heads(self.body(x).tanh()).split(1, 1)
                scale = nn.functional.softplus(scale) + 0.1  # CULPRIT
                return location[:, 0], scale

        def misfit(location, scale, y):
            error = (y - location).abs() / scale
            return (error + scale.log()).mean()

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 3), torch.randn(16)
        for _ in range(3):
            optimizer.zero_grad()
            location, scale = net(x)
            misfit(location, scale, y).backward()
            optimizer.step()
        """,
        "broadcast-loss-manual",
        says=["meets the pairs again in line 16"],
    ),
    case(
        "scale_of_a_row_in_two_places_of_a_density",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.heads = nn.Linear(3, 8), nn.Linear(8, 2)

            def forward(self, x):
                location, scale = self.heads(self.body(x).tanh()).split(1, 1)
                scale = nn.functional.softplus(scale) + 0.1
                return location[:, 0], scale[:, 0]

        def misfit(location, scale, y):
            error = (y - location).abs() / scale
            return (error + scale.log()).mean()

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(16, 3), torch.randn(16)
        for _ in range(3):
            optimizer.zero_grad()
            location, scale = net(x)
            misfit(location, scale, y).backward()
            optimizer.step()
        """,
    ),
    case(
        "regression_on_a_column",
        """
        import torch
        from torch import nn

        class Regressor(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))

            def forward(self, x):
                return self.net(x)

        def loss_of(prediction, target):
            error = target - prediction
            return (error ** 2).mean()

        model = Regressor()
        opt = torch.optim.Adam(model.parameters())
        for step in range(2):
            x, y = torch.randn(6, 3), torch.randn(6)
            loss = loss_of(model(x), y)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
        says=["(6, 1)", "(6,)", "(6, 6)", "36 pairs from 6 samples"],
    ),
    case(
        "weighted_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(3, 1)
        weight = torch.rand(5)
        loss = F.mse_loss(net(torch.randn(5, 3)), torch.randn(5, 1), reduction="none")
        loss = (loss * weight).mean()  # CULPRIT
        loss.backward()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "td_error_of_a_column",
        """
        import torch
        from torch import nn

        q, slow = nn.Linear(3, 1), nn.Linear(3, 1)
        opt = torch.optim.SGD(q.parameters(), lr=0.1)
        for step in range(2):
            with torch.no_grad():
                goal = torch.randn(4) + 0.9 * slow(torch.randn(4, 3)).squeeze(1)
            delta = q(torch.randn(4, 3)) - goal  # CULPRIT
            loss = delta.abs().clamp(max=1.0).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "cross_entropy_by_hand_on_a_column",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        x, y = torch.randn(6, 3), torch.tensor([0.0, 1, 0, 1, 1, 0])
        p = torch.sigmoid(net(x))
        loss = -(y * p.log() + (1 - y) * (1 - p).log()).mean()  # CULPRIT
        loss.backward()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "mean_absolute_error_of_a_loader",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(8, 3), torch.randn(8))
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(data, batch_size=4):
            opt.zero_grad()
            loss = torch.abs(net(x) - y).mean()  # CULPRIT
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "broadcast_in_a_huber_loss",
        """
        import torch
        import torch.nn as nn
        class Huber(nn.Module):
            def forward(self, prediction, target):
                error = prediction - target
                small = error.abs() < 1
                return torch.where(small, error ** 2 / 2, error.abs() - 0.5).mean()
        net = nn.Linear(3, 1)
        loss = Huber()(net(torch.randn(8, 3)), torch.randn(8))  # CULPRIT
        loss.backward()
        """,
        "broadcast-loss-manual",
        says=["64 pairs from 8 samples", "passes shapes (8, 1) and (8,)"],
    ),
    case(
        "accuracy_of_a_column",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        x, labels = torch.randn(12, 4), torch.randint(0, 2, (12, 1)).float()
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = F.binary_cross_entropy_with_logits(net(x), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                predicted = (net(x).squeeze(1) > 0).float()
                right = (predicted == labels).sum().item()  # CULPRIT
        """,
        "broadcast-loss-manual",
        says=["(12, 1)", "(12,)", "144 pairs from 12 samples"],
    ),
    case(
        "best_class_kept_as_a_column",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        x, labels = torch.randn(10, 4), torch.randint(0, 3, (10,))
        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def accuracy(scores, labels):
            best = scores.argmax(dim=1, keepdim=True)
            hits = best.eq(labels)  # CULPRIT
            return hits.float().mean()

        for step in range(3):
            loss = F.cross_entropy(net(x), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            accuracy(net(x).detach(), labels)
        """,
        "broadcast-loss-manual",
    ),
    case(
        "curves_drawn_over_a_grid",
        """
        import torch
        from torch import nn
        net = nn.Linear(8, 8)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        t = torch.linspace(-1, 1, 8)
        for step in range(3):
            field = torch.randn(8, 1) * t + torch.randn(8, 1)
            scale = field.square().mean()
            opt.zero_grad()
            (net(field) - field / scale).square().mean().backward()
            opt.step()
        """,
    ),
    case(
        "criterion_handed_a_column",
        """
        import torch
        from torch import nn
        def rmsle(pred, actual):
            diff = torch.log1p(pred) - torch.log1p(actual)
            return diff.pow(2).mean().sqrt()
        def loss_of(pred, actual, weight=1.0):
            return weight * rmsle(pred, actual)
        net = nn.Sequential(nn.Linear(3, 1), nn.Softplus())
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x, y = torch.randn(8, 3), torch.rand(8)
            out = net(x)
            loss = loss_of(out, y)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
        says=["`out.squeeze(-1)`"],
        related=["compared here"],
    ),
    case(
        "criterion_that_makes_its_own_prediction",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        def loss_of(x, y):
            out = net(x)
            return (out - y).pow(2).mean()  # CULPRIT
        loss_of(torch.randn(8, 3), torch.rand(8)).backward()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "values_squeezed_where_returns_are_columns",
        """
        import torch
        from torch import nn

        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

            def forward(self, x):
                values = self.net(x).squeeze(-1)  # CULPRIT
                return values, x.mean(1, keepdim=True)

        def critic_loss(values, returns, old):
            clipped = old + (values - old).clamp(-0.2, 0.2)
            return torch.max((returns - values) ** 2, (returns - clipped) ** 2).mean()

        critic = Critic()
        opt = torch.optim.Adam(critic.parameters(), lr=0.01)
        data = {"obs": torch.randn(24, 4), "ret": torch.randn(24, 1)}
        data["old"] = torch.randn(24, 1)
        for rows in torch.randperm(24).split(8):
            b = {key: each[rows] for key, each in data.items()}
            values, _ = critic(b["obs"])
            loss = critic_loss(values, b["ret"], b["old"])
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
        says=[
            "`.squeeze(-1)` gives `values` the shape (8,)",
            "Leave out `.squeeze(-1)`",
        ],
        related=["compared here"],
    ),
    case(
        "means_of_rows_handed_to_a_loss_of_columns",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 3)
        opt = torch.optim.Adam(net.parameters(), lr=0.01)

        def loss_of(guess, target, old):
            moved = (guess - old).clamp(-0.2, 0.2).pow(2)
            return (guess - target).pow(2).mean() + moved.mean()

        x, y, old = torch.randn(24, 4), torch.randn(24, 1), torch.randn(24, 1)
        for rows in torch.randperm(24).split(8):
            guess = net(x[rows]).sum(1)
            loss = loss_of(guess, y[rows], old[rows])  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
        says=["Give `guess` the shape of the others: `guess.unsqueeze(-1)`"],
    ),
]
