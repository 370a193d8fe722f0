"""GV101: inplace-saved-output."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "lstm_manual_states",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.x2h = nn.Linear(n, 4 * n)
                self.h2h = nn.Linear(n, 4 * n)
            def forward(self, x, state):
                h, c = state
                gates = self.x2h(x) + self.h2h(h)
                i, f, o, g = torch.chunk(gates, 4, dim=1)
                i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
                g = torch.tanh(g)
                new = f * c + i * g
                h = torch.tanh(new)
                h *= o  # CULPRIT
                return h, (h, new)
        cell = Cell(2)
        state = (torch.zeros(1, 2), torch.zeros(1, 2))
        for t in range(2):
            out, state = cell(torch.ones(1, 2), state)
        out.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "batchnorm_by_hand",
        """
        import torch
        def bn(x, eps=1e-5):
            mean = x.mean(0)
            std = x.var(0).sqrt()
            std += eps  # CULPRIT
            return (x - mean) / std
        w = torch.randn(3, 2, requires_grad=True)
        bn(torch.randn(5, 3) @ w).pow(2).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "softmax_by_hand",
        """
        import torch
        def softmax(x):
            e = torch.exp(x - x.max(dim=1, keepdim=True).values)
            e /= e.sum(dim=1, keepdim=True)  # CULPRIT
            return e
        w = torch.randn(3, 2, requires_grad=True)
        softmax(torch.randn(5, 3) @ w).log().mean().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "scatter",
        """
        import torch
        x = torch.randn(3, 4, requires_grad=True)
        p = x.softmax(1)
        idx = torch.zeros(3, 1, dtype=torch.long)
        p.scatter_(1, idx, 0.0)  # CULPRIT
        p.log1p().sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "relu6_functional_underscore",
        """
        import torch
        x = torch.randn(3, 4, requires_grad=True)
        p = torch.sqrt(x.abs() + 1)
        torch.relu_(p)
        q = p.sum()
        torch.clamp_(p, 0, 1)  # CULPRIT
        q.backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "exp_then_add",
        """
        import torch

        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x.exp()
        y += 1  # CULPRIT
        y.sum().backward()
        """,
        "inplace-saved-output",
        says=["`y = x.exp()` (line 4)", "ExpBackward0", "its result `y`", "version 1"],
        related=["saved here"],
    ),
    case(
        "relu_inplace_after_sigmoid",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                gate = torch.sigmoid(self.lin(x))
                out = F.relu(gate, inplace=True)  # CULPRIT
                return out * x

        model = Gate()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            loss = model(torch.ones(2, 3)).mean()
            loss.backward()
            opt.step()
        """,
        "inplace-saved-output",
        says=["SigmoidBackward0", "gate"],
    ),
    case(
        "dropout_inplace_after_tanh",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(
            nn.Linear(4, 4),
            nn.Tanh(),
            nn.Dropout(0.5, inplace=True),  # CULPRIT
            nn.Linear(4, 1),
        )
        x = torch.randn(8, 4)
        loss = net(x).sum()
        loss.backward()
        """,
        "inplace-saved-output",
        says=["TanhBackward0"],
    ),
    case(
        "mask_of_softmax",
        """
        import torch

        def attend(scores, mask):
            weights = torch.softmax(scores, dim=-1)
            weights[mask] = 0.0  # CULPRIT
            return weights

        scores = torch.randn(2, 4, requires_grad=True)
        mask = torch.tensor([[False, True, False, True]] * 2)
        values = torch.randn(4, 3)
        out = attend(scores, mask) @ values
        out.sum().backward()
        """,
        "inplace-saved-output",
        says=["SoftmaxBackward0", "`weights`"],
    ),
    case(
        "clamp_of_sqrt_in_place",
        """
        import torch

        w = torch.tensor([4.0, 9.0], requires_grad=True)
        shift = torch.zeros(2)
        shift += 1
        root = torch.sqrt(w + shift)
        root.clamp_(max=2.5)  # CULPRIT
        (root * 2).sum().backward()
        """,
        "inplace-saved-output",
        says=["SqrtBackward0"],
    ),
    case(
        "second_of_two_writes_is_harmless",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        a = x * 2
        a.add_(1)
        b = a.tanh()
        c = b + 1
        b.mul_(0.5)  # CULPRIT
        c.mul_(3)
        (b + c).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "out_keyword",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        y = torch.exp(x)
        with torch.no_grad():
            torch.add(y, 1.0, out=y)  # CULPRIT
        y.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "seq_sigmoid_relu",
        """
        import torch
        import torch.nn as nn
        act = nn.ReLU(inplace=True)  # CULPRIT
        net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), act, nn.Linear(3, 1))
        out = net(torch.ones(4, 2))
        out.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "method_chain",
        """
        import torch
        import torch.nn.functional as F
        def act(x):
            return torch.sigmoid(x).mul_(2).sub_(1)  # CULPRIT
        w = torch.ones(2, requires_grad=True)
        act(w * 3).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "index_add",
        """
        import torch
        w = torch.ones(4, requires_grad=True)
        h = w.tanh()
        h.index_add_(0, torch.tensor([0, 1]), torch.ones(2))  # CULPRIT
        h.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "inside_lambda",
        """
        import torch
        f = lambda t: t.exp().add_(1)  # CULPRIT
        w = torch.ones(2, requires_grad=True)
        f(w).sum().backward()
        """,
        "inplace-saved-output",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "layer_that_writes_what_tanh_saved",
        """
        import torch
        import torch.nn as nn
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.relu = nn.ReLU(inplace=True)  # CULPRIT
            def forward(self, x):
                g = torch.tanh(self.fc(x))
                return self.relu(g)  # INSTEAD
        Gate()(torch.randn(2, 3)).sum().backward()
        """,
        "inplace-saved-output",
    ),
]
