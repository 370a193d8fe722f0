"""GV812: checkpoint-rng-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "checkpoint_without_the_generator",
        """
        import torch
        import torch.nn.functional as F
        from torch.utils.checkpoint import checkpoint
        def block(x):
            return F.dropout(x.sin(), 0.5).cos()
        x = torch.rand(64, requires_grad=True)
        y = checkpoint(  # CULPRIT
            block, x, use_reentrant=False, preserve_rng_state=False)
        y.sum().backward()
        """,
        "checkpoint-rng-mismatch",
        related=["second run differs here"],
    ),
    case(
        "checkpoint_with_python_noise",
        """
        import random
        import torch
        from torch.utils.checkpoint import checkpoint
        def block(x):
            keep = random.random()  # CULPRIT
            return (x * keep).sin().exp()
        x = torch.rand(4, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        """,
        "checkpoint-rng-mismatch",
    ),
    case(
        "checkpoint_with_an_own_generator",
        """
        import torch
        from torch.utils.checkpoint import checkpoint
        g = torch.Generator()
        def block(x):
            noise = torch.rand(4, generator=g)  # CULPRIT
            return (x * noise).sin().exp()
        x = torch.rand(4, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        """,
        "checkpoint-rng-mismatch",
    ),
    case(
        "an_own_checkpoint",
        """
        import torch
        class Checkpoint(torch.autograd.Function):
            @staticmethod
            def forward(ctx, block, x):
                ctx.block = block
                ctx.save_for_backward(x)
                return block(x)
            @staticmethod
            def backward(ctx, g):
                x = ctx.saved_tensors[0].detach().requires_grad_()
                with torch.enable_grad():
                    y = ctx.block(x)  # CULPRIT
                y.backward(g)
                return None, x.grad
        def block(x):
            return x * torch.bernoulli(torch.full_like(x, 0.5))
        x = torch.ones(64, requires_grad=True)
        Checkpoint.apply(block, x).sum().backward()
        """,
        "checkpoint-rng-mismatch",
    ),
    case(
        "slices_when_run_again",
        """
        import torch
        import torch.nn as nn
        from torch.utils.checkpoint import checkpoint

        torch.manual_seed(0)

        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)
                self.b = nn.Linear(4, 4)
                self.calls = 0

            def inner(self, x):
                self.calls += 1
                if self.calls > 1:
                    x = x[:2]  # CULPRIT
                return torch.tanh(self.a(x))

            def forward(self, x):
                return self.b(checkpoint(self.inner, x, use_reentrant=False))

        net = Stack()
        x = torch.randn(4, 4, requires_grad=True)
        net(x).sum().backward()
        """,
        "checkpoint-rng-mismatch",
    ),
    case(
        "layers_left_out_by_a_method_with_an_own_generator",
        """
        import random as rnd
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(4)
            def forward(self, h):
                return h + self.norm(h).tanh()
        class Stack(nn.Module):
            def __init__(self, chance):
                super().__init__()
                self.layers = nn.ModuleList(Layer() for _ in range(4))
                self.chance, self.generator = chance, rnd.Random(0)
            def left_out(self):
                return self.generator.random() < self.chance  # CULPRIT
            def run(self, h):
                for layer in self.layers:
                    scale = 0.5 if self.left_out() else 1.0
                    h = layer(h) * scale
                return h
            def forward(self, h):
                return checkpoint(self.run, h, use_reentrant=False).sum()
        torch.manual_seed(0)
        net = Stack(0.4)
        for _ in range(3):
            net(torch.randn(5, 4, requires_grad=True)).backward()
        """,
        "checkpoint-rng-mismatch",
    ),
]
