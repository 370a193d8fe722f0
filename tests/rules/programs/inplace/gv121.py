"""GV121: reshape-silently-copies."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "write_to_a_reshaped_transpose",
        """
        import torch

        x = torch.zeros(2, 3).t()
        flat = x.reshape(6)  # CULPRIT
        flat[0] = 1.0
        print("changed:", bool((x == 1.0).any()))
        """,
        "reshape-silently-copies",
        says=["strides [1, 3]", "copy"],
        related=["written here"],
    ),
    case(
        "zeroing_through_flatten",
        """
        import torch

        def clear(t):
            t.flatten().zero_()  # CULPRIT

        a = torch.ones(2, 2)
        clear(a.transpose(0, 1))
        b = torch.ones(3, 2)
        clear(b)
        print(a.sum(), b.sum())
        """,
        "reshape-silently-copies",
    ),
    case(
        "reshape_of_a_slice_of_columns",
        """
        import torch

        w = torch.ones(3, 4, requires_grad=True)
        h = w * 2
        part = h[:, :2].reshape(-1)  # CULPRIT
        part.mul_(0)
        h.sum().backward()
        print(w.grad)
        """,
        "reshape-silently-copies",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "border_of_a_copy",
        """
        import torch
        grid = torch.zeros(3, 4)
        columns = grid.t().reshape(12)  # CULPRIT
        columns[0:3] = 1.0  # INSTEAD
        print(grid)
        """,
        "reshape-silently-copies",
    ),
]
