"""GV629: a loss that an option of the command line chose."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "an_option_chose_the_loss",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        import argparse
        def get_loss(name):
            if name == "ce":
                return nn.CrossEntropyLoss()
            if name == "nll":
                return nn.NLLLoss()
            raise KeyError(name)
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float, default=0.01)
        parser.add_argument("--loss", default="nll", choices=["ce", "nll"])  # CULPRIT
        args = parser.parse_args([])
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        criterion = get_loss(args.loss)
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "not-log-probabilities",
        says=["chose it"],
    ),
]
