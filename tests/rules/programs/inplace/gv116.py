"""GV116: full-backward-hook-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "full_hook_before_inplace_relu",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))  # CULPRIT
        net[0].register_full_backward_hook(lambda m, gi, go: None)
        net(torch.ones(1, 2)).sum().backward()
        """,
        "full-backward-hook-inplace",
        related=["hook registered here"],
    ),
    case(
        "hooks_on_all_layers",
        """
        import torch
        import torch.nn as nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 2, 3)
                self.norm = nn.BatchNorm2d(2)
                self.head = nn.Linear(2, 1)

            def forward(self, x):
                x = self.norm(self.conv(x))
                x += 1  # CULPRIT
                return self.head(x.mean(dim=(2, 3)))

        def keep(module, grad_in, grad_out):
            module.seen = grad_out[0]

        net = Net()
        for module in net.children():
            module.register_full_backward_hook(keep)
        net(torch.randn(2, 1, 4, 4)).sum().backward()
        """,
        "full-backward-hook-inplace",
        says=["norm", "`x += 1`"],
    ),
    case(
        "an_entry_of_a_table_that_writes_behind_a_hook",
        """
        from functools import partial
        import torch
        import torch.nn as nn

        GATES = dict(
            hard=partial(nn.Hardtanh, -1.0, 1.0, inplace=True),  # CULPRIT
            soft=nn.Tanh,
        )

        class Stack(nn.Sequential):
            def __init__(self, width, gate="hard"):
                layers = []
                for _ in range(2):
                    layers += [nn.Linear(width, width), GATES[gate]()]
                super().__init__(*layers)

        net, seen = Stack(3), []
        net[2].register_full_backward_hook(lambda m, gi, go: seen.append(go))
        net(torch.ones(1, 3)).sum().backward()
        """,
        "full-backward-hook-inplace",
    ),
    case(
        "entries_of_a_table_that_write_nothing_behind_a_hook",
        """
        from functools import partial
        import torch
        import torch.nn as nn

        GATES = {"hard": partial(nn.Hardtanh, -1.0, 1.0), "soft": nn.Tanh}

        class Stack(nn.Sequential):
            def __init__(self, width, gate="hard"):
                layers = []
                for _ in range(2):
                    layers += [nn.Linear(width, width), GATES[gate]()]
                super().__init__(*layers)

        net, seen = Stack(3), []
        net[2].register_full_backward_hook(lambda m, gi, go: seen.append(go))
        net(torch.ones(1, 3)).sum().backward()
        """,
    ),
    case(
        "a_flag_that_makes_blocks_write_behind_a_hook",
        """
        import torch
        import torch.nn as nn

        class Block(nn.Module):
            def __init__(self, width, inplace):
                super().__init__()
                self.lift = nn.Linear(width, width)
                self.act = nn.LeakyReLU(0.1, inplace)

            def forward(self, x):
                return self.act(self.lift(x))

        def build(depth, inplace=True):  # CULPRIT
            return nn.Sequential(*[Block(2, inplace) for _ in range(depth)])

        net, seen = build(2), []
        for module in net.modules():
            if isinstance(module, nn.Linear):
                module.register_full_backward_hook(lambda m, gi, go: seen.append(go))
        net(torch.ones(1, 2)).sum().backward()
        """,
        "full-backward-hook-inplace",
    ),
]
