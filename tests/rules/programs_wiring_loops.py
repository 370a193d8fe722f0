"""Programs whose loop, modes or operands are out of order."""

from __future__ import annotations

from tests.rules.harness import Case, case

LOOPS: list[Case] = [
    case(
        "loop_without_zero_grad",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def train_step(x, y):
            loss = (net(x) - y).pow(2).mean()
            loss.backward()  # CULPRIT
            opt.step()
            return loss.item()

        for epoch in range(3):
            train_step(torch.randn(5, 4), torch.randn(5, 1))
        """,
        "gradients-not-zeroed",
        related=["applied here, and kept"],
    ),
    case(
        "zero_grad_of_another_optimizer",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for step in range(3):
            fake = gen(torch.randn(4, 2))
            d_loss = disc(fake.detach()).mean() - disc(torch.randn(4, 3)).mean()
            opt_g.zero_grad()
            d_loss.backward()  # CULPRIT
            opt_d.step()
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()  # CULPRIT
            opt_g.step()
        """,
        "gradients-not-zeroed",
        says=["bias"],
    ),
    case(
        "manual_descent_without_clearing",
        """
        import torch

        w = torch.zeros(3, requires_grad=True)
        for step in range(3):
            loss = (w - torch.arange(3.0)).pow(2).sum()
            loss.backward()  # CULPRIT
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "gradients-not-zeroed",
        says=["`w`"],
    ),
    case(
        "cleared_before_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
            net.zero_grad()  # CULPRIT
            opt.step()
        """,
        "zero-grad-before-step",
        says=["net.zero_grad()"],
    ),
    case(
        "clipped_after_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # CULPRIT
        """,
        "clip-after-step",
    ),
    case(
        "clamped_after_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            for p in net.parameters():
                p.grad.clamp_(-1, 1)  # CULPRIT
        """,
        "clip-after-step",
    ),
    case(
        "dropout_in_an_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def evaluate(x):
            with torch.no_grad():
                return net(x).mean().item()  # CULPRIT

        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        evaluate(torch.randn(5, 4))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "functional_dropout_ignores_eval",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                x = F.relu(self.a(x))
                x = F.dropout(x, p=0.3)  # CULPRIT
                return self.b(x)

        net = Net()
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))
        """,
        "dropout-active-in-eval",
        says=["`Net`"],
    ),
    case(
        "eval_left_on_by_a_validation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def validate(x):
            net.eval()  # CULPRIT
            with torch.no_grad():
                return net(x).mean().item()

        for epoch in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            validate(torch.randn(6, 4))
        """,
        "eval-mode-left-on",
        says=["BatchNorm1d"],
    ),
    case(
        "evaluated_before_training",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.drop = nn.Dropout(0.2)
                self.out = nn.Linear(4, 1)

            def forward(self, x):
                return self.out(self.drop(self.fc(x)))

        model = Net()
        model.train(False)  # CULPRIT
        with torch.inference_mode():
            baseline = model(torch.randn(3, 4)).mean().item()
        opt = torch.optim.Adam(model.parameters())
        for step in range(2):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "eval-mode-left-on",
    ),
    case(
        "last_batch_of_a_loader",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        data = TensorDataset(torch.randn(9, 3), torch.randn(9, 1))
        loader = DataLoader(data, batch_size=4)  # CULPRIT
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
        """,
        "batchnorm-single-sample",
        related=["layer made here"],
    ),
    case(
        "a_single_image",
        """
        import torch
        from torch import nn

        net = nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(2)
        )
        images = torch.randn(4, 1, 8, 8)
        net(images)
        one = images[:1]  # CULPRIT
        net(one)  # CULPRIT
        """,
        "batchnorm-single-sample",
    ),
    case(
        "float64_from_numpy",
        """
        import numpy as np
        import torch
        from torch import nn

        def load():
            raw = np.random.RandomState(0).rand(5, 3)
            x = torch.from_numpy(raw)  # CULPRIT
            return x / x.max()

        net = nn.Linear(3, 1)
        x = load()
        net(x - x.mean(0)).sum().backward()
        """,
        "dtype-mismatch",
        says=["float64", "float32"],
    ),
    case(
        "integers_into_a_layer",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        x = torch.tensor([[1, 2, 3], [4, 5, 6]])  # CULPRIT
        net(x).sum().backward()
        """,
        "dtype-mismatch",
        says=["int64"],
    ),
    case(
        "model_in_double",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        net.double()  # CULPRIT
        out = net(torch.randn(5, 3))
        """,
        "dtype-mismatch",
        says=["float64"],
    ),
    case(
        "input_left_on_the_cpu",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1).to("meta")
        x = torch.randn(5, 3)  # CULPRIT
        net(x * 2)
        """,
        "device-mismatch",
        engines=("torch",),
    ),
    case(
        "layers_of_other_sizes",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 2, 3)
                self.fc = nn.Linear(100, 5)  # CULPRIT

            def forward(self, x):
                x = torch.relu(self.conv(x))
                x = x.flatten(1)
                return self.fc(x)

        Net()(torch.randn(3, 1, 8, 8))
        """,
        "shape-mismatch",
        says=["(3, 72)", "(5, 100)"],
    ),
    case(
        "operands_of_other_sizes",
        """
        import torch

        a = torch.ones(3, 4, requires_grad=True)
        b = torch.ones(5)
        loss = (a * b).sum()  # CULPRIT
        """,
        "shape-mismatch",
        says=["`a` is (3, 4) since line 3", "`b` is (5,) since line 4"],
    ),
]
