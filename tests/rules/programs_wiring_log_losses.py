"""Losses of log-probabilities that are given something else, and some that are not."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "negative_log_likelihood_of_raw_scores",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        criterion = nn.NLLLoss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x, y = torch.randn(6, 3), torch.randint(0, 4, (6,))
            opt.zero_grad()
            loss = criterion(net(x), y)  # CULPRIT
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
        "gather_of_a_softmax_over_the_batch",
        """
        import torch
        from torch import nn
        def cross_entropy(logits, y):
            logp = torch.log_softmax(logits, dim=0)  # CULPRIT
            return -logp.gather(1, y.unsqueeze(1)).mean()
        net = nn.Linear(5, 3)
        cross_entropy(net(torch.randn(4, 5)), torch.tensor([0, 1, 2, 0])).backward()
        """,
        "softmax-over-batch",
        says=["`gather`", "dimension 1"],
    ),
]

FINE = [
    case(
        "log_probabilities_of_several_kinds",
        """
        import torch
        import torch.nn.functional as F
        torch.manual_seed(0)
        logits = torch.randn(6, 4, requires_grad=True)
        y = torch.tensor([0, 1, 2, 3, 0, 1])
        logp = F.log_softmax(logits, dim=1)
        soft = torch.softmax(torch.randn(6, 4), dim=1)
        loss = F.nll_loss(logp, y) + F.nll_loss(torch.log(logits.softmax(1) + 1e-8), y)
        loss = loss + F.kl_div(logp, soft, reduction="batchmean")
        loss = loss + F.kl_div(logp, soft.log(), reduction="batchmean", log_target=True)
        (loss + F.cross_entropy(logits, y)).backward()
        """,
    ),
    case(
        "gather_of_classes_in_rows",
        """
        import torch
        scores = torch.randn(3, 8, requires_grad=True)
        y = torch.randint(0, 3, (1, 8))
        (-torch.log_softmax(scores, dim=0).gather(0, y).mean()).backward()
        rows = torch.log_softmax(scores, dim=0).gather(1, torch.zeros(3, 2).long())
        rows.sum().backward()
        """,
    ),
]
