"""GV651: mask-without-effect."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "padding_filled_with_almost_zero",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = scores.masked_fill(mask == 0, 1e-9)  # CULPRIT
        weights = torch.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["as much weight as other places"],
    ),
    case(
        "padding_filled_with_the_wrong_sign",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = torch.where(mask, scores, 1e9)  # CULPRIT
        weights = nn.functional.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["all weight"],
    ),
    case(
        "number_of_a_mask_chosen_by_a_constant",
        """
        import torch
        from torch import nn
        EMPTY = 1e-9  # CULPRIT

        class Pool(nn.Module):
            def __init__(self, empty=EMPTY):
                super().__init__()
                self.score, self.empty = nn.Linear(3, 1), empty
            def forward(self, tokens, mask):
                scores = self.score(tokens).squeeze(-1)
                weights = scores.masked_fill(~mask, self.empty).softmax(-1)
                return (weights.unsqueeze(-1) * tokens).sum(1)

        pool = Pool()
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        pool(torch.randn(2, 5, 3), mask).square().sum().backward()
        """,
        "mask-without-effect",
        says=["chose the number"],
    ),
    case(
        "padding_stored_with_almost_zero",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1).clone()
        scores[~mask] = 1e-9  # CULPRIT
        weights = torch.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
    ),
]
