"""GV613: dropout-active-in-eval."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "dropout_in_an_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def evaluate(x):
            with torch.no_grad():
                return net(x).mean().item()  # CULPRIT

        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        evaluate(torch.randn(5, 4))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "functional_dropout_ignores_eval",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                x = F.relu(self.a(x))
                x = F.dropout(x, p=0.3)  # CULPRIT
                return self.b(x)

        net = Net()
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))
        """,
        "dropout-active-in-eval",
        says=["`Net`"],
    ),
    case(
        "eval_uncalled",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            net.train()
            loss = net(torch.randn(8, 4)).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval  # CULPRIT
            with torch.no_grad():
                print(net(torch.randn(8, 4)).argmax(1))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "layer_made_in_forward",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

            def forward(self, x):
                h = torch.relu(self.first(x))
                h = nn.Dropout(p=0.5)(h)  # CULPRIT
                return self.last(h)

        net = Net()
        opt = torch.optim.Adam(net.parameters())
        for _ in range(2):
            net.train()
            loss = net(torch.randn(8, 4)).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                print(net(torch.randn(8, 4)).argmax(1))
        """,
        "dropout-active-in-eval",
        says=["eval() does not reach it", "`self.… = nn.Dropout(p=0.5)`"],
    ),
]
