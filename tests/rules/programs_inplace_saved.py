"""Programs that overwrite what a node had saved, each in the way people do it."""

from __future__ import annotations

from tests.rules.harness import Case, case

OUTPUTS: list[Case] = [
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
        says=["ExpBackward0 (line 4, `y = x.exp()`)", "its result `y`", "version 1"],
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
]

INPUTS: list[Case] = [
    case(
        "pow_then_scale",
        """
        import torch

        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        h = x * 3
        sq = h ** 2
        h.mul_(0.5)  # CULPRIT
        loss = (sq + h).sum()
        loss.backward()
        """,
        "inplace-saved-input",
        says=["PowBackward0", "its input `h`", "version 0", "version 1"],
        related=["saved here", "created here"],
    ),
    case(
        "residual_in_block",
        """
        import torch
        import torch.nn as nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.scale = nn.Parameter(torch.ones(4))

            def forward(self, x):
                out = x * self.scale
                x += self.fc(out)  # CULPRIT
                return x

        net = nn.Sequential(nn.Linear(4, 4), Block(), Block())
        net(torch.randn(2, 4)).sum().backward()
        """,
        "inplace-saved-input",
        says=["MulBackward0", "`x += self.fc(out)`"],
    ),
    case(
        "normalising_a_batch_after_use",
        """
        import torch

        def normalise(t):
            t -= t.mean()  # CULPRIT
            t /= 2.0
            return t

        w = torch.randn(3, 3, requires_grad=True)
        h = torch.randn(2, 3) @ w
        energy = h.pow(2).sum()
        n = normalise(h)
        (energy + n.sum()).backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "buffer_updated_between_passes",
        """
        import torch
        import torch.nn as nn

        class Centred(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.register_buffer("scale", torch.ones(2))

            def forward(self, x):
                y = self.lin(x) * self.scale
                self.scale.mul_(0.9)  # CULPRIT
                return y

        model = Centred()
        loss = model(torch.ones(3, 2)).sum()
        loss.backward()
        """,
        "inplace-saved-input",
        says=["MulBackward0"],
    ),
    case(
        "copy_into_the_input_batch",
        """
        import torch

        batch = torch.zeros(4, 2)
        w = torch.randn(2, 1, requires_grad=True)
        losses = []
        for step in range(2):
            batch.copy_(torch.randn(4, 2))  # CULPRIT
            losses.append((batch @ w).mean())
        torch.stack(losses).sum().backward()
        """,
        "inplace-saved-input",
        says=["`batch`"],
    ),
    case(
        "clamp_weights_before_backward",
        """
        import torch

        w = torch.randn(3, requires_grad=True)
        x = torch.ones(3, requires_grad=True)
        score = (w * x).sum()
        with torch.no_grad():
            w.clamp_(-0.01, 0.01)  # CULPRIT
        score.backward()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "saved_grad_is_zeroed",
        """
        import torch

        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 4.0], requires_grad=True)
        (w ** 2).sum().backward()
        g = w.grad
        penalty = (g * v).sum()
        w.grad.zero_()  # CULPRIT
        penalty.backward()
        """,
        "inplace-saved-input",
    ),
]

SLICES: list[Case] = [
    case(
        "other_row",
        """
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x.clone()
        s = a[1].sin()
        a[0] = s  # CULPRIT
        a.sum().backward()
        """,
        "inplace-disjoint-slice",
        says=["SinBackward0", "do not overlap", "version counter"],
    ),
    case(
        "half_of_the_channels",
        """
        import torch

        def couple(h, w):
            left, right = h[:, :2], h[:, 2:]
            s = torch.sin(left * w)
            h[:, 2:] = right + s  # CULPRIT
            return h

        w = torch.ones(2, requires_grad=True)
        h = torch.randn(3, 4) + w.sum()
        couple(h, w).sum().backward()
        """,
        "inplace-disjoint-slice",
    ),
    case(
        "fill_rows_by_method",
        """
        import torch

        h = torch.ones(2, 3, requires_grad=True) * 2
        top = h.select(0, 0)
        bottom = h.select(0, 1)
        y = top.exp().sum() + top.square().sum()
        bottom.zero_()  # CULPRIT
        (y + h.sum()).backward()
        """,
        "inplace-disjoint-slice",
    ),
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
        says=["MulBackward0", "3 times"],
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
]
