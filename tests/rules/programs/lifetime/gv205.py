"""GV205: retain-graph-hides-growth."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        "retained_list_of_states",
        """
        import torch
        w = torch.tensor(0.9, requires_grad=True)
        states = [torch.tensor(1.0)]
        for step in range(4):
            states.append(states[-1] * w)  # CULPRIT
            loss = (states[-1] - 1) ** 2
            loss.backward(retain_graph=True)
        """,
        "retain-graph-hides-growth",
        says=["Detach it where one iteration ends"],
    ),
    case(
        "retained_average_that_an_attribute_keeps",
        """
        import torch
        from torch import nn
        class Smooth(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.tensor(0.5))
                self.last = torch.zeros(3)
            def forward(self, x):
                mixed = 0.9 * self.last + 0.1 * self.scale * x
                self.last = mixed  # CULPRIT
                return mixed.sum()
        model = Smooth()
        for step in range(5):
            loss = (model(torch.ones(3)) - 1) ** 2
            loss.backward(retain_graph=True)
            model.scale.grad = None
        """,
        "retain-graph-hides-growth",
        says=["Keep `mixed.detach()` in line 10"],
    ),
]
