"""GV604: double-softmax."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
    case(
        "scores_of_an_average_of_probabilities",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        nets = nn.ModuleList(nn.Linear(4, 3) for _ in range(2))

        def vote(x):
            return torch.stack([net(x).softmax(-1) for net in nets]).mean(0)

        criterion = nn.CrossEntropyLoss()  # CULPRIT
        criterion(vote(torch.randn(5, 4)), torch.tensor([0, 1, 2, 1, 0])).backward()
        """,
        "double-softmax",
        says=["average of probabilities", "F.nll_loss("],
    ),
    case(
        "scores_pooled_with_weights_of_attention",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        weigh, head = nn.Linear(4, 1), nn.Linear(4, 3)
        x = torch.randn(5, 6, 4)
        scores = (weigh(x).softmax(1) * head(x)).mean(1)
        F.cross_entropy(scores, torch.tensor([0, 1, 2, 1, 0])).backward()
        """,
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "softmax_of_a_module_before_cross_entropy",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scores = nn.Linear(4, 3)
                self.shares = nn.Softmax(dim=1)  # CULPRIT
            def forward(self, x):
                return self.shares(self.scores(x))  # INSTEAD
        loss = nn.CrossEntropyLoss()(Net()(torch.randn(6, 4)), torch.arange(6) % 3)
        loss.backward()
        """,
        "double-softmax",
    ),
]
