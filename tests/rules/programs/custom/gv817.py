"""GV817: hook-result-refused."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "hook_averages_over_the_batch",
        """
        import torch
        lin = torch.nn.Linear(4, 3)
        h = lin(torch.randn(5, 4))
        def normalise(grad):
            return grad.mean(0)  # CULPRIT
        h.register_hook(normalise)
        h.pow(2).sum().backward()
        """,
        "hook-result-refused",
        says=["`h` (shape [5, 3])", "another shape"],
        related=["hook registered here"],
    ),
    case(
        "hook_returns_another_dtype",
        """
        import torch
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda g: g.double())  # CULPRIT
        y.sum().backward()
        """,
        "hook-result-refused",
        says=["DoubleTensor"],
    ),
    case(
        "hook_returns_a_norm_as_a_number",
        """
        import torch
        norms = []
        w = torch.ones(3, requires_grad=True)
        def note(grad):
            norms.append(float(grad.norm()))
            return norms[-1]  # CULPRIT
        w.register_hook(note)
        (w * 2).sum().backward()
        """,
        "hook-result-refused",
        says=["type float"],
    ),
    case(
        "module_hook_that_returns_outputs",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))
        def watch(module, grad_input, grad_output):
            return grad_output  # CULPRIT
        net[1].register_full_backward_hook(watch)
        net(torch.randn(3, 4)).pow(2).mean().backward()
        """,
        "hook-result-refused",
    ),
]
