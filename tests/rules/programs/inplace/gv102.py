"""GV102: inplace-saved-input."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "norm_in_place",
        """
        import torch
        z = torch.randn(4, 3, requires_grad=True)
        v = z * 1.0
        n = v.norm(dim=1, keepdim=True)
        v /= n  # CULPRIT
        (v.sum() + n.sum()).backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "swap_rows",
        """
        import torch
        x = torch.randn(3, 2, requires_grad=True)
        h = x * 1
        y = h.pow(2).sum()
        h[[0, 1]] = h[[1, 0]]  # CULPRIT
        (y + h.sum()).backward()
        """,
        "inplace-saved-input",
    ),
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
    case(
        "two_candidates",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        h += 1
        k = h.sin()
        h = h * 1
        h -= 1
        h2 = h.log1p()
        h += 5  # CULPRIT
        (h + k + h2).sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "masked_assign_where",
        """
        import torch
        x = torch.randn(5, requires_grad=True)
        d = x - 1
        loss = d.abs()
        d[d < 0] = 0  # CULPRIT
        (loss + d).sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "autograd_grad",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y * y
        y.zero_()  # CULPRIT
        torch.autograd.grad(z.sum(), x)
        """,
        "inplace-saved-input",
    ),
    case(
        "double_backward_grad",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        y = (x ** 3).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        p = (g ** 2).sum()
        g.mul_(2)  # CULPRIT
        p.backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "nested_fn_backward_saved",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x * g
        w = torch.ones(3, requires_grad=True)
        h = w * 2
        y = Square.apply(h)
        h.add_(1)  # CULPRIT
        y.sum().backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "detach_numpyless_no_grad_alias",
        """
        import torch
        w = torch.ones(2, 2, requires_grad=True)
        h = w * 1
        e = (h ** 2).sum()
        with torch.no_grad():
            h /= h.max()  # CULPRIT
        e.backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "second_name_that_is_added_to",
        """
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(3, 3)

            def forward(self, x):
                out = x  # CULPRIT
                made = self.inner(x).tanh()
                out += made
                return out

        head, block = nn.Linear(3, 3), Block()
        block(head(torch.randn(4, 3))).sum().backward()
        """,
        "inplace-saved-input",
        says=["Make it a copy"],
    ),
    case(
        "a_buffer_that_two_forwards_keep_up",
        """
        import torch
        import torch.nn.functional as F

        torch.manual_seed(0)

        class Bounded(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(n, n))
                self.register_buffer("u", F.normalize(torch.randn(n), dim=0))

            def forward(self, x):
                with torch.no_grad():
                    v = F.normalize(self.weight.t() @ self.u, dim=0)
                    self.u.copy_(F.normalize(self.weight @ v, dim=0))
                u = self.u  # CULPRIT
                sigma = torch.dot(u, torch.mv(self.weight, v))
                return F.linear(x, self.weight / sigma)

        net = Bounded(4)
        real, fake = net(torch.randn(8, 4)), net(torch.randn(8, 4))
        (fake.pow(2).mean() - real.mean()).backward()
        """,
        "inplace-saved-input",
        says=["`.clone()` where it is read"],
    ),
    case(
        "running_scale_with_a_rate_from_settings",
        """
        import torch
        from dataclasses import dataclass

        @dataclass
        class Settings:
            rate: float = 0.1

        class Scale(torch.nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.rate = settings.rate
                self.register_buffer("scale", torch.ones(3))

            def forward(self, x):
                y = x / self.scale
                self.scale.lerp_(x.detach().abs().mean(0), self.rate)  # CULPRIT
                return y

        scale = Scale(Settings())
        scale(torch.randn(4, 3, requires_grad=True)).sum().backward()
        """,
        "inplace-saved-input",
    ),
]
