"""GV629: not-log-probabilities."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "negative_log_likelihood_of_raw_scores",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        criterion = nn.NLLLoss()  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x, y = torch.randn(6, 3), torch.randint(0, 4, (6,))
            opt.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            opt.step()
        """,
        "not-log-probabilities",
        says=["has values up to"],
    ),
    case(
        "negative_log_likelihood_of_probabilities",
        """
        import torch
        import torch.nn.functional as F
        logits = torch.randn(6, 4, requires_grad=True)
        probs = torch.softmax(logits, dim=1)  # CULPRIT
        loss = F.nll_loss(probs, torch.tensor([0, 1, 2, 3, 0, 1]))
        loss.backward()
        """,
        "not-log-probabilities",
        says=["holds probabilities"],
    ),
    case(
        "distillation_compares_probabilities",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        teacher, student = nn.Linear(3, 4), nn.Linear(3, 4)
        x = torch.randn(5, 3)
        with torch.no_grad():
            target = F.softmax(teacher(x) / 2, dim=1)
        ours = F.softmax(student(x) / 2, dim=1)  # CULPRIT
        F.kl_div(ours, target, reduction="batchmean").backward()
        """,
        "not-log-probabilities",
    ),
    case(
        "probabilities_that_are_needed_elsewhere",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        ages = torch.arange(5.0)
        net = nn.Sequential(nn.Linear(3, 5), nn.Softmax(dim=1))
        measure = nn.KLDivLoss(reduction="batchmean")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x, target = torch.randn(6, 3), torch.rand(6, 5).softmax(1)
            chances = net(x)
            loss = measure(chances, target)  # CULPRIT
            expected = (chances * ages).sum(1)
            loss = loss + 0.1 * (expected - (target * ages).sum(1)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "not-log-probabilities",
        says=["Elsewhere the program needs"],
    ),
]
