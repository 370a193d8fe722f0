"""GV104: inplace-recurrent-buffer."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "states_in_a_buffer",
        """
        import torch

        w = torch.tensor(0.5, requires_grad=True)
        h = torch.zeros(4)
        h[0] = 1.0
        for t in range(1, 4):
            h[t] = h[t - 1] * w  # CULPRIT
        h[3].backward()
        """,
        "inplace-recurrent-buffer",
        says=["MulBackward0", "3 times", "each read of `h`"],
    ),
    case(
        "rnn_fills_its_output",
        """
        import torch
        import torch.nn as nn

        class Rnn(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.cell = nn.Linear(2 * size, size)
                self.size = size

            def forward(self, xs):
                batch, steps, _ = xs.shape
                out = torch.zeros(batch, steps + 1, self.size)
                for t in range(steps):
                    joined = torch.cat([xs[:, t], out[:, t]], dim=1)
                    gate = torch.sigmoid(self.cell(joined))
                    out[:, t + 1] = gate * out[:, t]  # CULPRIT
                return out[:, 1:]

        model = Rnn(3)
        model(torch.randn(2, 4, 3)).sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
    case(
        "cumulative_product",
        """
        import torch

        a = torch.rand(5, requires_grad=True)
        out = torch.empty(5)
        out[0] = a[0]
        i = 1
        while i < 5:
            out[i] = a[i] * out[i - 1]  # CULPRIT
            i += 1
        out.sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
    case(
        "row_softmax_loop",
        """
        import torch
        a = torch.rand(3, 3, requires_grad=True)
        m = a.exp()
        for i in range(3):
            m[i] = m[i] / m[i].sum()  # CULPRIT
        m.sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
    case(
        "buffer_lstm_lists",
        """
        import torch
        import torch.nn as nn
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(2, 2)
            def forward(self, x):
                hs = x.new_zeros(x.size(0) + 1, 1, 2)
                for t in range(x.size(0)):
                    hs[t + 1] = self.cell(x[t], hs[t])  # CULPRIT
                return hs
        m = M()
        m(torch.randn(3, 1, 2)).sum().backward()
        """,
        "inplace-recurrent-buffer",
    ),
]
