"""Right: statistics and states that layers keep from step to step."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "statistics_of_a_layer_without_graphs",
        """
        import torch
        from torch import nn

        class Whiten(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.mean = torch.zeros(width)
                self.gain = nn.Parameter(torch.ones(width))

            def forward(self, h):
                centre = h.mean(0)
                self.mean = 0.9 * self.mean + 0.1 * centre.detach()
                return (h - centre) * self.gain

        parts = nn.ModuleList([nn.Linear(3, 4), Whiten(4), nn.Tanh()])
        optimizer = torch.optim.SGD(parts.parameters(), 0.1)
        for _ in range(6):
            h = torch.randn(5, 3)
            for part in parts:
                h = part(h)
            optimizer.zero_grad()
            h.pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "voltage_of_a_layer_that_each_sequence_clears",
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
                self.volt = 0.8 * self.volt + self.drive(x)
                over = torch.sigmoid(self.volt)
                self.volt = self.volt * (1 - over)
                return over

        cell, readout = Integrator(), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *readout.parameters()], 0.1)
        for epoch in range(3):
            cell.clear(1)
            frames = torch.randn(5, 1, 3)
            loss = sum(readout(cell(frame)).pow(2).mean() for frame in frames)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "states_written_into_views_of_a_buffer_that_the_loss_reads",
        """
        import torch
        log_rate = torch.zeros(3, 3, requires_grad=True)
        opt = torch.optim.SGD([log_rate], lr=0.01)

        def simulate(start, turns=10):
            states = torch.zeros(4, turns, 3)
            states.select(1, 0).copy_(start)
            for t in range(1, turns):
                before = states.select(1, t - 1).clone()
                states.select(1, t).copy_(before @ torch.softmax(log_rate, 0))
            return states

        with torch.no_grad():
            wanted = simulate(torch.ones(4, 3))[..., 0] + 0.1
        for _ in range(3):
            opt.zero_grad()
            (simulate(torch.ones(4, 3))[..., 0] - wanted).square().mean().backward()
            opt.step()
        """,
    ),
]
