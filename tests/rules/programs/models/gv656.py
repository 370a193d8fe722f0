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
    case(
        "samples_that_a_mask_of_the_targets_picks",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        cell, head = nn.RNNCell(3, 8), nn.Linear(8, 1)
        opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
        data = [(torch.randn(5, 7, 3), torch.randn(5, 7)) for _ in range(3)]

        def predict(x):
            state, out = torch.zeros(x.shape[0], 8), []
            for step in x.unbind(1):
                state = cell(step, state)
                out.append(head(state).squeeze(1))
            return torch.stack(out)

        for x, y in data:
            counts = (y.abs() < 2).reshape(-1)
            guess = predict(x).reshape(-1)  # CULPRIT
            opt.zero_grad()
            (guess[counts] - y.reshape(-1)[counts]).abs().mean().backward()
            opt.step()
        """,
        "axes-crossed",
        says=["7 and 5", "flattened"],
    ),
    case(
        "samples_of_one_order_that_a_mask_picks",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        cell, head = nn.RNNCell(3, 8), nn.Linear(8, 1)
        opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
        data = [(torch.randn(5, 7, 3), torch.randn(5, 7)) for _ in range(3)]

        def predict(x):
            state, out = torch.zeros(x.shape[0], 8), []
            for step in x.unbind(1):
                state = cell(step, state)
                out.append(head(state).squeeze(1))
            return torch.stack(out, dim=1)

        for x, y in data:
            counts = (y.abs() < 2).reshape(-1)
            guess = predict(x).reshape(-1)
            opt.zero_grad()
            (guess[counts] - y.reshape(-1)[counts]).abs().mean().backward()
            opt.step()
        """,
    ),
    case(
        "views_that_only_look_turned",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(2, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            points = torch.randn(12)
            pairs, rows = points.view(6, 2), points.abs().view(2, 6)
            opt.zero_grad()
            (net(pairs).reshape(-1) - rows.reshape(-1)).square().mean().backward()
            opt.step()
        """,
    ),
]
