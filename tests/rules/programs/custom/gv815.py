"""GV815: hook-registered-repeatedly."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
    case(
        "extractors_that_are_never_closed",
        """
        import torch
        from torch import nn

        class Outputs:
            def __init__(self, net):
                self.kept = []
                net[0].register_forward_hook(self)  # CULPRIT

            def __call__(self, module, inputs, output):
                self.kept.append(output)

        def run():
            net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
            for turn in range(4):
                outputs = Outputs(net)
                loss = net(torch.randn(5, 3)).square().mean() + outputs.kept[0].mean()
                loss.backward()
                net.zero_grad()

        run()
        """,
        "hook-registered-repeatedly",
        says=["4 times"],
    ),
]
