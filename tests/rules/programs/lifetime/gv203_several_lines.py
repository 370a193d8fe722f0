"""GV203: hidden-state-not-detached, of a state that several lines bind."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "voltage_of_a_layer_that_another_line_limits",
        """
        import torch
        from torch import nn

        class Integrator(nn.Module):
            def __init__(self):
                super().__init__()
                self.drive = nn.Linear(3, 4)
                self.clear(1)

            def clear(self, rows):
                self.volt = torch.zeros(rows, 4)

            def forward(self, x):
                self.volt = 0.8 * self.volt + self.drive(x)  # CULPRIT
                over = torch.sigmoid(self.volt)
                self.volt = self.volt * (1 - over)
                return over

        cell, readout = Integrator(), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], 0.1)
        for epoch in range(3):
            frames = torch.randn(5, 1, 3)
            loss = sum(readout(cell(frame)).pow(2).mean() for frame in frames)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "hidden-state-not-detached",
        says=["`self.volt` keeps its graph", "Call `clear()` (line 10)"],
    ),
    case(
        "trace_of_an_object_that_is_squashed_behind",
        """
        import torch

        class Trace:
            def __init__(self, size):
                self.kept = {"trace": torch.zeros(size)}

            def __call__(self, w, x):
                self.kept["trace"] = torch.tanh(w @ self.kept["trace"] + x)  # CULPRIT
                self.kept["trace"] = self.kept["trace"] / (1 + self.kept["trace"] ** 2)
                return self.kept["trace"].sum()

        w = torch.randn(3, 3, requires_grad=True)
        trace = Trace(3)
        for _ in range(3):
            loss = trace(w, torch.randn(3)) + trace(w, torch.randn(3))
            loss.backward()
            w.data -= 0.1 * w.grad
            w.grad = None
        """,
        "hidden-state-not-detached",
        says=["before the next iteration uses it"],
    ),
]
