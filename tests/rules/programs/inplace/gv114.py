"""GV114: no-grad-view-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "no_grad_view_in_method",
        """
        import torch
        import torch.nn as nn
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
            @torch.no_grad()
            def top(self, h):
                return h.narrow(0, 0, 1)
            def forward(self, x):
                h = self.lin(x)
                first = self.top(h)
                first *= 2  # CULPRIT
                return h
        M()(torch.ones(2, 2)).sum().backward()
        """,
        "no-grad-view-inplace",
    ),
    case(
        "view_under_no_grad",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = x * 2
        with torch.no_grad():
            v = h[:2]
        v.mul_(3)  # CULPRIT
        h.sum().backward()
        """,
        "no-grad-view-inplace",
        says=["`v`", "`h`"],
        related=["view made here"],
    ),
    case(
        "a_result_goes_into_a_view_from_a_no_grad_function",
        """
        import torch

        @torch.no_grad()  # CULPRIT
        def column(table, place):
            return table.select(1, place)

        weight = torch.randn(3, requires_grad=True)
        table = torch.zeros(4, 2)
        for place in range(2):
            column(table, place)[:3] += weight * place
        table.sum().backward()
        """,
        "no-grad-view-inplace",
        says=["the decorator away from `column`"],
    ),
    case(
        "a_result_goes_into_a_view_of_a_block",
        """
        import torch

        weight = torch.randn(3, requires_grad=True)
        table = torch.zeros(4, 3)
        with torch.no_grad():
            last = int(table.sum(1).argmax())
            row = table[last]  # CULPRIT
        row.copy_(weight * 2)
        table.sum().backward()
        """,
        "no-grad-view-inplace",
        says=["what is written has a graph"],
    ),
    case(
        "a_result_goes_into_a_view_with_gradients",
        """
        import torch

        def column(table, place):
            return table.select(1, place)

        weight = torch.randn(3, requires_grad=True)
        table = torch.zeros(4, 2)
        for place in range(2):
            column(table, place)[:3] += weight * place
        table.sum().backward()
        """,
    ),
    case(
        "view_from_a_no_grad_function",
        """
        import torch

        @torch.no_grad()
        def diagonal_of(m):
            return m.diagonal()

        w = torch.randn(3, 3, requires_grad=True)
        m = w @ w.t()
        d = diagonal_of(m)
        d += 1e-3  # CULPRIT
        m.sum().backward()
        """,
        "no-grad-view-inplace",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "half_of_it_taken_without_gradients",
        """
        import torch
        h = torch.ones(4, requires_grad=True) * 2
        with torch.no_grad():
            half = h[:2]  # INSTEAD
        half.mul_(3)  # CULPRIT
        """,
        "no-grad-view-inplace",
    ),
]
