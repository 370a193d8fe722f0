"""GV675: choice-over-batch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "best_sample_for_the_best_class",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        x = torch.randn(12, 6)
        labels = torch.randint(0, 3, (12,))
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
        opt = torch.optim.Adam(net.parameters(), lr=0.01)

        def correct(scores, labels):
            best = scores.argmax(0)  # CULPRIT
            return sum((a == b).item() for a, b in zip(best, labels))

        for step in range(3):
            loss = F.cross_entropy(net(x), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                right = correct(net(x), labels)
        """,
        "choice-over-batch",
        says=["not the best class for each sample", "dimension 0 of shape (12, 3)"],
    ),
    case(
        "as_many_samples_as_classes",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(6, 8)
                self.head = nn.Linear(8, 4)

            def forward(self, x):
                return torch.log_softmax(self.head(self.body(x).relu()), dim=1)

        net = Net()
        criterion = nn.NLLLoss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, labels = torch.randn(4, 6), torch.tensor([0, 3, 1, 2])
        for step in range(3):
            out = net(x)
            loss = criterion(out, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            top, which = out.detach().max(dim=0)  # CULPRIT
            accuracy = (which == labels).float().mean()
        """,
        "choice-over-batch",
    ),
    case(
        "samples_for_pseudo_labels",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def guessed(x):
            with torch.no_grad():
                sure, label = net(x).softmax(-1).max(0)  # CULPRIT
            return label, (sure > 0.3).float()

        for step in range(3):
            x, y = torch.randn(5, 6), torch.randint(0, 5, (5,))
            label, sure = guessed(x)
            extra = F.cross_entropy(net(x + 0.1), label, reduction="none")
            loss = F.cross_entropy(net(x), y) + (extra * sure).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "choice-over-batch",
        says=["as targets"],
    ),
    case(
        "dimension_bound_by_partial_in_a_table",
        """
        from functools import partial

        import torch
        import torch.nn.functional as F
        from torch import nn

        HOW = {
            "loss": F.cross_entropy,
            "vote": partial(torch.argmax, dim=0),  # CULPRIT
        }

        class Accuracy:
            def __init__(self, vote):
                self.vote = vote

            def __call__(self, scores, labels):
                return (self.vote(scores) == labels).float().mean()

        net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        accuracy = Accuracy(HOW["vote"])
        x, labels = torch.randn(6, 5), torch.randint(0, 6, (6,))
        for step in range(3):
            scores = net(x)
            loss = HOW["loss"](scores, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            accuracy(scores.detach(), labels)
        """,
        "choice-over-batch",
        related=["runs here", "compared here"],
    ),
]
