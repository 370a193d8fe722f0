"""GV607: what was frozen was chosen by a loop, a condition or a caller."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "the_caller_chose_what_was_frozen",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def freeze(net):
            for p in net.parameters():
                p.requires_grad = False
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
        model[2] = nn.Linear(8, 3)
        freeze(model)  # CULPRIT
        criterion = nn.CrossEntropyLoss()
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "forgotten-unfreeze",
    ),
    case(
        "a_condition_chose_what_was_frozen",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 8)
                self.head = nn.Linear(8, 3)
            def forward(self, x):
                return self.head(self.body(x).relu())
        model = Net()
        for name, p in model.named_parameters():
            if "classifier" not in name:  # CULPRIT
                p.requires_grad = False
        criterion = nn.CrossEntropyLoss()
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "forgotten-unfreeze",
    ),
    case(
        "each_is_asked_by_its_place",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)], nn.Linear(4, 1))
        x = torch.randn(8, 4)

        def fit(parameters):
            optimizer = torch.optim.Adam(parameters, lr=0.01)
            for _ in range(4):
                optimizer.zero_grad()
                net(x).square().mean().backward()
                optimizer.step()

        fit(net[3].parameters())
        for place, layer in enumerate(net):
            for p in layer.parameters():
                p.requires_grad = place > 2  # CULPRIT
        fit([{"params": net[3].parameters()}, {"params": net[2].parameters()}])
        """,
        "forgotten-unfreeze",
        says=["`2.weight`"],
    ),
    case(
        "each_is_asked_by_its_place_and_what_learns_is_open",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)], nn.Linear(4, 1))
        x = torch.randn(8, 4)

        def fit(parameters):
            optimizer = torch.optim.Adam(parameters, lr=0.01)
            for _ in range(4):
                optimizer.zero_grad()
                net(x).square().mean().backward()
                optimizer.step()

        fit(net[3].parameters())
        for place, layer in enumerate(net):
            for p in layer.parameters():
                p.requires_grad = place >= 2
        fit([{"params": net[3].parameters()}, {"params": net[2].parameters()}])
        """,
    ),
]
