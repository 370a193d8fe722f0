"""GV677: model-made-anew."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "network_made_for_each_batch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = nn.Linear(4, 8)
                self.out = nn.Linear(8, 1)

            def forward(self, x):
                return self.out(self.hidden(x).relu())

        def train(batches):
            for x, y in batches:
                net = Net()  # CULPRIT
                opt = torch.optim.Adam(net.parameters(), lr=0.01)
                loss = F.mse_loss(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            return net

        train([(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)])
        """,
        "model-made-anew",
        says=["4 models"],
    ),
    case(
        "weights_drawn_in_every_turn",
        """
        import torch

        x = torch.randn(16, 3)
        y = x @ torch.tensor([[1.0], [2.0], [3.0]])
        for step in range(5):
            w = torch.randn(3, 1, requires_grad=True)  # CULPRIT
            opt = torch.optim.SGD([w], lr=0.1)
            loss = (x @ w - y).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
        print(w.detach().flatten().tolist())
        """,
        "model-made-anew",
    ),
    case(
        "network_made_by_a_helper_for_each_batch_and_for_a_look",
        """
        import torch
        from torch import nn

        KINDS = {"linear": lambda: nn.Linear(3, 1)}

        def session(name):
            model = KINDS[name]()  # CULPRIT
            return model, torch.optim.Adam(model.parameters(), lr=0.1)

        def train_batch(x):
            model, opt = session("linear")
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()

        for x in torch.randn(4, 5, 3):
            train_batch(x)
        model, _ = session("linear")
        with torch.no_grad():
            print(model(x).mean().item())
        """,
        "model-made-anew",
        says=["4 models"],
    ),
    case(
        "networks_made_for_a_look_beside_the_one_that_learns",
        """
        import torch
        from torch import nn

        def session():
            model = nn.Linear(3, 1)
            return model, torch.optim.Adam(model.parameters(), lr=0.1)

        x = torch.randn(8, 3)
        untrained = [session()[0](x).pow(2).mean().item() for _ in range(4)]
        model, opt = session()
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        print(untrained, model(x).pow(2).mean().item())
        """,
    ),
    case(
        "network_that_a_property_makes_at_each_look",
        """
        import torch
        from torch import nn

        class Task:
            def __init__(self, width):
                self.width = width
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

            @property  # CULPRIT
            def net(self):
                hidden = nn.Linear(3, self.width)
                return nn.Sequential(hidden, nn.Tanh(), nn.Linear(self.width, 1))

            def step(self, x):
                loss = self.net(x).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

        task = Task(4)
        for x in torch.randn(5, 8, 3):
            task.step(x)
        """,
        "model-made-anew",
        says=["for each of 5 passes", "cached_property"],
    ),
    case(
        "network_built_for_the_optimizer_and_for_each_pass",
        """
        import torch
        from torch import nn

        def build():
            return nn.Linear(3, 1)

        opt = torch.optim.SGD(build().parameters(), lr=0.1)
        for x in torch.randn(4, 8, 3):
            net = build()  # CULPRIT
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
        """,
        "model-made-anew",
        says=["Make the model once, and"],
    ),
    case(
        "random_networks_beside_the_one_that_learns",
        """
        import torch
        from torch import nn

        def build():
            return nn.Linear(3, 2)

        net = build()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in torch.randn(4, 8, 3):
            loss = (net(x) - build()(x)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
