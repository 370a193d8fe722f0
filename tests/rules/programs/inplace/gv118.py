"""GV118: expanded-row-write."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_row_of_an_expanded_state",
        """
        import torch

        init = torch.zeros(1, 2)
        state = init.expand(3, 2)  # CULPRIT
        state[0] = 5.0
        print(state[1])
        """,
        "expanded-row-write",
        says=["`state`", "strides [0, 1]"],
        related=["written here"],
    ),
    case(
        "one_row_in_a_loop",
        """
        import torch

        def scores(start, n):
            table = start.unsqueeze(0).broadcast_to(n, start.shape[0])  # CULPRIT
            for i in range(n):
                row = table[i]
                row.add_(i)
            return table

        scores(torch.zeros(2), 3)
        """,
        "expanded-row-write",
    ),
    case(
        "column_of_a_meshgrid",
        """
        import torch

        a, b = torch.arange(3.0), torch.arange(2.0)
        rows, columns = torch.meshgrid(a, b, indexing="ij")  # CULPRIT
        rows[0, 0] = 7.0
        print(rows + columns)
        """,
        "expanded-row-write",
    ),
    case(
        "expanded_mask_index",
        """
        import torch
        m = torch.zeros(3, dtype=torch.bool).expand(2, 3)  # CULPRIT
        m[1, 2] = True
        print(m[0, 2])
        """,
        "expanded-row-write",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "one_row_for_all",
        """
        import torch
        state = torch.zeros(1, 2).expand(3, 2)  # CULPRIT
        state[0] = 5.0  # INSTEAD
        print(state)
        """,
        "expanded-row-write",
    ),
]
