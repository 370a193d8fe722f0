"""GV811: gradcheck-nondeterministic."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
]
