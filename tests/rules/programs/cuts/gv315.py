"""GV315: checkpoint-without-grad-input."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "checkpoint_behind_frozen_embeddings",
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        embed, adapter, head = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        embed.requires_grad_(False)
        opt = torch.optim.SGD([*adapter.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            hidden = embed(torch.tensor([1, 2, 3]))
            hidden = checkpoint(adapter, hidden, use_reentrant=True)  # CULPRIT
            loss = head(hidden).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "checkpoint-without-grad-input",
    ),
]
