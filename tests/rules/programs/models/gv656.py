"""GV656: axes-crossed."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "flattened_in_opposite_orders",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        emb, rnn, head = nn.Embedding(12, 6), nn.GRU(6, 8), nn.Linear(8, 12)
        opt = torch.optim.Adam(
            [*emb.parameters(), *rnn.parameters(), *head.parameters()]
        )
        data = torch.randint(0, 12, (30, 9))
        for _ in range(3):
            batch = data[torch.randint(0, 30, (6,))]
            x, y = batch[:, :-1].t(), batch[:, 1:]
            o, _ = rnn(emb(x))
            logits = head(o).view(-1, 12)
            loss = F.cross_entropy(logits, y.reshape(-1))  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "axes-crossed",
        says=["flattened"],
    ),
    case(
        "square_batch_of_steps",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        rnn, head = nn.GRU(2, 8), nn.Linear(8, 1)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        X, Y = torch.randn(20, 6, 2), torch.randn(20, 6)
        for _ in range(3):
            idx = torch.randperm(20)[:6]
            o, _ = rnn(X[idx].transpose(0, 1))
            pred = head(o).squeeze(-1)
            loss = (pred - Y[idx]).pow(2).mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "axes-crossed",
        says=["of one size"],
    ),
]
