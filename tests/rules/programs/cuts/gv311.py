"""GV311: learnable-index."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "learned_pixel",
        """
        import torch
        w = torch.tensor([0.1, 2.3], requires_grad=True)
        img = torch.randn(4, 4, requires_grad=True)
        ij = w.int()  # CULPRIT
        loss = img[ij[0], ij[1]]
        loss.backward()
        """,
        "learnable-index",
    ),
    case(
        "learned_position_as_index",
        """
        import torch
        from torch import nn

        class Lookup(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.randn(10))
                self.position = nn.Parameter(torch.tensor([2.6, 4.1]))

            def forward(self):
                index = self.position.long()  # CULPRIT
                return self.table[index]

        net = Lookup()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net().pow(2).sum().backward()
            opt.step()
        """,
        "learnable-index",
        says=["position"],
    ),
]
