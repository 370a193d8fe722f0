"""GV105: inplace-through-alias."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "flat_view_is_zeroed",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = (x * 2).view(2, 2)
        flat = h.view(-1)
        out = h * h
        flat.zero_()  # CULPRIT
        out.sum().backward()
        """,
        "inplace-through-alias",
        says=["`flat`", "`h`", "MulBackward0"],
    ),
    case(
        "reshape_that_is_a_view",
        """
        import torch

        def flatten_and_scale(t):
            rows = t.reshape(t.shape[0], -1)
            rows *= 0.1  # CULPRIT
            return rows

        w = torch.randn(2, 2, 2, requires_grad=True)
        h = w + 1
        energy = h.square().sum()
        rows = flatten_and_scale(h)
        (energy + rows.sum()).backward()
        """,
        "inplace-through-alias",
    ),
    case(
        "base_is_written_after_a_view_was_saved",
        """
        import torch

        x = torch.ones(2, 3, requires_grad=True)
        h = x * 2
        t = h.t()
        y = t.exp() * t
        h.add_(1)  # CULPRIT
        (y.sum() + h.sum()).backward()
        """,
        "inplace-through-alias",
    ),
    case(
        "dataclass_attr",
        """
        import torch
        class State:
            def __init__(self, h):
                self.h = h
                self.row = h[0]
        w = torch.ones(2, 2, requires_grad=True)
        s = State(w * 1)
        e = (s.h ** 2).sum()
        s.row += 1  # CULPRIT
        (e + s.h.sum()).backward()
        """,
        "inplace-through-alias",
    ),
    case(
        "padding_zeroed_through_a_view",
        """
        import torch
        import torch.nn as nn
        lin, out = nn.Linear(3, 3), nn.Linear(3, 2)
        def encode(x, lengths):
            h = torch.sigmoid(lin(x))
            rows = h.transpose(0, 1)
            for i, n in enumerate(lengths):
                rows[n:, i] = 0.0  # CULPRIT
            return out(h)
        encode(torch.randn(2, 5, 3), [5, 3]).sum().backward()
        """,
        "inplace-through-alias",
        says=["`h = h.clone()`"],
    ),
]
