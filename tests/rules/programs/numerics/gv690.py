"""GV690: product-underflows."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "likelihood_of_a_long_sequence",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 400)
        p = torch.sigmoid(net(torch.randn(4, 3)))
        joint = p.prod(dim=1)  # CULPRIT
        (-torch.log(joint + 1e-30).mean()).backward()
        """,
        "product-underflows",
        says=["4 of 4 results", "`p.log().sum(…)`"],
    ),
    case(
        "product_with_a_factor_of_0_and_a_short_one",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 8)
        p = torch.sigmoid(net(torch.randn(4, 3)))
        masked = p * (torch.arange(8) > 1)
        (p.prod(dim=1).mean() + (1 - masked).prod(dim=1).mean()).backward()
        """,
    ),
]
