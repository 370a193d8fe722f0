"""Programs that write leaves and views which autograd does not let them write."""

from __future__ import annotations

from tests.rules.harness import Case, case

LEAVES: list[Case] = [
    case(
        "manual_sgd",
        """
        import torch

        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w ** 2).sum()
        loss.backward()
        w -= 0.1 * w.grad  # CULPRIT
        """,
        "leaf-inplace",
        says=["`w`", "leaf", "grad mode is on"],
    ),
    case(
        "initialising_a_parameter",
        """
        import torch
        import torch.nn as nn

        class Scale(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(n))
                self.reset()

            def reset(self):
                self.weight.fill_(1.0)  # CULPRIT

        Scale(3)
        """,
        "leaf-inplace",
    ),
    case(
        "updating_all_parameters",
        """
        import torch
        import torch.nn as nn

        def train_step(model, x, lr):
            loss = model(x).pow(2).mean()
            loss.backward()
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)  # CULPRIT
                p.grad = None

        train_step(nn.Linear(2, 1), torch.ones(3, 2), 0.1)
        """,
        "leaf-inplace",
    ),
    case(
        "input_that_requires_grad_through_inplace_relu",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1))
        x = torch.randn(3, 2, requires_grad=True)
        net(x).sum().backward()  # CULPRIT
        """,
        "leaf-inplace",
    ),
    case(
        "row_of_a_leaf",
        """
        import torch

        weight = torch.zeros(3, 2, requires_grad=True)
        weight[0] = 1.0  # CULPRIT
        """,
        "leaf-view-inplace",
        says=["`weight", "leaf"],
    ),
    case(
        "slice_of_a_bias",
        """
        import torch
        import torch.nn as nn

        lstm_bias = nn.Linear(4, 8).bias
        n = lstm_bias.size(0)
        forget = lstm_bias[n // 4 : n // 2]
        forget.fill_(1.0)  # CULPRIT
        """,
        "leaf-view-inplace",
        related=["view made here"],
    ),
    case(
        "flat_view_of_a_leaf",
        """
        import torch

        x = torch.randn(2, 2, requires_grad=True)
        y = x * 2
        flat = x.view(-1)
        flat += 1  # CULPRIT
        """,
        "leaf-view-inplace",
    ),
    case(
        "adversarial_noise_clamped",
        """
        import torch

        image = torch.rand(1, 3, requires_grad=True)
        for _ in range(2):
            loss = (image - 0.5).pow(2).sum()
            loss.backward()
            image.data += 0.1 * image.grad.sign()
            image.clamp_(0, 1)  # CULPRIT
        """,
        "leaf-inplace",
    ),
]

VIEWS: list[Case] = [
    case(
        "split_gates",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = x * 2
        a, b = h.split(2)
        a.mul_(3)  # CULPRIT
        (a.sum() + b.sum()).backward()
        """,
        "multi-view-inplace",
        says=["`a.mul_(3)`", "`h`"],
        related=["views made here"],
    ),
    case(
        "chunk_then_iadd",
        """
        import torch
        import torch.nn as nn

        class Glu(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 4)

            def forward(self, x):
                value, gate = self.lin(x).chunk(2, dim=-1)
                gate.sigmoid_()  # CULPRIT
                return value * gate

        Glu()(torch.ones(1, 2)).sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "rows_of_a_loop",
        """
        import torch

        h = torch.ones(3, 2, requires_grad=True) * 1
        for i, row in enumerate(h):
            row += i  # CULPRIT
        h.sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "unbind_boxes",
        """
        import torch

        def shift(boxes, by):
            x0, y0, x1, y1 = boxes.unbind(-1)
            x0.sub_(by)  # CULPRIT
            x1.add_(by)
            return boxes

        deltas = torch.randn(2, 4, requires_grad=True)
        shift(deltas + 1, 0.5).sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "view_under_no_grad",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = x * 2
        with torch.no_grad():
            v = h[:2]
        v.mul_(3)  # CULPRIT
        h.sum().backward()
        """,
        "no-grad-view-inplace",
        says=["`v`", "`h`"],
        related=["view made here"],
    ),
    case(
        "view_from_a_no_grad_function",
        """
        import torch

        @torch.no_grad()
        def diagonal_of(m):
            return m.diagonal()

        w = torch.randn(3, 3, requires_grad=True)
        m = w @ w.t()
        d = diagonal_of(m)
        d += 1e-3  # CULPRIT
        m.sum().backward()
        """,
        "no-grad-view-inplace",
    ),
    case(
        "half_from_a_function",
        """
        import torch

        class FirstHalf(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[:2]  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return torch.cat([g, torch.zeros_like(g)])

        x = torch.ones(4, requires_grad=True)
        y = FirstHalf.apply(x * 1)
        y.mul_(2)
        y.sum().backward()
        """,
        "custom-fn-view-output-inplace",
        says=["FirstHalf", "return x[:2]"],
        related=["written here"],
    ),
    case(
        "gradient_reversal_then_relu",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, alpha):
                ctx.alpha = alpha
                return x.view_as(x)  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return -ctx.alpha * g, None

        class Domain(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                x = Reverse.apply(self.lin(x), 0.5)
                return F.relu(x, inplace=True)

        Domain()(torch.randn(2, 3)).sum().backward()
        """,
        "custom-fn-view-output-inplace",
    ),
    case(
        "transpose_of_a_function",
        """
        import torch

        class Flip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, swap):
                if not swap:
                    return x * 1
                return x.t()  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return g.t(), None

        w = torch.ones(2, 3, requires_grad=True)
        y = Flip.apply(w + 0, True)
        y += 1
        """,
        "custom-fn-view-output-inplace",
    ),
    case(
        "full_hook_before_inplace_relu",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
        net[0].register_full_backward_hook(lambda m, gi, go: None)  # CULPRIT
        net(torch.ones(1, 2)).sum().backward()
        """,
        "full-backward-hook-inplace",
        related=["written here"],
    ),
    case(
        "hooks_on_all_layers",
        """
        import torch
        import torch.nn as nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 2, 3)
                self.norm = nn.BatchNorm2d(2)
                self.head = nn.Linear(2, 1)

            def forward(self, x):
                x = self.norm(self.conv(x))
                x += 1
                return self.head(x.mean(dim=(2, 3)))

        def keep(module, grad_in, grad_out):
            module.seen = grad_out[0]

        net = Net()
        for module in net.children():
            module.register_full_backward_hook(keep)  # CULPRIT
        net(torch.randn(2, 1, 4, 4)).sum().backward()
        """,
        "full-backward-hook-inplace",
        says=["norm", "`x += 1`"],
    ),
]
