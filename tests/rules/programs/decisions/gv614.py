"""GV614: train() in front of the loop."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "trained_once_before_the_loop",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(
                    nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5),
                    nn.Linear(16, 2),
                )
            def forward(self, x):
                return self.net(x)
        def evaluate(model, x, y):
            model.eval()
            with torch.no_grad():
                return (model(x).argmax(1) == y).float().mean().item()
        def fit(model, x, y, epochs=4):
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            model.train()  # CULPRIT
            for epoch in range(epochs):
                for xb, yb in zip(x.split(16), y.split(16)):
                    loss = F.cross_entropy(model(xb), yb)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                print(evaluate(model, x, y))
        x = torch.randn(64, 4)
        fit(Net(), x, (x[:, 0] > 0).long())
        """,
        "eval-mode-left-on",
        says=["runs once"],
    ),
    case(
        "evaluated_in_the_middle_of_an_epoch",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
                self.seen = 0
            def validate(self, x):
                self.model.eval()
                with torch.no_grad():
                    return self.model(x).mean().item()
            def epoch(self, x, y):
                self.model.train()
                losses = []
                for xb, yb in zip(x.split(8), y.split(8)):
                    loss = F.cross_entropy(self.model(xb), yb)
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                    losses.append(loss.item())
                    self.seen += 1
                    if self.seen % 3 == 0:
                        self.validate(x)  # CULPRIT
                return losses
        x = torch.randn(64, 4)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        trainer = Trainer(net)
        for epoch in range(3):
            trainer.epoch(x, (x[:, 0] > 0).long())
        """,
        "eval-mode-left-on",
        says=["leaves", "self.model.train()"],
    ),
]
