"""What looks like programs that an engine refuses, and is fine."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "clamp_that_passes_gradients_on",
        """
        import torch
        class Clamp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, low, high):
                ctx.mark_dirty(x)
                return x.clamp_(low, high)
            @staticmethod
            def backward(ctx, grad):
                return grad, None, None
        w = torch.tensor([-2.0, 0.3, 4.0], requires_grad=True)
        Clamp.apply(w * 1.0, -1.0, 1.0).sum().backward()
        """,
    ),
    case(
        "hooks_that_fit",
        """
        import torch
        h = torch.nn.Linear(4, 3)(torch.randn(5, 4))
        h.register_hook(lambda grad: grad - grad.mean(0))
        h.register_hook(lambda grad: None)
        h.pow(2).sum().backward()
        """,
    ),
    case(
        "power_of_a_spectrum",
        """
        import torch
        signal = torch.randn(16, requires_grad=True)
        torch.fft.fft(signal).abs().pow(2).mean().backward()
        """,
    ),
    case(
        "refused_by_the_program_itself",
        """
        import torch
        loss = torch.ones(3).sum()
        if loss > 2:
            raise RuntimeError("the loss is too large")
        """,
    ),
    case(
        "ratios_clipped_in_some_passes",
        """
        import torch
        import torch.nn as nn
        actor = nn.Linear(3, 4, bias=False)
        opt = torch.optim.SGD(actor.parameters(), lr=0.1)
        x = torch.ones(2, 3)
        for shift in (0.0, 5.0, 9.0):
            ratio = (actor(x) * 0.01 + 1 + shift).clamp(0.8, 1.2)
            opt.zero_grad()
            ratio.mean().backward()
            opt.step()
        """,
    ),
]
