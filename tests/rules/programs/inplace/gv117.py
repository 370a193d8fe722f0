"""GV117: expanded-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "expand_grad_leaf",
        """
        import torch
        tok = torch.zeros(1, 1, 4)
        x = torch.randn(2, 3, 4, requires_grad=True)
        cls = tok.expand(2, -1, -1)
        cls += x[:, :1] * 2  # CULPRIT
        """,
        "expanded-inplace",
    ),
    case(
        "adding_to_an_expanded_mask",
        """
        import torch

        mask = torch.zeros(1, 3)
        mask = mask.expand(2, 3)
        mask += torch.ones(2, 3)  # CULPRIT
        """,
        "expanded-inplace",
        says=["strides [0, 1]", "3 places"],
        related=["expanded here"],
    ),
    case(
        "hidden_state_expanded_over_the_batch",
        """
        import torch
        import torch.nn as nn

        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("h0", torch.zeros(1, 2))
                self.lin = nn.Linear(2, 2)

            def forward(self, x):
                h = self.h0.expand(x.shape[0], -1)
                for t in range(2):
                    h.add_(self.lin(x))  # CULPRIT
                return h

        Cell()(torch.ones(3, 2)).sum().backward()
        """,
        "expanded-inplace",
    ),
    case(
        "expand_as",
        """
        import torch
        b = torch.zeros(3)
        y = b.expand_as(torch.ones(2, 3))
        y[:] = torch.ones(2, 3)  # CULPRIT
        """,
        "expanded-inplace",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "counts_in_one_place",
        """
        import torch
        counts = torch.zeros(1).expand(3)  # INSTEAD
        counts += torch.arange(3.0)  # CULPRIT
        """,
        "expanded-inplace",
    ),
]
