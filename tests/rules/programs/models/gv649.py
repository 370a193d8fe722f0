"""GV649: weights-over-the-batch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "attention_weights_over_the_batch",
        """
        import torch
        from torch import nn
        score = nn.Linear(3, 1)
        frames = torch.randn(4, 5, 3)
        weights = torch.softmax(score(frames), dim=0)  # CULPRIT
        pooled = (weights * frames).sum(dim=1)
        pooled.square().mean().backward()
        """,
        "weights-over-the-batch",
        says=["dimension 0 of (4, 5, 1)", "`dim=1`"],
    ),
    case(
        "branches_that_compete_over_the_samples_of_a_loader",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        net = nn.ModuleList([nn.Linear(3, 6) for _ in range(2)])
        gate = nn.Linear(3, 6)
        weigh = nn.Softmax(dim=1)  # CULPRIT
        for (x,) in DataLoader(TensorDataset(torch.randn(8, 3)), batch_size=4):
            made = torch.stack([each(x) for each in net])
            weights = weigh(torch.stack([gate(x), gate(x) - 1]))
            (weights * made).sum(0).square().mean().backward()
        """,
        "weights-over-the-batch",
        says=["dimension 1 of (2, 4, 6)", "`dim=0`"],
    ),
    case(
        "parts_of_a_mixture_that_compete_over_the_samples",
        """
        import torch
        from torch import nn
        means, parts = nn.Linear(3, 4), nn.Linear(3, 4)
        x = torch.randn(5, 8, 3)
        share = torch.log_softmax(parts(x), dim=-1)
        (share + means(x)).logsumexp(dim=-1).mean().backward()
        log_p = torch.log_softmax(parts(x[0]), dim=0)  # CULPRIT
        (log_p + means(x[0])).logsumexp(dim=1).mean().backward()
        """,
        "weights-over-the-batch",
    ),
]
