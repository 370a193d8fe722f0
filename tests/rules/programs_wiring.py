"""Programs with unused parts, and losses that get something else than they need."""

from __future__ import annotations

from tests.rules.harness import Case, case

LOSSES: list[Case] = [
    case(
        "layer_never_called",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.skip = nn.Sequential(  # CULPRIT
                    nn.Linear(4, 4), nn.ReLU()
                )
                self.head = nn.Linear(4, 1)

            def forward(self, x):
                return self.head(torch.relu(self.body(x)))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`skip`", "never called", "skip.0.weight"],
    ),
    case(
        "result_of_a_layer_dropped",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)
                self.b = nn.Linear(4, 4)

            def forward(self, x):
                y = self.a(x)  # CULPRIT
                y = self.b(x)
                return y

        net = Net()
        for step in range(2):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            net.zero_grad()
        """,
        "unused-submodule",
        related=["constructed here"],
    ),
    case(
        "parameter_left_out_of_forward",
        """
        import torch
        from torch import nn

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.gain = nn.Parameter(torch.ones(3))  # CULPRIT

            def forward(self, x):
                return self.fc(x)

        net = Scaled()
        opt = torch.optim.Adam(net.parameters())
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(2, 3)).sum().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["gain"],
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
            error = target - prediction  # CULPRIT
            return (error ** 2).mean()

        model = Regressor()
        opt = torch.optim.Adam(model.parameters())
        for step in range(2):
            x, y = torch.randn(6, 3), torch.randn(6)
            loss = loss_of(model(x), y)
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
        "mse_loss_module",
        """
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        criterion = nn.MSELoss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            x, y = torch.randn(4, 2), torch.randn(4)
            out = net(x)
            loss = criterion(out, y)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-mse-loss",
        says=["(4, 1)", "(4,)"],
    ),
    case(
        "smooth_l1_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(2, 1)
        out = net(torch.randn(4, 2)).squeeze()
        loss = F.smooth_l1_loss(out, torch.randn(4, 1))  # CULPRIT
        loss.backward()
        """,
        "broadcast-mse-loss",
    ),
    case(
        "softmax_layer_before_cross_entropy",
        """
        import torch
        from torch import nn

        net = nn.Sequential(
            nn.Linear(4, 8),
            nn.ReLU(),
            nn.Linear(8, 3),
            nn.Softmax(dim=1),  # CULPRIT
        )
        criterion = nn.CrossEntropyLoss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
            loss = criterion(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "double-softmax",
        says=["0.55"],
    ),
    case(
        "softmax_in_forward",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)

            def forward(self, x):
                scores = self.fc(x)
                return F.softmax(scores, dim=-1)  # CULPRIT

        net = Classifier()
        out = net(torch.randn(2, 5, 4))
        loss = F.cross_entropy(out.view(-1, 3), torch.zeros(10, dtype=torch.long))
        loss.backward()
        """,
        "double-softmax",
        related=["applied a second time"],
    ),
    case(
        "sigmoid_before_bce_with_logits",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        criterion = nn.BCEWithLogitsLoss()
        probability = torch.sigmoid(net(torch.randn(6, 4)))  # CULPRIT
        loss = criterion(probability.squeeze(1), torch.ones(6))
        loss.backward()
        """,
        "double-softmax",
    ),
    case(
        "softmax_before_log_softmax",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(4, 3)
        p = net(torch.randn(6, 4)).softmax(dim=1)  # CULPRIT
        loss = F.nll_loss(F.log_softmax(p, dim=1), torch.zeros(6, dtype=torch.long))
        loss.backward()
        """,
        "double-softmax",
    ),
]
