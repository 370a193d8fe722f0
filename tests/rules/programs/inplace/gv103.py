"""GV103: inplace-disjoint-slice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "other_row",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x.clone()
        s = a[1].sin()
        a[0] = s  # CULPRIT
        a.sum().backward()
        """,
        "inplace-disjoint-slice",
        says=["SinBackward0", "do not overlap", "version counter"],
    ),
    case(
        "half_of_the_channels",
        """
        import torch

        def couple(h, w):
            left, right = h[:, :2], h[:, 2:]
            s = torch.sin(left * w)
            h[:, 2:] = right + s  # CULPRIT
            return h

        w = torch.ones(2, requires_grad=True)
        h = torch.randn(3, 4) + w.sum()
        couple(h, w).sum().backward()
        """,
        "inplace-disjoint-slice",
    ),
    case(
        "fill_rows_by_method",
        """
        import torch

        h = torch.ones(2, 3, requires_grad=True) * 2
        top = h.select(0, 0)
        bottom = h.select(0, 1)
        y = top.exp().sum() + top.square().sum()
        bottom.zero_()  # CULPRIT
        (y + h.sum()).backward()
        """,
        "inplace-disjoint-slice",
    ),
]
