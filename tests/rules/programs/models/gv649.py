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
    case(
        "a_helper_told_to_weigh_over_the_samples_of_an_einsum",
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        def masked_softmax(scores, mask, dim):
            return F.softmax(scores.masked_fill(~mask, -1e4), dim=dim)
        net = nn.Linear(3, 3)
        frames = net(torch.randn(4, 5, 3))
        mask = torch.ones(4, 5, dtype=torch.bool)
        weights = masked_softmax(frames.mean(2), mask, dim=0)  # CULPRIT
        pooled = torch.einsum("bt,bt...->b...", weights, frames)
        pooled.square().mean().backward()
        """,
        "weights-over-the-batch",
        says=["`dim=1`"],
    ),
    case(
        "weights_that_are_normalised_by_hand",
        """
        import torch
        from torch import nn
        lift, score = nn.Linear(3, 4), nn.Linear(4, 1)
        frames = lift(torch.randn(6, 5, 3))
        e = score(frames).exp()
        weights = e / e.sum(dim=0, keepdim=True)  # CULPRIT
        pooled = (weights * frames).sum(dim=1)
        pooled.square().mean().backward()
        """,
        "weights-over-the-batch",
    ),
    case(
        "experts_and_clusters_that_compete",
        """
        import torch
        from torch import nn
        experts = nn.ModuleList([nn.Linear(3, 2) for _ in range(4)])
        gate, centres = nn.Linear(3, 4), nn.Linear(3, 4)
        x = torch.randn(6, 3)
        made = torch.stack([each(x) for each in experts])
        mixed = torch.einsum("ebd,eb->bd", made, gate(x).t().softmax(0))
        share = centres(x).softmax(0)
        means = torch.einsum("nk,nd->kd", share, x) + share.t() @ x
        queries = gate(x).reshape(2, 3, 4)
        slots = queries.softmax(dim=1) @ torch.randn(2, 4, 5)
        (mixed.square().mean() + means.square().mean() + slots.mean()).backward()
        """,
    ),
]
