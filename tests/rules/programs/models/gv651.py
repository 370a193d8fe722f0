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
        says=["as much weight as the others"],
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
        says=["The number comes from"],
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
    case(
        "a_mask_of_queries_instead_of_keys",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        tokens = torch.tensor([[3, 1, 2, 0, 0], [2, 2, 1, 3, 0]])
        embed, to_q, to_k = nn.Embedding(4, 6), nn.Linear(6, 6), nn.Linear(6, 6)

        def mask_of(tokens):
            return (tokens != 0).unsqueeze(2)  # CULPRIT

        x = embed(tokens)
        scores = to_q(x) @ to_k(x).transpose(1, 2)
        scores = scores.masked_fill(mask_of(tokens) == 0, -1e4)
        (scores.softmax(-1) @ x)[:, 0].square().sum().backward()
        """,
        "mask-without-effect",
        says=["whole rows"],
        related=["mask applied here"],
    ),
    case(
        "scores_times_a_large_negative_mask",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        to_q, to_k = nn.Linear(6, 6), nn.Linear(6, 6)
        x = torch.randn(7, 6)
        same = torch.full((7, 7), -1e6)
        same[:3, :3] = 1
        same[3:, 3:] = 1
        scores = to_q(x) @ to_k(x).t()
        scores = scores * same  # CULPRIT
        (torch.softmax(scores, dim=-1) @ x).square().sum().backward()
        """,
        "mask-without-effect",
        says=["multiplies the scores by the mask"],
    ),
    case(
        "mask_of_attention_as_numbers",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        net = nn.Linear(4, 4)
        x, kept = torch.randn(2, 3, 4), torch.tensor([[True, True, False]] * 2)
        mask = kept[:, None].float()  # CULPRIT
        F.scaled_dot_product_attention(net(x), x, x, attn_mask=mask).sum().backward()
        """,
        "mask-without-effect",
        says=["which leaves nothing out"],
    ),
    case(
        "mask_of_attention_as_large_numbers",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        net = nn.Linear(4, 4)
        x, kept = torch.randn(2, 3, 4), torch.tensor([[True, True, False]] * 2)
        mask = (1 - kept[:, None].float()) * -1e9
        F.scaled_dot_product_attention(net(x), x, x, attn_mask=mask).sum().backward()
        F.scaled_dot_product_attention(net(x), x, x, attn_mask=kept[:, None]).sum()
        """,
    ),
]
