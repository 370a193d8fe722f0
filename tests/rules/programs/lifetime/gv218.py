"""GV218: eval-without-no-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scores_detached_after_the_loop",
        """
        import torch
        from torch import nn
        def evaluate(model, batches):
            model.eval()
            scores = []
            for x in batches:
                scores.append(model(x))  # CULPRIT
            model.train()
            return sum(each.detach().mean() for each in scores)
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        for epoch in range(2):
            model(torch.randn(4, 5)).pow(2).mean().backward()
            evaluate(model, torch.randn(3, 4, 5))
        """,
        "eval-without-no-grad",
    ),
    case(
        "features_in_a_list",
        """
        import torch
        import torch.nn as nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 2)
            def forward(self, x):
                return torch.tanh(self.fc(x))
        encoder = Encoder()
        encoder.eval()
        features = []
        for batch in range(4):
            z = encoder(torch.randn(5, 3))  # CULPRIT
            features.append(z)
        """,
        "eval-without-no-grad",
        says=["`features`"],
    ),
    case(
        "predictions_concatenated",
        """
        import torch
        import torch.nn as nn
        def predict(net, batches):
            net.eval()
            outputs = []
            for x in batches:
                outputs.append(net(x))  # CULPRIT
            return torch.cat(outputs).argmax(1)
        net = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 2))
        for epoch in range(2):
            net.train()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            labels = predict(net, [torch.randn(4, 3) for _ in range(3)])
        """,
        "eval-without-no-grad",
    ),
    case(
        "validation_losses_in_a_list",
        """
        import torch
        import torch.nn as nn
        net, criterion = nn.Linear(2, 1), nn.MSELoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        history = []
        for epoch in range(3):
            optimizer.zero_grad()
            criterion(net(torch.ones(2, 2)), torch.ones(2, 1)).backward()
            optimizer.step()
            val = criterion(net(torch.zeros(2, 2)), torch.ones(2, 1))  # CULPRIT
            history.append(val)
        """,
        "eval-without-no-grad",
    ),
    case(
        "norms_in_a_list",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        aux = []
        for step in range(3):
            out = net(torch.ones(3, 2))
            loss = out.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            aux.append(net.weight.pow(2).sum())  # CULPRIT
        """,
        "eval-without-no-grad",
    ),
    case(
        "evaluation_in_a_function",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        def evaluate(batches):
            net.eval()
            outs = []
            for b in batches:
                outs.append(net(b))  # CULPRIT
            return outs
        for epoch in range(2):
            net.train()
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
            outs = evaluate([torch.ones(2, 2) for _ in range(3)])
        """,
        "eval-without-no-grad",
    ),
    case(
        "evaluation_losses_summed",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        all_losses = []
        for epoch in range(3):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
            net.eval()
            batches = torch.randn(2, 1, 2)
            all_losses += [net(x).abs().mean() for x in batches]  # CULPRIT
            net.train()
        print(sum(all_losses).item())
        """,
        "eval-without-no-grad",
    ),
    case(
        "features_of_every_step_in_a_list_of_the_function",
        """
        import torch
        from torch import nn
        class Bank:
            def __init__(self):
                self.rows = []
            def add(self, row):
                self.rows.append(row)
        def features(net, x):
            net.eval()
            found = net(x)  # CULPRIT
            net.train()
            return found
        def main():
            net, bank = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), Bank()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(10):
                x = torch.randn(6, 3)
                loss = net(x).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bank.add(features(net, x))
        main()
        """,
        "eval-without-no-grad",
        related=["kept here"],
    ),
    case(
        "metrics_that_need_derivatives_in_a_history",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))
        def residual(x):
            x = x.detach().requires_grad_(True)
            (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            return (slope - x.cos()).pow(2).mean()
        def metrics(x, name):
            return {name: residual(x), name + "_twice": 2 * residual(x)}
        def train(epochs):
            optimizer = torch.optim.SGD(net.parameters(), 0.01)
            history = []
            for epoch in range(epochs):
                found = metrics(torch.rand(8, 1), "train")
                optimizer.zero_grad()
                found["train"].backward()
                optimizer.step()
                found = {key: value.item() for key, value in found.items()}
                found.update(metrics(torch.rand(8, 1), "dev"))
                history.append(dict(found))  # CULPRIT
            return len(history)
        train(10)
        """,
        "eval-without-no-grad",
        says=["derivatives", "`.detach()` of each tensor"],
    ),
    case(
        "a_metric_of_several_terms_in_a_table",
        """
        import torch

        torch.manual_seed(0)

        def run(epochs):
            net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh())
            head = torch.nn.Linear(8, 1)
            both = [*net.parameters(), *head.parameters()]
            optimizer = torch.optim.SGD(both, lr=0.1)
            history = {"dev": []}
            data, dev = torch.randn(16, 3), torch.randn(16, 3)

            def loss_of(x):
                x = x.clone().requires_grad_(True)
                out = head(net(x))
                (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
                off = out - x.sum(1, keepdim=True)
                return off.pow(2).mean() + 0.1 * off.abs().mean() + slope.pow(2).mean()

            for _ in range(epochs):
                for rows in data.split(8):
                    optimizer.zero_grad()
                    loss_of(rows).backward()
                    optimizer.step()
                history["dev"].append(loss_of(dev))  # CULPRIT
            return [each.item() for each in history["dev"]]

        run(16)
        """,
        "eval-without-no-grad",
        says=["They are made of derivatives"],
    ),
    case(
        "one_entry_of_what_a_model_gave_in_a_history",
        """
        import torch
        from torch import nn

        class Elastic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
            def forward(self, x):
                x = x.clone().requires_grad_(True)
                energy = self.net(x)
                (force,) = torch.autograd.grad(energy.sum(), x, create_graph=True)
                error = (force - x.sin()).pow(2).mean()
                return {"total": error + 0.1 * energy.pow(2).mean(), "force": error}

        class Fit:
            def __init__(self):
                self.model, self.curve = Elastic(), []
                self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
            def run(self, epochs):
                data, held_out = torch.rand(16, 1), torch.rand(8, 1)
                for _ in range(epochs):
                    for rows in data.split(8):
                        self.optimizer.zero_grad()
                        self.model(rows)["total"].backward()
                        self.optimizer.step()
                    out = self.model(held_out)
                    self.curve.append(out["total"])  # CULPRIT
                return min(each.item() for each in self.curve)

        Fit().run(120)
        """,
        "eval-without-no-grad",
        says=["They are made of derivatives"],
    ),
    case(
        "scores_in_a_replay_memory_that_losses_weigh_by",
        """
        import random
        import torch
        from torch import nn

        class Memory:
            def __init__(self):
                self.rows = []

            def push(self, state, worth):
                self.rows.append((state, worth))  # CULPRIT

            def draw(self):
                return self.rows[random.randrange(len(self.rows))]

        def train(steps):
            critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
            optimizer = torch.optim.SGD(critic.parameters(), 0.01)
            memory = Memory()
            for _ in range(steps):
                state = torch.randn(3)
                worth = critic(state)
                memory.push(state, worth)
                old, before = memory.draw()
                loss = (critic(old) - 0.9 * before.detach() - 1).pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return len(memory.rows)

        train(12)
        """,
        "eval-without-no-grad",
        says=["the losses use only their values", ".detach()"],
    ),
    case(
        "soft_labels_of_each_round_in_a_table",
        """
        import torch
        import torch.nn.functional as F

        def fit(rounds):
            w1 = torch.randn(4, 6, requires_grad=True)
            w2 = torch.randn(6, 3, requires_grad=True)
            labels = {}
            for turn in range(rounds):
                x = torch.randn(5, 4)
                guess = torch.softmax(torch.tanh(x @ w1) @ w2, dim=1)
                labels[turn] = guess  # CULPRIT
                pick = labels[turn // 2].argmax(1)
                loss = F.cross_entropy(torch.tanh(x @ w1) @ w2, pick)
                loss.backward()
                with torch.no_grad():
                    for w in (w1, w2):
                        w -= 0.1 * w.grad
                        w.grad = None
            return len(labels)

        fit(10)
        """,
        "eval-without-no-grad",
        says=["the losses use only their values"],
    ),
]
