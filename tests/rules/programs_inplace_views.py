"""Programs that autograd refuses to run: leaves, views and expanded tensors in place."""

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
]

EXPANDED: list[Case] = [
    case(
        "adding_to_an_expanded_mask",
        """
        import torch

        mask = torch.zeros(1, 3)
        mask = mask.expand(2, 3)
        mask += torch.ones(2, 3)  # CULPRIT
        """,
        "expanded-inplace",
        says=["strides [0, 1]", "3 places"],
        related=["expanded here"],
    ),
    case(
        "hidden_state_expanded_over_the_batch",
        """
        import torch
        import torch.nn as nn

        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("h0", torch.zeros(1, 2))
                self.lin = nn.Linear(2, 2)

            def forward(self, x):
                h = self.h0.expand(x.shape[0], -1)
                for t in range(2):
                    h.add_(self.lin(x))  # CULPRIT
                return h

        Cell()(torch.ones(3, 2)).sum().backward()
        """,
        "expanded-inplace",
    ),
    case(
        "one_row_of_an_expanded_state",
        """
        import torch

        init = torch.zeros(1, 2)
        state = init.expand(3, 2)
        state[0] = 5.0  # CULPRIT
        print(state[1])
        """,
        "expanded-row-write",
        says=["`state`", "strides [0, 1]"],
        related=["expanded here"],
    ),
    case(
        "one_row_in_a_loop",
        """
        import torch

        def scores(start, n):
            table = start.unsqueeze(0).broadcast_to(n, start.shape[0])
            for i in range(n):
                row = table[i]
                row.add_(i)  # CULPRIT
            return table

        scores(torch.zeros(2), 3)
        """,
        "expanded-row-write",
    ),
    case(
        "column_of_a_meshgrid",
        """
        import torch

        rows, columns = torch.meshgrid(torch.arange(3.0), torch.arange(2.0), indexing="ij")
        rows[0, 0] = 7.0  # CULPRIT
        print(rows + columns)
        """,
        "expanded-row-write",
    ),
    case(
        "overlapping_windows",
        """
        import torch

        x = torch.arange(4.0)
        windows = x.as_strided((3, 2), (1, 1))
        windows.mul_(2)  # CULPRIT
        print(x)
        """,
        "as-strided-overlap-write",
        says=["6 elements", "4 places"],
        related=["windows made here"],
    ),
    case(
        "unfold_windows_weighted",
        """
        import torch

        signal = torch.ones(6)
        frames = signal.unfold(0, 4, 2)
        window = torch.tensor([0.5, 1.0, 1.0, 0.5])
        frames *= window  # CULPRIT
        energy = signal.pow(2).sum()
        """,
        "as-strided-overlap-write",
    ),
    case(
        "shifted_sum",
        """
        import torch

        x = torch.arange(5.0)
        x[1:] += x[:-1]  # CULPRIT
        """,
        "overlapping-operands",
    ),
]

LAYOUTS: list[Case] = [
    case(
        "view_of_a_transpose",
        """
        import torch

        x = torch.arange(6.0, requires_grad=True)
        h = x.view(2, 3).t()
        flat = h.view(6)  # CULPRIT
        """,
        "view-noncontiguous",
        says=["strides [1, 3]", "`h`", "dimensions 0 and 1"],
        related=["reordered here"],
    ),
    case(
        "merging_heads",
        """
        import torch
        import torch.nn as nn

        class Heads(nn.Module):
            def __init__(self, dim, heads):
                super().__init__()
                self.heads = heads
                self.out = nn.Linear(dim, dim)

            def forward(self, x):
                b, t, d = x.shape
                q = x.view(b, t, self.heads, d // self.heads).transpose(1, 2)
                y = torch.softmax(q @ q.transpose(-2, -1), dim=-1) @ q
                y = y.transpose(1, 2).view(b, t, d)  # CULPRIT
                return self.out(y)

        Heads(4, 2)(torch.randn(2, 3, 4)).sum().backward()
        """,
        "view-noncontiguous",
    ),
    case(
        "view_in_a_custom_backward",
        """
        import torch

        class Flatten(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.shape = x.shape
                return x.reshape(-1)

            @staticmethod
            def backward(ctx, g):
                rows = g.view(ctx.shape)
                return rows.t().view(-1).view(ctx.shape)  # CULPRIT

        x = torch.ones(2, 3, requires_grad=True)
        (Flatten.apply(x * 2) * torch.arange(6.0)).sum().backward()
        """,
        "view-noncontiguous",
    ),
    case(
        "write_to_a_reshaped_transpose",
        """
        import torch

        x = torch.zeros(2, 3).t()
        flat = x.reshape(6)  # CULPRIT
        flat[0] = 1.0
        print("changed:", bool((x == 1.0).any()))
        """,
        "reshape-silently-copies",
        says=["strides [1, 3]", "copy"],
        related=["written here"],
    ),
    case(
        "zeroing_through_flatten",
        """
        import torch

        def clear(t):
            t.flatten().zero_()  # CULPRIT

        a = torch.ones(2, 2)
        clear(a.transpose(0, 1))
        b = torch.ones(3, 2)
        clear(b)
        print(a.sum(), b.sum())
        """,
        "reshape-silently-copies",
    ),
    case(
        "reshape_of_a_slice_of_columns",
        """
        import torch

        w = torch.ones(3, 4, requires_grad=True)
        h = w * 2
        part = h[:, :2].reshape(-1)  # CULPRIT
        part.mul_(0)
        h.sum().backward()
        print(w.grad)
        """,
        "reshape-silently-copies",
    ),
]
