"""Programs with loops: what is carried from turn to turn, or built before them."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- carried from turn to turn ---------------------------------------------------
    case(
        "lstm_state",
        """
        import torch
        import torch.nn as nn
        lstm, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)
        parameters = [*lstm.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        state = None
        for batch in range(2):
            x = torch.randn(2, 4, 3)
            out, state = lstm(x, state)  # CULPRIT
            loss = head(out[:, -1]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "hidden-state-not-detached",
        says=["`state`"],
        related=["used in the next turn"],
    ),
    case(
        "state_in_the_module",
        """
        import torch
        import torch.nn as nn
        class Memory(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.mix = nn.Linear(2 * size, size)
                self.h = torch.zeros(1, size)
            def forward(self, x):
                both = torch.cat([x, self.h], dim=1)
                self.h = torch.tanh(self.mix(both))  # CULPRIT
                return self.h
        model = Memory(4)
        optimizer = torch.optim.Adam(model.parameters())
        def train():
            for step in range(3):
                out = model(torch.randn(1, 4))
                loss = (out - 1).pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        train()
        """,
        "hidden-state-not-detached",
        says=["`self.h`"],
    ),
    case(
        "own_cell_in_a_function",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.x2h, self.h2h = nn.Linear(3, 4), nn.Linear(4, 4)
            def forward(self, x, h):
                return torch.tanh(self.x2h(x) + self.h2h(h))
        def train(cell, batches):
            hidden = torch.zeros(1, 4)
            for x in batches:
                hidden = cell(x, hidden)  # CULPRIT
                loss = hidden.pow(2).sum()
                loss.backward()
        train(Cell(), torch.randn(3, 1, 3))
        """,
        "hidden-state-not-detached",
        says=["`hidden`"],
    ),
    case(
        "chunks_of_a_sequence",
        """
        import torch
        import torch.nn as nn
        cell, head = nn.GRUCell(2, 3), nn.Linear(3, 1)
        series = torch.randn(8, 1, 2)
        h = torch.zeros(1, 3)
        for start in range(0, 8, 4):
            loss = 0.0
            for t in range(start, start + 4):
                h = cell(series[t], h)  # CULPRIT
                loss = loss + head(h).pow(2).sum()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
    case(
        "running_average_in_the_loss",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        average = torch.zeros(1)
        for step in range(3):
            out = net(torch.ones(4, 2)).pow(2).mean(0)
            average = 0.9 * average + 0.1 * out  # CULPRIT
            (average - 1).pow(2).sum().backward()
        """,
        "hidden-state-not-detached",
        says=["`average`"],
    ),
    # ---- built before the loop -------------------------------------------------------
    case(
        "scale_before_the_loop",
        """
        import torch
        weight = torch.randn(3, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        scale = weight.exp()  # CULPRIT
        for step in range(3):
            x = torch.randn(3)
            loss = (scale * x).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=["`scale`"],
        related=["ran once more"],
    ),
    case(
        "forward_before_the_epochs",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.fc2 = nn.Linear(3, 4), nn.Linear(4, 1)
            def forward(self, x):
                x = torch.relu(self.fc1(x))
                x = self.fc2(x)
                return x
        net = Net()
        x, y = torch.randn(6, 3), torch.randn(6, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        prediction = net(x)  # CULPRIT
        for epoch in range(4):
            loss = nn.functional.mse_loss(prediction, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=["`prediction`"],
    ),
    case(
        "loss_before_the_loop",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        loss = (w ** 2).sum()  # CULPRIT
        for step in range(2):
            loss.backward()
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
        """,
        "graph-built-outside-loop",
    ),
    case(
        "normalised_in_init",
        """
        import torch
        import torch.nn as nn
        class Cosine(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 4))
                self.direction = self.weight / self.weight.norm()  # CULPRIT
            def forward(self, x):
                return x @ self.direction.t()
        model = Cosine()
        for step in range(2):
            model(torch.randn(5, 4)).sum().backward()
        """,
        "graph-built-outside-loop",
        says=["`self.direction`"],
    ),
    # ---- retained and growing --------------------------------------------------------
    case(
        "retained_rnn",
        """
        import torch
        import torch.nn as nn
        rnn = nn.RNN(2, 3)
        hidden = torch.zeros(1, 1, 3)
        for step in range(4):
            out, hidden = rnn(torch.randn(5, 1, 2), hidden)  # CULPRIT
            loss = out.pow(2).mean()
            loss.backward(retain_graph=True)
        """,
        "retain-graph-hides-growth",
        says=["`hidden`"],
        related=["retained here"],
    ),
    case(
        "retained_in_a_module",
        """
        import torch
        import torch.nn as nn
        class Trace(nn.Module):
            def __init__(self):
                super().__init__()
                self.decay = nn.Parameter(torch.tensor(0.5))
                self.trace = torch.zeros(3)
            def forward(self, x):
                self.trace = self.decay * self.trace + x  # CULPRIT
                return self.trace.sum()
        model = Trace()
        for step in range(5):
            loss = (model(torch.ones(3)) - 1) ** 2
            loss.backward(retain_graph=True)
            model.decay.grad = None
        """,
        "retain-graph-hides-growth",
        says=["`self.trace`"],
    ),
    case(
        "memory_of_a_module_keeps_graphs",
        """
        import torch
        from torch import nn
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.write, self.slots = nn.Linear(4, 4), []
            def forward(self, x):
                m = torch.tanh(self.write(x)).mean(0)
                self.slots.append(m)  # CULPRIT
                bank = torch.stack(self.slots[-4:])
                return torch.softmax(x @ bank.t(), -1) @ bank
        net = Memory()
        for _ in range(3):
            x = torch.randn(5, 4)
            loss = (net(x) - x).pow(2).mean()
            loss.backward()
        """,
        "hidden-state-not-detached",
    ),
]

FINE = [
    case(
        "truncated_as_it_should_be",
        """
        import torch
        import torch.nn as nn
        lstm, head = nn.LSTM(3, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(
            [*lstm.parameters(), *head.parameters()], lr=0.1
        )
        state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
        for batch in range(4):
            state = tuple(each.detach() for each in state)
            out, state = lstm(torch.randn(5, 2, 3), state)
            loss = head(out).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "one_pass_over_a_sequence",
        """
        import torch
        cell = torch.nn.RNNCell(2, 3)
        for epoch in range(3):
            h, losses = torch.zeros(1, 3), []
            for x in torch.randn(6, 1, 2):
                h = cell(x, h)
                losses.append(h.pow(2).mean())
            torch.stack(losses).sum().backward()
        """,
    ),
    case(
        "linear_trunk_saves_nothing",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        doubled = w + w
        for step in range(3):
            (doubled + 1).sum().backward()
        """,
    ),
    case(
        "inner_loop_of_maml",
        """
        import torch
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for task in range(3):
            fast = w
            for k in range(3):
                inner = (fast ** 2).sum()
                (g,) = torch.autograd.grad(inner, fast, create_graph=True)
                fast = fast - 0.1 * g
            optimizer.zero_grad()
            ((fast - 1) ** 2).sum().backward()
            optimizer.step()
        """,
    ),
]
