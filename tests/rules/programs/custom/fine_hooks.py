"""Hooks that change gradients, and mean it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
    case(
        "methods_of_two_objects",
        """
        import torch

        class Scaled:
            def __init__(self, factor):
                self.factor = factor

            def hook(self, g):
                return g * self.factor

            def put_on(self, tensor):
                tensor.register_hook(self.hook)

        w = torch.ones(3, requires_grad=True)
        for scaled in [Scaled(0.5), Scaled(2.0)]:
            scaled.put_on(w)
        (w * 2).sum().backward()
        """,
    ),
    case(
        "extractors_that_are_closed",
        """
        import torch
        from torch import nn

        class Outputs:
            def __init__(self, net, names):
                self.kept = []
                self.handles = [
                    dict(net.named_modules())[name].register_forward_hook(self.keep)
                    for name in names
                ]

            def keep(self, module, inputs, output):
                self.kept.append(output)

            def close(self):
                for handle in self.handles:
                    handle.remove()
                self.handles.clear()

        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        for turn in range(4):
            outputs = Outputs(net, ["0", "1"])
            loss = net(torch.randn(5, 3)).square().mean() + outputs.kept[0].mean()
            loss.backward()
            outputs.close()
            net.zero_grad()
        """,
    ),
    case(
        "partial_hooks_that_keep_outputs_for_two_readers",
        """
        from functools import partial
        import torch
        from torch import nn

        def remember(store, name, module, args, output):
            if output.requires_grad:
                output.retain_grad()
            store[name] = output

        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        shown, pulled = {}, {}
        net[1].register_forward_hook(partial(remember, shown, "tanh"))
        net[1].register_forward_hook(partial(remember, pulled, "tanh"))
        for _ in range(4):
            loss = net(torch.randn(5, 3)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(shown["tanh"].grad.norm(), pulled["tanh"].mean().item())
        with torch.no_grad():
            net(torch.randn(5, 3))
        """,
    ),
]
