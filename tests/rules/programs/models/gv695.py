"""GV695: freezing-undone."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "all_on_again_after_adapters_are_in",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base, self.more = base, nn.Linear(4, 4, bias=False)
                nn.init.zeros_(self.more.weight)
            def forward(self, x):
                return self.base(x) + self.more(x)
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
        net.requires_grad_(False)
        net[0], net[2] = Adapted(net[0]), Adapted(net[2])
        net.requires_grad_(True)  # CULPRIT
        opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        for x in torch.randn(4, 8, 4):
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
        """,
        "freezing-undone",
        says=["`net.requires_grad_(False)` (line 12) froze 4 parameters"],
    ),
    case(
        "loop_in_the_constructor_of_a_trainer",
        """
        import torch
        import torch.nn as nn
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.tagger = nn.Linear(5, 6), nn.Linear(6, 2)
                for weight in self.body.parameters():
                    weight.requires_grad = False
            def forward(self, x):
                return self.tagger(torch.tanh(self.body(x)))
        class Loop:
            def __init__(self, reader):
                self.reader = reader
                for each in reader.parameters():
                    each.requires_grad = True  # CULPRIT
                self.sgd = torch.optim.SGD(reader.parameters(), lr=0.1)
            def run(self, batches):
                for x in batches:
                    self.sgd.zero_grad(set_to_none=True)
                    self.reader(x).square().sum().backward()
                    self.sgd.step()
        Loop(Reader()).run(torch.randn(3, 7, 5))
        """,
        "freezing-undone",
        says=["froze 2 parameters"],
    ),
    case(
        "helper_that_switches_both_ways",
        """
        import torch
        from torch import nn
        def trainable(parts, flag):
            for part in parts:
                for p in part.parameters():
                    p.requires_grad_(flag)
        enc, dec, head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 1)
        parts = [enc, dec, head]
        trainable(parts, False)
        trainable([head], True)
        trainable(parts, True)  # CULPRIT
        params = [p for part in parts for p in part.parameters() if p.requires_grad]
        opt = torch.optim.RMSprop(params)
        for x in torch.randn(3, 7, 4):
            opt.zero_grad()
            head(torch.relu(dec(torch.relu(enc(x))))).square().sum().backward()
            opt.step()
        """,
        "freezing-undone",
    ),
]
