"""GV681: frozen-layer-trains."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "train_of_the_model_undoes_eval_of_a_part",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        model = nn.Sequential(body, nn.Linear(8, 1))
        for p in body.parameters():
            p.requires_grad = False
        body.eval()
        optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
        for epoch in range(3):
            model.train()  # CULPRIT
            x = torch.randn(16, 4)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "frozen-layer-trains",
        says=["evaluation mode"],
    ),
]
