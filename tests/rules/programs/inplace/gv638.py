"""GV638: rows-lost-in-a-swap."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "rows_put_back_into_what_is_read",
        """
        import torch

        torch.manual_seed(0)
        net, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])

        def unsort(states, order):
            out = states  # CULPRIT
            for row, original in enumerate(order.tolist()):
                out[original] = states[row]
            return out

        for _ in range(4):
            x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
            order = torch.tensor([3, 0, 5, 1, 2, 4])
            states = unsort(net(x[order]).tanh() + 0, order)
            loss = torch.nn.functional.cross_entropy(head(states), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "rows-lost-in-a-swap",
        related=["written over here"],
    ),
    case(
        "shuffle_by_two_rows_that_change_places",
        """
        import torch
        from torch import nn
        x, net = torch.randn(6, 3), nn.Linear(3, 1)
        for i in range(5, 0, -1):
            j = i // 2
            x[i], x[j] = x[j], x[i]  # CULPRIT
        net(x).sum().backward()
        """,
        "rows-lost-in-a-swap",
    ),
    case(
        "shuffle_by_two_rows_at_once",
        """
        import torch
        from torch import nn
        x, net = torch.randn(6, 3), nn.Linear(3, 1)
        for i in range(5, 0, -1):
            j = i // 2
            x[[i, j]] = x[[j, i]]
            x[i], x[j] = x[j].clone(), x[i].clone()
        net(x).sum().backward()
        """,
    ),
]
