"""GV220: hook-holds-its-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "hook_that_prints_its_tensor",
        """
        import torch
        import torch.nn as nn
        class Probe(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)
            def forward(self, x):
                h = torch.relu(self.body(x))
                h.register_hook(lambda g: print(h.shape, g.norm()))  # CULPRIT
                return h.sum()
        Probe()(torch.ones(2, 3)).backward()
        """,
        "hook-holds-its-graph",
        says=["`h`"],
    ),
    case(
        "node_hook_that_holds_the_output",
        """
        import torch
        def watched(x):
            y = x.exp()
            seen = []
            def note(inputs, outputs):
                seen.append((y.shape, len(outputs)))
            y.grad_fn.register_hook(note)  # CULPRIT
            return y.sum()
        watched(torch.ones(3, requires_grad=True)).backward()
        """,
        "hook-holds-its-graph",
        engines=("gradtape",),  # PyTorch's nodes cannot be watched for hooks
    ),
]
