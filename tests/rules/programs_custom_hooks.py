"""Hooks and Functions that let nothing through, checkpoints that do another thing."""

from __future__ import annotations

from tests.rules.harness import Case, case

WRONG: list[Case] = [
    case(
        "mask_of_zeros",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        mask = {name: torch.ones_like(p) for name, p in net.named_parameters()}
        mask["0.weight"] = torch.zeros_like(net[0].weight)

        def attach(model):
            for name, p in model.named_parameters():
                p.register_hook(lambda g, n=name: g * mask[n])  # CULPRIT

        attach(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(12, 4), torch.randint(0, 2, (12,))
        for _ in range(3):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(net[0].weight.grad.abs().sum())
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "factor_of_zero",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        scale = 0.0
        def damp(grad):
            scaled = grad * scale
            return scaled  # CULPRIT
        h = net[0](torch.randn(5, 4))
        h.register_hook(damp)
        net[2](net[1](h)).sum().backward()
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "written_with_zeros",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        def clean(grad):
            small = grad.abs() < 1e6
            grad[small] = 0.0  # CULPRIT
        for p in net.parameters():
            p.register_hook(clean)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "module_hook_gives_zeros",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        def freeze(module, grad_in, grad_out):
            return tuple(torch.zeros_like(each) for each in grad_in)  # CULPRIT
        net[1].register_full_backward_hook(freeze)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hook-zeroes-gradient",
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
        "mask_that_never_fits",
        """
        import torch
        class Quant(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, s):
                ctx.save_for_backward(x)
                return torch.round(x / s) * s
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * (x.abs() < 0).float(), None  # CULPRIT
        lin = torch.nn.Linear(3, 3)
        opt = torch.optim.SGD(lin.parameters(), 0.1)
        for _ in range(3):
            loss = Quant.apply(lin(torch.randn(4, 3)), 0.1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(lin.weight.grad)
        """,
        "custom-fn-zero-gradient",
    ),
    case(
        "derivative_of_a_sign",
        """
        import torch
        class Binary(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return torch.sign(x)
            @staticmethod
            def backward(ctx, g):
                return torch.zeros_like(g)  # CULPRIT
        lin = torch.nn.Linear(3, 3)
        loss = Binary.apply(lin(torch.randn(4, 3))).pow(2).sum() + 1
        (loss + Binary.apply(lin(torch.ones(1, 3))).sum()).backward()
        """,
        "custom-fn-zero-gradient",
    ),
]

FINE: list[Case] = [
    case(
        "some_rows_masked",
        """
        import torch
        emb = torch.nn.Embedding(6, 4)
        lin = torch.nn.Linear(4, 2)
        keep = torch.ones(6, 1)
        keep[:3] = 0
        emb.weight.register_hook(lambda g: g * keep)
        opt = torch.optim.SGD([*emb.parameters(), *lin.parameters()], 0.1)
        for _ in range(3):
            tokens = torch.randint(0, 6, (10,))
            loss = torch.nn.functional.cross_entropy(lin(emb(tokens)), tokens % 2)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "clamped",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 2)
        for p in net.parameters():
            p.register_hook(lambda g: g.clamp(-1, 1))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "module_hook_scales",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        net[1].register_full_backward_hook(lambda m, gi, go: tuple(g * 0.5 for g in gi))
        net[0].register_full_backward_hook(lambda m, gi, go: print(go[0].norm().item()))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "clamp_passes_some",
        """
        import torch
        class Clamp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(0, 1)
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * ((x > 0) & (x < 1))
        lin = torch.nn.Linear(3, 3)
        Clamp.apply(lin(torch.randn(4, 3))).sum().backward()
        """,
    ),
]
