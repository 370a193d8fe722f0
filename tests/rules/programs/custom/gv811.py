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
    case(
        "gradcheck_of_a_function_whose_noise_has_a_switch",
        """
        import torch
        from torch import nn
        class Flow(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))
            def spread(self, x, noisy):
                return x + (torch.rand_like(x) if noisy else 0.5)
            def log_prob(self, x, noisy=True):
                x = self.spread(x, noisy)
                for layer in self.layers:
                    scale, shift = layer(x).chunk(2, dim=1)
                    x = torch.cat([shift, scale.tanh()], dim=1)
                return x.sum(1)
        flow = Flow().double().eval()
        x = torch.rand(3, 2, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(flow.log_prob, (x,))  # CULPRIT
        """,
        "gradcheck-nondeterministic",
        related=["drawn here"],
    ),
    case(
        "gradcheck_of_a_model_in_training_mode",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        net.double()
        x = torch.rand(2, 3, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(net, (x,))  # CULPRIT
        """,
        "gradcheck-nondeterministic",
    ),
    case(
        "gradcheck_of_a_sample_without_its_noise",
        """
        import torch
        def sample(mean, noise=None):
            if noise is None:
                noise = torch.randn_like(mean)
            return mean.exp() * noise
        x = torch.rand(3, dtype=torch.double, requires_grad=True)
        ok = torch.autograd.gradcheck(sample, x, raise_exception=False)  # CULPRIT
        """,
        "gradcheck-nondeterministic",
    ),
    case(
        "gradcheck_of_a_function_that_asks_for_noise",
        """
        import torch
        def noisy(x, keep):
            if not keep:
                x = x + torch.randn(3, dtype=torch.double)
            return x * 2
        def f(x):
            return noisy(x, keep=False)  # CULPRIT
        x = torch.rand(3, dtype=torch.double, requires_grad=True)
        torch.autograd.gradcheck(f, (x,))
        """,
        "gradcheck-nondeterministic",
    ),
]
