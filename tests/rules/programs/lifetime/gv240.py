"""GV240: losses-kept-with-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "history_of_losses",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(10, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        history = {"train": [], "epoch": []}

        def batches(n):
            for _ in range(n):
                yield torch.randn(8, 10), torch.randn(8, 1)

        for epoch in range(4):
            running = 0.0
            for x, y in batches(3):
                loss = (model(x) - y).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                history["train"].append(loss)  # CULPRIT
        print("mean", sum(history["train"]).item() / len(history["train"]))
        """,
        "losses-kept-with-graph",
    ),
    case(
        "trainer_keeps_returned_losses",
        """
        import torch
        import torch.nn as nn
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(3, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
                self.losses = []
            def step(self, x):
                self.opt.zero_grad()
                loss = self.net(x).pow(2).mean()
                loss.backward()
                self.opt.step()
                return loss
            def fit(self, n):
                for _ in range(n):
                    self.losses.append(self.step(torch.randn(4, 3)))  # CULPRIT
        t = Trainer()
        t.fit(5)
        print(len(t.losses))
        """,
        "losses-kept-with-graph",
    ),
    case(
        "log_of_dicts",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        log = []
        for step in range(5):
            pred = net(torch.randn(4, 3))
            mse = pred.pow(2).mean()
            reg = net.weight.abs().sum()
            loss = mse + 0.1 * reg
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.append({"step": step, "loss": loss})  # CULPRIT
        """,
        "losses-kept-with-graph",
    ),
    case(
        "series_by_name_in_a_function",
        """
        from collections import defaultdict
        import torch
        from torch import nn
        class History:
            def __init__(self):
                self.series = defaultdict(list)
            def log(self, **numbers):
                for name, value in numbers.items():
                    self.series[name].append(value)  # CULPRIT
            def mean(self, name):
                values = self.series[name]
                return (sum(values) / len(values)).item()
        def main():
            net, history = nn.Linear(3, 1), History()
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(5):
                error = net(torch.randn(4, 3)).pow(2).mean()
                size = net.weight.abs().sum()
                loss = error + 0.1 * size
                opt.zero_grad()
                loss.backward()
                opt.step()
                history.log(loss=loss, error=error)
            print(history.mean("error"))
        main()
        """,
        "losses-kept-with-graph",
    ),
    case(
        "meters_that_are_handed_losses",
        """
        import torch
        from torch import nn
        class Meter:
            def __init__(self):
                self.values = []
            def update(self, value):
                self.values.append(value)  # CULPRIT
            def average(self):
                return torch.stack(self.values).mean()
        def train(net, opt, meter):
            for step in range(4):
                loss = net(torch.randn(4, 3)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                meter.update(loss)
            print(float(meter.average().detach()))
        net = nn.Linear(3, 1)
        train(net, torch.optim.SGD(net.parameters(), 0.1), Meter())
        """,
        "losses-kept-with-graph",
    ),
    case(
        "meter_that_weighs_losses_by_their_batch",
        """
        import torch
        from torch import nn
        class Meter:
            def __init__(self):
                self.values, self.count = [], 0
            def update(self, value, count):
                self.values.append(value * count)  # CULPRIT
                self.count += count
            def mean(self):
                return sum(self.values) / self.count
        net = nn.Linear(6, 3)
        optimizer = torch.optim.Adam(net.parameters())
        def epoch():
            meter = Meter()
            for x, y in zip(torch.randn(6, 5, 6), torch.randint(0, 3, (6, 5))):
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                meter.update(loss, len(x))
            return float(meter.mean())
        print(epoch())
        """,
        "losses-kept-with-graph",
    ),
]
