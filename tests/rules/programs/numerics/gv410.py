"""GV410: nan-softmax-fully-masked."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "attention_over_pure_padding",
        """
        import torch
        scores = torch.randn(2, 3, requires_grad=True)
        mask = torch.tensor([[True, True, False], [False, False, False]])
        scores2 = scores.masked_fill(~mask, float("-inf"))
        p = torch.softmax(scores2, dim=-1)  # CULPRIT
        p.sum().backward()
        """,
        "nan-softmax-fully-masked",
        says=["row [1]"],
        related=["-inf comes from here"],
    ),
    case(
        "additive_mask_over_a_row",
        """
        import torch
        s = torch.zeros(2, 3, requires_grad=True)
        inf = float("-inf")
        mask = torch.tensor([[0.0, inf, inf], [inf, inf, inf]])
        p = torch.softmax(s + mask, dim=1)  # CULPRIT
        (p * torch.arange(3.0)).sum().backward()
        """,
        "nan-softmax-fully-masked",
    ),
    case(
        "log_softmax_of_a_masked_row",
        """
        import torch
        import torch.nn.functional as F
        z = torch.zeros(1, 3, requires_grad=True)
        z2 = torch.where(torch.zeros(1, 3, dtype=torch.bool), z, float("-inf"))
        F.log_softmax(z2, dim=-1)[:, 0].sum().backward()  # CULPRIT
        """,
        "nan-softmax-fully-masked",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "mask_turned_around",
        """
        import torch
        import torch.nn as nn
        scores = nn.Linear(3, 3)(torch.randn(3, 3))
        keep = torch.tril(torch.ones(3, 3)) == 1
        masked = scores.masked_fill(keep, float("-inf"))  # INSTEAD
        torch.softmax(masked, dim=-1).square().sum().backward()  # CULPRIT
        """,
        "nan-softmax-fully-masked",
    ),
]
