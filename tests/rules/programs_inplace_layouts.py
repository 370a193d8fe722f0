"""Programs about tensors whose elements share memory, or are not in order."""

from __future__ import annotations

from tests.rules.harness import Case, case

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

        a, b = torch.arange(3.0), torch.arange(2.0)
        rows, columns = torch.meshgrid(a, b, indexing="ij")
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
