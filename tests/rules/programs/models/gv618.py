"""GV618: shape-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "last_of_the_batch_for_the_last_step",
        """
        import torch
        from torch import nn
        rnn, out = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
        states, _ = rnn(torch.randn(5, 7, 3))
        last = states[-1]  # CULPRIT
        loss = nn.functional.cross_entropy(out(last), torch.randint(0, 2, (5,)))
        loss.backward()
        """,
        "shape-mismatch",
        says=["The 5 samples get lost in `states[-1]` (line 5)"],
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
    case(
        "last_sample_for_the_last_step",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Forecast(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 8, batch_first=True)
                self.out = nn.Linear(8, 1)

            def forward(self, x):
                states, _ = self.rnn(x)
                return self.out(states[-1])  # CULPRIT

        net = Forecast()
        opt = torch.optim.Adam(net.parameters())
        x, y = torch.randn(12, 5, 3), torch.randn(12, 1)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        """,
        "shape-mismatch",
        says=["The 12 samples get lost"],
    ),
    case(
        "class_of_each_class",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        net = nn.Linear(5, 3)
        x, labels = torch.randn(12, 5), torch.randint(0, 3, (12,))

        def accuracy(scores, labels):
            predicted = scores.argmax(0)  # CULPRIT
            return (predicted == labels).float().mean()

        loss = F.cross_entropy(net(x), labels)
        loss.backward()
        accuracy(net(x), labels)
        """,
        "shape-mismatch",
        says=["The 12 samples get lost"],
    ),
    case(
        "features_averaged_for_the_steps",
        """
        import torch
        from torch import nn

        embed = nn.Embedding(20, 16)
        head = nn.Linear(16, 2)
        tokens = torch.randint(0, 20, (4, 7))
        hidden = embed(tokens)
        pooled = hidden.mean(-1)  # CULPRIT
        scores = head(pooled)
        scores.sum().backward()
        """,
        "shape-mismatch",
        says=["The 16 elements get lost"],
    ),
    case(
        "side_of_an_image_computed_without_padding",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, size, widths=(4, 8)):
                super().__init__()
                pairs = zip((1, *widths), widths)
                stages = [nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairs]
                self.stages = nn.Sequential(*stages)
                side = self.final_side(size, len(widths))
                self.head = nn.Linear(widths[-1] * side * side, 3)
            @staticmethod
            def final_side(size, halvings):
                side = size
                for _ in range(halvings):
                    side = side // 2  # CULPRIT
                return side
            def forward(self, x):
                return self.head(self.stages(x).flatten(1))
        Net(18)(torch.randn(2, 1, 18, 18)).sum().backward()
        """,
        "shape-mismatch",
    ),
    case(
        "features_computed_in_another_line",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, channels=4):
                super().__init__()
                self.conv = nn.Conv2d(1, channels, 3)
                features = channels * 8 * 8  # CULPRIT
                self.head = nn.Linear(features, 3)
            def forward(self, x):
                return self.head(self.conv(x).flatten(1))
        Net()(torch.randn(2, 1, 8, 8)).sum().backward()
        """,
        "shape-mismatch",
    ),
]
