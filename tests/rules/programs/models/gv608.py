"""GV608: freeze-attribute-typo."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "freeze_by_an_attribute",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                return self.head(self.body(x))

        net = Net()
        net.body.requires_grad = False  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "freeze-attribute-typo",
        says=["`body`"],
    ),
    case(
        "stages_that_are_frozen_in_a_loop",
        """
        import torch
        from torch import nn

        body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        head = nn.Linear(8, 1)
        for part, frozen in ((body, True), (head, False)):
            part.requires_grad = not frozen  # CULPRIT
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "freeze-attribute-typo",
        says=["`part.requires_grad_(not frozen)`"],
    ),
    case(
        "unfreezing_by_an_attribute",
        """
        import torch
        from torch import nn

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        body.requires_grad_(False)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(4):
            if step == 2:
                body.requires_grad = True  # CULPRIT
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "freeze-attribute-typo",
    ),
    case(
        "switch_of_parameters_misspelled",
        """
        import torch
        import torch.nn as nn
        def freeze(module):
            for p in module.parameters():
                p.require_grad = False  # CULPRIT
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        freeze(body)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        loss = head(body(torch.randn(3, 4))).pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "freeze-attribute-typo",
        says=["`require_grad`", "`body`"],
    ),
]
