"""Second derivatives, gradient checks and checkpoints that are right."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "double_backward_of_a_function",
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
        x = torch.ones(3, requires_grad=True)
        grad, = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        grad.sum().backward()
        """,
    ),
    case(
        "once_differentiable_differentiated_once",
        """
        import torch
        from torch.autograd.function import once_differentiable
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            @once_differentiable
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x.detach() * g
        x = torch.ones(3, requires_grad=True)
        Square.apply(x).sum().backward()
        """,
    ),
    case(
        "gradcheck_in_float64",
        """
        import torch
        x = torch.rand(3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(torch.exp, (x,))
        """,
    ),
    case(
        "checkpoint_with_dropout",
        """
        import torch
        import torch.nn as nn
        from torch.utils.checkpoint import checkpoint
        block = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Tanh())
        x = torch.rand(4, 8, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        """,
    ),
    case(
        "hooks_on_several_layers",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        for p in net.parameters():
            p.register_hook(lambda g: g.clamp(-1, 1))
        net(torch.ones(1, 2)).sum().backward()
        """,
    ),
    case(
        "hooks_on_new_activations",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        for step in range(3):
            h = w * 2
            h.register_hook(lambda g: g * 0.5)
            h.sum().backward()
        """,
    ),
    case(
        "hook_removed_each_time",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        for step in range(3):
            handle = w.register_hook(lambda g: g * 0.5)
            (w * 2).sum().backward()
            handle.remove()
        """,
    ),
    case(
        "retained_gradient_after_a_hook",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        h = w * 2
        h.retain_grad()
        h.register_hook(lambda g: g * 10)
        h.sum().backward()
        """,
    ),
    case(
        "reentrant_checkpoint_of_layers_that_compute_by_hand",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        class Low(nn.Linear):
            def __init__(self, size):
                super().__init__(size, size)
                self.low = nn.Parameter(torch.zeros(size, size))
            def forward(self, x):
                return F.linear(x, self.weight, self.bias) + F.linear(x, self.low)
        block = nn.Sequential(nn.LayerNorm(4), Low(4), nn.GELU(), Low(4))
        embed, head = nn.Linear(4, 4), nn.Linear(4, 1)
        parameters = [p for m in (embed, block, head) for p in m.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(40):
            h = embed(torch.randn(8, 4))
            for _ in range(2):
                h = checkpoint(block, h, use_reentrant=True)
            optimizer.zero_grad()
            head(h).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "a_whole_model_runs_again_and_warms_up",
        """
        import torch
        from torch import nn
        from torch.utils import checkpoint

        net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh())
        head = nn.Linear(12, 2)
        weights = [*net.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(weights, lr=1e-2)
        for _ in range(4):
            net.train()
            x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
            hidden = checkpoint.checkpoint(net, x, use_reentrant=False)
            loss = nn.functional.cross_entropy(head(hidden), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            net.eval()
            with torch.no_grad():
                net(x)
        """,
    ),
]
