"""GV120: view-noncontiguous."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "view_after_slice",
        """
        import torch
        x = torch.randn(4, 6, requires_grad=True)
        h = (x * 2)[:, :4]
        k = h + 0
        out = h.view(-1)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
    case(
        "view_of_a_transpose",
        """
        import torch

        x = torch.arange(6.0, requires_grad=True)
        h = x.view(2, 3).t()
        flat = h.view(6)  # CULPRIT
        """,
        "view-noncontiguous",
        says=["strides [1, 3]", "`h`", "dimensions 0 and 1"],
        related=["reordered here"],
    ),
    case(
        "merging_heads",
        """
        import torch
        import torch.nn as nn

        class Heads(nn.Module):
            def __init__(self, dim, heads):
                super().__init__()
                self.heads = heads
                self.out = nn.Linear(dim, dim)

            def forward(self, x):
                b, t, d = x.shape
                q = x.view(b, t, self.heads, d // self.heads).transpose(1, 2)
                y = torch.softmax(q @ q.transpose(-2, -1), dim=-1) @ q
                y = y.transpose(1, 2).view(b, t, d)  # CULPRIT
                return self.out(y)

        Heads(4, 2)(torch.randn(2, 3, 4)).sum().backward()
        """,
        "view-noncontiguous",
    ),
    case(
        "view_in_a_custom_backward",
        """
        import torch

        class Flatten(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.shape = x.shape
                return x.reshape(-1)

            @staticmethod
            def backward(ctx, g):
                rows = g.view(ctx.shape)
                return rows.t().view(-1).view(ctx.shape)  # CULPRIT

        x = torch.ones(2, 3, requires_grad=True)
        (Flatten.apply(x * 2) * torch.arange(6.0)).sum().backward()
        """,
        "view-noncontiguous",
    ),
    case(
        "view_contig_permute",
        """
        import torch
        img = torch.randn(2, 3, 4, 4)
        x = img.permute(0, 2, 3, 1)
        y = x * 1
        z = img.permute(0, 2, 3, 1).view(2, -1)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
    case(
        "view_in_module",
        """
        import torch
        import torch.nn as nn
        class Flat(nn.Module):
            def forward(self, x):
                return x.view(x.size(0), -1)  # CULPRIT
        net = nn.Sequential(Flat(), nn.Linear(4, 1))
        x = torch.randn(2, 2, 2).transpose(0, 2)
        net(x)
        """,
        "view-noncontiguous",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "columns_seen_as_one_row",
        """
        import torch
        table = torch.arange(6.0).view(2, 3).t()  # INSTEAD
        row = table.view(6)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
]
