"""GV217: loss-accumulation-leak."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "loss_for_the_progress_bar",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0.0
        for step in range(4):
            x = torch.randn(3, 2)
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss  # CULPRIT
        print("mean loss", total / 4)
        """,
        "loss-accumulation-leak",
        says=["`total`"],
    ),
    case(
        "epoch_loss_in_a_function",
        """
        import torch
        import torch.nn as nn
        def train(net, optimizer, batches):
            running = 0
            for x, y in batches:
                loss = nn.functional.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                running = running + loss * len(x)  # CULPRIT
            return running.item() / len(batches)
        net = nn.Linear(2, 1)
        batches = [(torch.randn(3, 2), torch.randn(3, 1)) for _ in range(3)]
        for epoch in range(2):
            print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), batches))
        """,
        "loss-accumulation-leak",
        says=["`running`"],
    ),
    case(
        "average_meter",
        """
        import torch
        class AverageMeter:
            def __init__(self):
                self.sum, self.count = 0.0, 0
            def update(self, value, n=1):
                self.sum += value * n  # CULPRIT
                self.count += n
        net = torch.nn.Linear(2, 1)
        meter = AverageMeter()
        for step in range(3):
            loss = net(torch.ones(4, 2)).pow(2).mean()
            net.zero_grad()
            loss.backward()
            meter.update(loss, 4)
        """,
        "loss-accumulation-leak",
        says=["`self.sum`"],
    ),
    case(
        "dict_of_metrics",
        """
        import torch
        from collections import defaultdict
        w = torch.randn(3, requires_grad=True)
        metrics = defaultdict(float)
        for step in range(3):
            data = (w - 1).pow(2).sum()
            prior = w.abs().sum()
            (data + prior).backward()
            w.grad = None
            metrics["data"] += data.item()
            metrics["prior"] += prior  # CULPRIT
        """,
        "loss-accumulation-leak",
    ),
    case(
        "smoothed_loss",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        smooth = torch.zeros(())
        for step in range(3):
            loss = net(torch.ones(4, 2)).pow(2).mean()
            loss.backward()
            smooth = 0.9 * smooth + 0.1 * loss  # CULPRIT
        """,
        "loss-accumulation-leak",
    ),
    case(
        "validation_sum",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        net.train()
        net(torch.ones(4, 2)).pow(2).mean().backward()
        net.eval()
        val_loss = 0
        for batch in range(3):
            out = net(torch.randn(4, 2))
            val_loss += nn.functional.mse_loss(out, torch.zeros(4, 1))  # CULPRIT
        print(val_loss.item())
        """,
        "loss-accumulation-leak",
    ),
    case(
        "running_mean_of_a_layer",
        """
        import torch
        import torch.nn as nn
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)
                self.mean = torch.zeros(2)
            def forward(self, x):
                h = self.fc(x)
                self.mean = 0.9 * self.mean + 0.1 * h.mean(0)  # CULPRIT
                return h - h.mean(0)
        net = Norm()
        for step in range(3):
            net(torch.randn(4, 2)).pow(2).mean().backward()
            net.zero_grad()
        """,
        "loss-accumulation-leak",
    ),
    case(
        "validation_in_training_mode",
        """
        import torch
        import torch.nn as nn
        net, criterion = nn.Linear(2, 1), nn.MSELoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        def validate(batches):
            total = 0
            for x in batches:
                total += criterion(net(x), torch.ones(2, 1))  # CULPRIT
            return total / len(batches)
        for epoch in range(2):
            optimizer.zero_grad()
            criterion(net(torch.ones(2, 2)), torch.ones(2, 1)).backward()
            optimizer.step()
            print(validate(torch.randn(3, 2, 2)))
        """,
        "loss-accumulation-leak",
    ),
    case(
        "loss_of_what_the_model_returns",
        """
        import torch
        from types import SimpleNamespace
        class Model(torch.nn.Linear):
            def forward(self, x):
                return SimpleNamespace(loss=super().forward(x).pow(2).mean())
        net = Model(2, 1)
        total = 0.0
        for step in range(3):
            out = net(torch.randn(3, 2))
            out.loss.backward()
            total = total + out.loss  # CULPRIT
        print(float(total))
        """,
        "loss-accumulation-leak",
        says=["`total`", "`out.loss.item()`"],
    ),
    case(
        "added_into_a_tensor",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for step in range(3):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss  # CULPRIT
        print("a graph hangs on it:", total.grad_fn is not None)
        """,
        "loss-accumulation-leak",
    ),
    case(
        "sum_that_nobody_needs",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        total = 0
        for step in range(3):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            total = total + loss  # CULPRIT
        print("a graph hangs on it:", total.grad_fn is not None)
        """,
        "loss-accumulation-leak",
    ),
    case(
        "added_before_the_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total_loss = 0.0
        for step in range(3):
            opt.zero_grad()
            loss = net(torch.ones(3, 2)).pow(2).mean()
            total_loss += loss  # CULPRIT
            loss.backward()
            opt.step()
        avg = total_loss / 3
        """,
        "loss-accumulation-leak",
    ),
    case(
        "average_of_each_weight_keeps_graphs",
        script("""
average = {name: p.detach().clone() for name, p in net.named_parameters()}
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    for name, p in net.named_parameters():
        average[name] = 0.9 * average[name] + 0.1 * p  # CULPRIT
"""),
        "loss-accumulation-leak",
    ),
    case(
        "terms_of_layers_that_are_evaluated_one_after_another",
        """
        import torch
        from torch import nn
        layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3)).eval()

        def log_prob(x):
            total = x.new_zeros(len(x))
            for layer in layers:
                x = layer(x)
                total = total + x.sum(1)
            return total

        x = torch.randn(4, 2, requires_grad=True)
        log_prob(x).sum().backward()
        for _ in range(2):
            print(float(log_prob(x).sum()))
        """,
    ),
    case(
        "state_of_a_stream_after_training",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.head = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 2)
            def forward(self, x, state=None):
                out, state = self.rnn(x, state)
                return self.head(out), state
        def train(net):
            optimizer, state = torch.optim.SGD(net.parameters(), 0.1), None
            for step in range(3):
                out, state = net(torch.randn(3, 5, 2), state)
                optimizer.zero_grad()
                out.pow(2).mean().backward()
                optimizer.step()
                state = tuple(each.detach() for each in state)
            return state
        def score(net, state):
            net.eval()
            for chunk in range(12):
                x = torch.randn(3, 5, 2)
                out, state = net(x, state)  # CULPRIT
                scores = (out - x).pow(2).mean(dim=(1, 2)).tolist()
            return scores
        net = Net()
        print(score(net, train(net)))
        """,
        "loss-accumulation-leak",
        says=["`state` is carried through the loop"],
        engines=("torch",),  # the other tells of an LSTM in several calls
    ),
    case(
        "state_of_an_agent_between_updates",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.head = nn.LSTMCell(2, 4), nn.Linear(4, 2)
            def forward(self, x, state):
                h, c = self.cell(x, state)
                return self.head(h), (h, c)
        class Agent:
            def __init__(self):
                self.net = Net()
                self.state = torch.zeros(1, 4), torch.zeros(1, 4)
                self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
            def act(self, x):
                q, self.state = self.net(x, self.state)  # CULPRIT
                return int(q.argmax())
            def learn(self):
                empty = torch.zeros(4, 4), torch.zeros(4, 4)
                q, _ = self.net(torch.randn(4, 2), empty)
                self.optimizer.zero_grad()
                (q - 1).pow(2).mean().backward()
                self.optimizer.step()
        agent = Agent()
        for step in range(6):
            agent.act(torch.randn(1, 2))
            agent.learn()
        """,
        "loss-accumulation-leak",
        says=["`self.state`"],
        engines=("torch",),
    ),
    case(
        "statistics_in_a_dict_of_a_layer_whose_caller_rebinds",
        """
        import torch
        from torch import nn

        class Whiten(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.seen = {"mean": torch.zeros(width)}
                self.gain = nn.Parameter(torch.ones(width))

            def forward(self, h):
                centre = h.mean(0)
                self.seen["mean"] = 0.9 * self.seen["mean"] + 0.1 * centre  # CULPRIT
                return (h - centre) * self.gain

        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Linear(3, 4), Whiten(4), nn.Tanh()])

            def forward(self, h):
                for part in self.parts:
                    h = part(h)
                return h

        net = Stack()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(6):
            loss = net(torch.randn(5, 3)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loss-accumulation-leak",
        says=["`self.seen['mean']`", "`(0.1 * centre).detach()`"],
    ),
    case(
        "scale_kept_in_two_lines_by_a_layer_that_returns_more",
        """
        import torch
        from torch import nn

        class Quantise(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.scale = torch.ones(3)

            def forward(self, z):
                z = self.fc(z)
                new = torch.lerp(self.scale, z.abs().amax(0), 0.1)  # CULPRIT
                self.scale = new
                return torch.tanh(z / new.detach()), new.detach().mean()

        def train(steps):
            blocks = nn.ModuleList([Quantise(), Quantise()])
            optimizer = torch.optim.Adam(blocks.parameters(), 1e-2)
            for _ in range(steps):
                z = torch.randn(8, 3)
                for block in blocks:
                    z, size = block(z)
                optimizer.zero_grad()
                (z - 1).pow(2).mean().backward()
                optimizer.step()

        train(6)
        """,
        "loss-accumulation-leak",
    ),
]
