"""GV242: hook-keeps-outputs."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "hook_collects_outputs",
        """
        import torch
        from torch import nn
        net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
        def collect(module, inputs, output):
            seen.append(output)  # CULPRIT
        net[1].register_forward_hook(collect)
        for step in range(4):
            net(torch.randn(5, 3)).square().mean().backward()
        """,
        "hook-keeps-outputs",
        says=["4 were alive at once"],
    ),
    case(
        "hook_collects_outputs_in_a_function",
        """
        import torch
        from torch import nn
        class Monitor:
            def __init__(self, model):
                self.records = {}
                for name, module in model.named_modules():
                    if isinstance(module, nn.ReLU):
                        module.register_forward_hook(self.recorder(name))
            def recorder(self, name):
                history = self.records.setdefault(name, [])
                return lambda module, inputs, output: history.append(output)  # CULPRIT
        def train():
            model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
            monitor = Monitor(model)
            for step in range(12):
                model(torch.randn(5, 3)).square().mean().backward()
        train()
        """,
        "hook-keeps-outputs",
    ),
    case(
        "hook_collects_means_of_outputs",
        """
        import torch
        from torch import nn
        net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
        def collect(module, inputs, output):
            mean = output.mean(dim=0)
            seen.append(mean)  # CULPRIT
        net[1].register_forward_hook(collect)
        for step in range(4):
            net(torch.randn(5, 3)).square().mean().backward()
        print((seen[-1] - seen[0]).norm().item())
        """,
        "hook-keeps-outputs",
    ),
]
