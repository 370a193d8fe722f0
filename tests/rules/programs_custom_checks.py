"""Programs with second derivatives, gradient checks, checkpoints and hooks."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- second derivatives ---------------------------------------------------------
    case(
        "penalty_through_once_differentiable",
        """
        import torch
        from torch.autograd.function import once_differentiable
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            @once_differentiable  # CULPRIT
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x * g
        x = torch.ones(3, requires_grad=True)
        out = Square.apply(x).exp().sum()
        grad, = torch.autograd.grad(out, x, create_graph=True)
        (grad.norm() - 1).pow(2).backward()
        """,
        "custom-fn-once-differentiable",
        related=["first derivative"],
    ),
    case(
        "backward_detaches_its_input",
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
                x = x.detach()  # CULPRIT
                return 2 * x * g
        x = torch.ones(3, requires_grad=True)
        grad, = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        grad.sum().backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "backward_under_no_grad",
        """
        import torch
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                with torch.no_grad():  # CULPRIT
                    return 3 * x ** 2 * g
        x = torch.ones(2, requires_grad=True)
        grad, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
        grad.sum().backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "backward_uses_data",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                return g * 2 * ctx.saved_tensors[0].data  # CULPRIT
        x = torch.ones(3, requires_grad=True)
        y = Square.apply(x).pow(2).sum()
        grad, = torch.autograd.grad(y, x, create_graph=True)
        loss = y + grad.pow(2).sum()
        loss.backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "penalty_through_cdist",
        """
        import torch
        x = torch.tensor([[0.0, 1.0], [2.0, 0.0]], requires_grad=True)
        d = torch.cdist(x, x + 1)  # CULPRIT
        grad, = torch.autograd.grad(d.sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
        """,
        "missing-second-derivative",
        engines=("torch",),
    ),
    # ---- gradient checks ------------------------------------------------------------
    case(
        "gradcheck_in_float32",
        """
        import torch
        from torch.autograd import gradcheck
        def f(x):
            return (x ** 3).sum()
        x = torch.randn(4, requires_grad=True)  # CULPRIT
        try:
            gradcheck(f, (x,))
        except RuntimeError as error:
            print(error)
        """,
        "gradcheck-float32",
    ),
    case(
        "gradcheck_of_a_float32_layer",
        """
        import torch
        x = torch.linspace(1, 2, 5).requires_grad_()  # CULPRIT
        print(torch.autograd.gradcheck(torch.exp, x, raise_exception=False))
        """,
        "gradcheck-float32",
    ),
    case(
        "gradcheck_with_dropout",
        """
        import torch
        import torch.nn.functional as F
        def block(x):
            h = F.dropout(x, 0.5)  # CULPRIT
            return h * 2
        x = torch.rand(6, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(block, (x,))
        """,
        "gradcheck-nondeterministic",
    ),
    case(
        "gradcheck_with_python_noise",
        """
        import random
        import torch
        def noisy(x):
            factor = random.random()  # CULPRIT
            return x * factor
        x = torch.rand(3, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(noisy, (x,))
        """,
        "gradcheck-nondeterministic",
    ),
    case(
        "gradcheck_of_a_noisy_backward",
        """
        import torch
        class Noisy(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return 2 * g + 1e-9 * torch.rand(3)  # CULPRIT
        x = torch.rand(3, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(Noisy.apply, (x,))
        """,
        "gradcheck-nondeterministic",
    ),
    case(
        "gradcheck_of_a_function_that_counts",
        """
        import torch
        calls = []
        def f(x):
            calls.append(1)
            return x * len(calls)  # CULPRIT
        x = torch.ones(3, dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(f, (x,))
        """,
        "gradcheck-nondeterministic",
    ),
    # ---- checkpoints ----------------------------------------------------------------
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
        related=["differs here"],
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
    # ---- hooks ----------------------------------------------------------------------
    case(
        "hook_of_a_cell_run_again",
        """
        import torch
        w = torch.ones(1, requires_grad=True)
        def cell():
            w.register_hook(lambda g: g * 0.5)  # CULPRIT
        for run in range(3):
            cell()
        (w * 1).sum().backward()
        """,
        "hook-registered-repeatedly",
        says=["3 times"],
    ),
    case(
        "hook_in_the_training_loop",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        def clip(g):
            return g.clamp(-1, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            for p in net.parameters():
                p.register_hook(clip)  # CULPRIT
            opt.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
        """,
        "hook-registered-repeatedly",
    ),
]

FINE = [
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
]
