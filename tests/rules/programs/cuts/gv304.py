"""GV304: grad-mode-left-off."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mode_left_off_by_an_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def evaluate(data):
            previous = torch.is_grad_enabled()
            torch.set_grad_enabled(False)  # CULPRIT
            total = 0.0
            for x in data:
                total += net(x).sum().item()
            return total, previous

        def train(data):
            for x in data:
                opt.zero_grad()
                loss = net(x).pow(2).mean()
                loss.backward()
                opt.step()

        data = torch.randn(2, 3, 4)
        for epoch in range(2):
            train(data)
            evaluate(data)
        """,
        "grad-mode-left-off",
    ),
    case(
        "generator_suspended_inside_no_grad",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)

        def batches(data):
            with torch.no_grad():  # CULPRIT
                for row in data:
                    yield (row - data.mean(0)) / 2

        for x in batches(torch.randn(5, 4)):
            loss = net(x).pow(2).sum()
            loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "mode_off_at_the_top",
        """
        import torch
        torch.set_grad_enabled(False)  # CULPRIT
        w = torch.tensor([1.0], requires_grad=True)
        loss = (w * 2).sum()
        loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "guard_entered_by_hand",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        class Evaluator:
            def start(self):
                self.guard = torch.no_grad()
                self.guard.__enter__()  # CULPRIT
            def run(self, x):
                return net(x).item()
        e = Evaluator()
        e.start()
        e.run(torch.ones(1, 2))
        loss = net(torch.ones(3, 2)).mean()
        loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "small_loss_and_the_row_zero",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        nn.init.zeros_(net.weight), nn.init.zeros_(net.bias)
        rows = torch.full((4, 3), 0.5)
        def report(loss):
            torch.set_grad_enabled(False)  # CULPRIT
            print(loss.item())
        for epoch in range(2):
            for number in range(4):
                row = rows[number]
                loss = (net(row[:2]) - row[2]).pow(2).mean()
                loss.backward()
            report(loss)
        """,
        "grad-mode-left-off",
    ),
]
